package metadata

import (
	"maps"
	"slices"
)

func (a *Access) quotaRecords(yield func(Record) bool) bool {
	for e, values := range a.Quotas() {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if !yield(&ClientQuotaRecord{Entity: e.Record(), Name: key, Value: values[key]}) {
				return false
			}
		}
	}
	return true
}

// Record gives the parts as a record has them.
func (e QuotaEntity) Record() []RecordQuotaEntity {
	out := make([]RecordQuotaEntity, len(e))
	for i, p := range e {
		out[i].Type = p.Type
		if !p.Default {
			out[i].Name = &p.Name
		}
	}
	return out
}

// accessRecords gives everything but the quotas.
func (a *Access) accessRecords(yield func(Record) bool) bool {
	for acl := range a.ACLs() {
		if !yield(acl.Record()) {
			return false
		}
	}
	for c := range a.Scrams() {
		if !yield(c.Record()) {
			return false
		}
	}
	for t := range a.Tokens() {
		if !yield(t.Record()) {
			return false
		}
	}
	return true
}

// Record gives the record that adds the binding.
func (a ACL) Record() *AccessControlEntryRecord {
	return &AccessControlEntryRecord{
		ID: a.ID, ResourceType: a.ResourceType, ResourceName: a.ResourceName, PatternType: a.PatternType,
		Principal: a.Principal, Host: a.Host, Operation: a.Operation, PermissionType: a.Permission,
	}
}

// Record gives the record that sets the credential; it shares its slices.
func (c ScramCredential) Record() *UserScramCredentialRecord {
	return &UserScramCredentialRecord{
		Name: c.User, Mechanism: c.Mechanism, Salt: c.Salt, StoredKey: c.StoredKey,
		ServerKey: c.ServerKey, Iterations: c.Iterations,
	}
}

// Record gives the record that makes the token; it shares its renewers.
func (t *DelegationToken) Record() *DelegationTokenRecord {
	return &DelegationTokenRecord{
		Owner: t.Owner, Requester: t.Requester, Renewers: t.Renewers, IssueTimestamp: t.IssuedMs,
		MaxTimestamp: t.MaxMs, ExpirationTimestamp: t.ExpiresMs, TokenID: t.ID,
	}
}
