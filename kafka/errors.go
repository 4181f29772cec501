package kafka

import "fmt"

// ErrorCode is an error code of the Kafka protocol. Code branches on it and
// never on a text.
type ErrorCode int16

// The error codes that kbench sends or acts on.
const (
	UnknownServerError                 ErrorCode = -1
	None                               ErrorCode = 0
	OffsetOutOfRange                   ErrorCode = 1
	CorruptMessage                     ErrorCode = 2
	UnknownTopicOrPartition            ErrorCode = 3
	LeaderNotAvailable                 ErrorCode = 5
	NotLeaderOrFollower                ErrorCode = 6
	RequestTimedOut                    ErrorCode = 7
	BrokerNotAvailable                 ErrorCode = 8
	MessageTooLarge                    ErrorCode = 10
	StaleControllerEpoch               ErrorCode = 11
	NetworkException                   ErrorCode = 13
	CoordinatorNotAvailable            ErrorCode = 15
	InvalidTopicException              ErrorCode = 17
	RecordListTooLarge                 ErrorCode = 18
	NotEnoughReplicas                  ErrorCode = 19
	NotEnoughReplicasAfterAppend       ErrorCode = 20
	InvalidRequiredAcks                ErrorCode = 21
	TopicAuthorizationFailed           ErrorCode = 29
	GroupAuthorizationFailed           ErrorCode = 30
	ClusterAuthorizationFailed         ErrorCode = 31
	UnsupportedSaslMechanism           ErrorCode = 33
	IllegalSaslState                   ErrorCode = 34
	UnsupportedVersion                 ErrorCode = 35
	TopicAlreadyExists                 ErrorCode = 36
	InvalidPartitions                  ErrorCode = 37
	InvalidReplicationFactor           ErrorCode = 38
	InvalidReplicaAssignment           ErrorCode = 39
	InvalidConfig                      ErrorCode = 40
	NotController                      ErrorCode = 41
	InvalidRequest                     ErrorCode = 42
	PolicyViolation                    ErrorCode = 44
	OutOfOrderSequenceNumber           ErrorCode = 45
	DuplicateSequenceNumber            ErrorCode = 46
	InvalidProducerEpoch               ErrorCode = 47
	TransactionalIDAuthorizationFailed ErrorCode = 53
	SecurityDisabled                   ErrorCode = 54
	OperationNotAttempted              ErrorCode = 55
	KafkaStorageError                  ErrorCode = 56
	SaslAuthenticationFailed           ErrorCode = 58
	UnknownProducerID                  ErrorCode = 59
	ReassignmentInProgress             ErrorCode = 60
	DelegationTokenAuthDisabled        ErrorCode = 61
	DelegationTokenNotFound            ErrorCode = 62
	DelegationTokenOwnerMismatch       ErrorCode = 63
	DelegationTokenRequestNotAllowed   ErrorCode = 64
	DelegationTokenAuthorizationFailed ErrorCode = 65
	DelegationTokenExpired             ErrorCode = 66
	InvalidPrincipalType               ErrorCode = 67
	FetchSessionIDNotFound             ErrorCode = 70
	InvalidFetchSessionEpoch           ErrorCode = 71
	TopicDeletionDisabled              ErrorCode = 73
	FencedLeaderEpoch                  ErrorCode = 74
	UnknownLeaderEpoch                 ErrorCode = 75
	StaleBrokerEpoch                   ErrorCode = 77
	PreferredLeaderNotAvailable        ErrorCode = 80
	EligibleLeadersNotAvailable        ErrorCode = 83
	ElectionNotNeeded                  ErrorCode = 84
	NoReassignmentInProgress           ErrorCode = 85
	InvalidRecord                      ErrorCode = 87
	ThrottlingQuotaExceeded            ErrorCode = 89
	ResourceNotFound                   ErrorCode = 91
	DuplicateResource                  ErrorCode = 92
	UnacceptableCredential             ErrorCode = 93
	InconsistentVoterSet               ErrorCode = 94
	InvalidUpdateVersion               ErrorCode = 95
	FeatureUpdateFailed                ErrorCode = 96
	PrincipalDeserialization           ErrorCode = 97
	SnapshotNotFound                   ErrorCode = 98
	PositionOutOfRange                 ErrorCode = 99
	UnknownTopicID                     ErrorCode = 100
	DuplicateBrokerRegistration        ErrorCode = 101
	BrokerIDNotRegistered              ErrorCode = 102
	InconsistentTopicID                ErrorCode = 103
	InconsistentClusterID              ErrorCode = 104
	IneligibleReplica                  ErrorCode = 107
	NewLeaderElected                   ErrorCode = 108
	MismatchedEndpointType             ErrorCode = 114
	UnsupportedEndpointType            ErrorCode = 115
	UnknownControllerID                ErrorCode = 116
	InvalidRegistration                ErrorCode = 119
	InvalidVoterKey                    ErrorCode = 125
	DuplicateVoter                     ErrorCode = 126
	VoterNotFound                      ErrorCode = 127
	ControllerIDNotRegistered          ErrorCode = 136
)

