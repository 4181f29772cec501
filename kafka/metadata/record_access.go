package metadata

import (
	"kbench/kafka"
	"kbench/kafka/access"
)

// DelegationTokenRecord (key 10, version 0) makes or renews a delegation token
// (KIP-900). The secret is not in the record: every node derives it from the
// id and the cluster's secret key. Times are milliseconds since the epoch.
type DelegationTokenRecord struct {
	Owner               string // principal, type:name
	Requester           string // principal
	Renewers            []string
	IssueTimestamp      int64
	MaxTimestamp        int64
	ExpirationTimestamp int64
	TokenID             string
	Tags                []Tag
}

// UserScramCredentialRecord (key 11, version 0) sets a SCRAM credential of a
// user (KIP-900): what RFC 5802 stores, never the password.
type UserScramCredentialRecord struct {
	Name       string
	Mechanism  access.Mechanism
	Salt       []byte
	StoredKey  []byte
	ServerKey  []byte
	Iterations int32
	Tags       []Tag
}

// RecordQuotaEntity is one part of the entity of a ClientQuotaRecord.
type RecordQuotaEntity struct {
	Type string  // user, client-id or ip
	Name *string // nil is the default entity
	Tags []Tag
}

// ClientQuotaRecord (key 14, version 0) sets or removes one quota of an entity
// (KIP-546).
type ClientQuotaRecord struct {
	Entity []RecordQuotaEntity
	Name   string // such as producer_byte_rate
	Value  float64
	Remove bool
	Tags   []Tag
}

// AccessControlEntryRecord (key 18, version 0) adds a binding under an id
// (KIP-801). The numbers are those of the Kafka protocol's ACL requests.
type AccessControlEntryRecord struct {
	ID             kafka.UUID
	ResourceType   access.ResourceType
	ResourceName   string
	PatternType    access.PatternType
	Principal      string
	Host           string
	Operation      access.Operation
	PermissionType access.Permission
	Tags           []Tag
}

// RemoveAccessControlEntryRecord (key 19, version 0) removes a binding.
type RemoveAccessControlEntryRecord struct {
	ID   kafka.UUID
	Tags []Tag
}

// RemoveUserScramCredentialRecord (key 22, version 0) removes a credential.
type RemoveUserScramCredentialRecord struct {
	Name      string
	Mechanism access.Mechanism
	Tags      []Tag
}

// RemoveDelegationTokenRecord (key 26, version 0) removes a token.
type RemoveDelegationTokenRecord struct {
	TokenID string
	Tags    []Tag
}