var errorNames = map[ErrorCode]string{
	UnknownServerError:                 "UNKNOWN_SERVER_ERROR",
	None:                               "NONE",
	OffsetOutOfRange:                   "OFFSET_OUT_OF_RANGE",
	CorruptMessage:                     "CORRUPT_MESSAGE",
	UnknownTopicOrPartition:            "UNKNOWN_TOPIC_OR_PARTITION",
	LeaderNotAvailable:                 "LEADER_NOT_AVAILABLE",
	NotLeaderOrFollower:                "NOT_LEADER_OR_FOLLOWER",
	RequestTimedOut:                    "REQUEST_TIMED_OUT",
	BrokerNotAvailable:                 "BROKER_NOT_AVAILABLE",
	MessageTooLarge:                    "MESSAGE_TOO_LARGE",
	StaleControllerEpoch:               "STALE_CONTROLLER_EPOCH",
	NetworkException:                   "NETWORK_EXCEPTION",
	CoordinatorNotAvailable:            "COORDINATOR_NOT_AVAILABLE",
	InvalidTopicException:              "INVALID_TOPIC_EXCEPTION",
	RecordListTooLarge:                 "RECORD_LIST_TOO_LARGE",
	NotEnoughReplicas:                  "NOT_ENOUGH_REPLICAS",
	NotEnoughReplicasAfterAppend:       "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
	InvalidRequiredAcks:                "INVALID_REQUIRED_ACKS",
	TopicAuthorizationFailed:           "TOPIC_AUTHORIZATION_FAILED",
	GroupAuthorizationFailed:           "GROUP_AUTHORIZATION_FAILED",
	ClusterAuthorizationFailed:         "CLUSTER_AUTHORIZATION_FAILED",
	UnsupportedSaslMechanism:           "UNSUPPORTED_SASL_MECHANISM",
	IllegalSaslState:                   "ILLEGAL_SASL_STATE",
	UnsupportedVersion:                 "UNSUPPORTED_VERSION",
	TopicAlreadyExists:                 "TOPIC_ALREADY_EXISTS",
	InvalidPartitions:                  "INVALID_PARTITIONS",
	InvalidReplicationFactor:           "INVALID_REPLICATION_FACTOR",
	InvalidReplicaAssignment:           "INVALID_REPLICA_ASSIGNMENT",
	InvalidConfig:                      "INVALID_CONFIG",
	NotController:                      "NOT_CONTROLLER",
	InvalidRequest:                     "INVALID_REQUEST",
	PolicyViolation:                    "POLICY_VIOLATION",
	OutOfOrderSequenceNumber:           "OUT_OF_ORDER_SEQUENCE_NUMBER",
	DuplicateSequenceNumber:            "DUPLICATE_SEQUENCE_NUMBER",
	InvalidProducerEpoch:               "INVALID_PRODUCER_EPOCH",
	TransactionalIDAuthorizationFailed: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
	SecurityDisabled:                   "SECURITY_DISABLED",
	OperationNotAttempted:              "OPERATION_NOT_ATTEMPTED",
	KafkaStorageError:                  "KAFKA_STORAGE_ERROR",
	SaslAuthenticationFailed:           "SASL_AUTHENTICATION_FAILED",
	UnknownProducerID:                  "UNKNOWN_PRODUCER_ID",
	ReassignmentInProgress:             "REASSIGNMENT_IN_PROGRESS",
	DelegationTokenAuthDisabled:        "DELEGATION_TOKEN_AUTH_DISABLED",
	DelegationTokenNotFound:            "DELEGATION_TOKEN_NOT_FOUND",
	DelegationTokenOwnerMismatch:       "DELEGATION_TOKEN_OWNER_MISMATCH",
	DelegationTokenRequestNotAllowed:   "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
	DelegationTokenAuthorizationFailed: "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
	DelegationTokenExpired:             "DELEGATION_TOKEN_EXPIRED",
	InvalidPrincipalType:               "INVALID_PRINCIPAL_TYPE",
	FetchSessionIDNotFound:             "FETCH_SESSION_ID_NOT_FOUND",
	InvalidFetchSessionEpoch:           "INVALID_FETCH_SESSION_EPOCH",
	TopicDeletionDisabled:              "TOPIC_DELETION_DISABLED",
	FencedLeaderEpoch:                  "FENCED_LEADER_EPOCH",
	UnknownLeaderEpoch:                 "UNKNOWN_LEADER_EPOCH",
	StaleBrokerEpoch:                   "STALE_BROKER_EPOCH",
	PreferredLeaderNotAvailable:        "PREFERRED_LEADER_NOT_AVAILABLE",
	EligibleLeadersNotAvailable:        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
	ElectionNotNeeded:                  "ELECTION_NOT_NEEDED",
	NoReassignmentInProgress:           "NO_REASSIGNMENT_IN_PROGRESS",
	InvalidRecord:                      "INVALID_RECORD",
	ThrottlingQuotaExceeded:            "THROTTLING_QUOTA_EXCEEDED",
	ResourceNotFound:                   "RESOURCE_NOT_FOUND",
	DuplicateResource:                  "DUPLICATE_RESOURCE",
	UnacceptableCredential:             "UNACCEPTABLE_CREDENTIAL",
	InconsistentVoterSet:               "INCONSISTENT_VOTER_SET",
	InvalidUpdateVersion:               "INVALID_UPDATE_VERSION",
	FeatureUpdateFailed:                "FEATURE_UPDATE_FAILED",
	PrincipalDeserialization:           "PRINCIPAL_DESERIALIZATION_FAILURE",
	SnapshotNotFound:                   "SNAPSHOT_NOT_FOUND",
	PositionOutOfRange:                 "POSITION_OUT_OF_RANGE",
	UnknownTopicID:                     "UNKNOWN_TOPIC_ID",
	DuplicateBrokerRegistration:        "DUPLICATE_BROKER_REGISTRATION",
	BrokerIDNotRegistered:              "BROKER_ID_NOT_REGISTERED",
	InconsistentTopicID:                "INCONSISTENT_TOPIC_ID",
	InconsistentClusterID:              "INCONSISTENT_CLUSTER_ID",
	IneligibleReplica:                  "INELIGIBLE_REPLICA",
	NewLeaderElected:                   "NEW_LEADER_ELECTED",
	MismatchedEndpointType:             "MISMATCHED_ENDPOINT_TYPE",
	UnsupportedEndpointType:            "UNSUPPORTED_ENDPOINT_TYPE",
	UnknownControllerID:                "UNKNOWN_CONTROLLER_ID",
	InvalidRegistration:                "INVALID_REGISTRATION",
	InvalidVoterKey:                    "INVALID_VOTER_KEY",
	DuplicateVoter:                     "DUPLICATE_VOTER",
	VoterNotFound:                      "VOTER_NOT_FOUND",
	ControllerIDNotRegistered:          "CONTROLLER_ID_NOT_REGISTERED",
}

// String gives Kafka's name of the code, or its number where kbench has none.
func (e ErrorCode) String() string {
	if name, ok := errorNames[e]; ok {
		return name
	}
	return fmt.Sprintf("ERROR_%d", int16(e))
}

// Error makes an ErrorCode an error; callers compare it with errors.As and
// must not return None as an error.
func (e ErrorCode) Error() string { return e.String() }

// Err gives nil for None and the code itself otherwise.
func (e ErrorCode) Err() error {
	if e == None {
		return nil
	}
	return e
}
