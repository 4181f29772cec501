package metadata

import (
	"fmt"
	"maps"

	"kbench/kafka/access"
)

// changeAccess gives the access part for writing, copied on the first call.
func (d *Delta) changeAccess() *Access {
	if d.next.access == d.base.access {
		d.next.access = d.base.access.fork()
	}
	return d.next.access
}

// AccessChanged reports whether ACLs, credentials, tokens or quotas were
// changed.
func (d *Delta) AccessChanged() bool { return d.next.access != d.base.access }

// replayAccess makes the change of a record about access and quotas; known is
// false for other records.
func (d *Delta) replayAccess(r Record) (known bool, err error) {
	switch r := r.(type) {
	case *AccessControlEntryRecord:
		err = d.putACL(ACL{r.ID, access.Binding{
			ResourceType: r.ResourceType, ResourceName: r.ResourceName, PatternType: r.PatternType,
			Principal: r.Principal, Host: r.Host, Operation: r.Operation, Permission: r.PermissionType,
		}})
	case *RemoveAccessControlEntryRecord:
		if _, ok := d.next.access.ACL(r.ID); !ok {
			return true, fmt.Errorf("remove the ACL %s: it is unknown", r.ID)
		}
		d.changeAccess().acls.Delete(ACL{ID: r.ID})
	case *UserScramCredentialRecord:
		d.changeAccess().scram.Set(ScramCredential{r.Name, r.Mechanism, access.Keys{
			Salt: r.Salt, StoredKey: r.StoredKey, ServerKey: r.ServerKey, Iterations: r.Iterations,
		}})
	case *RemoveUserScramCredentialRecord:
		if _, ok := d.next.access.Scram(r.Name, r.Mechanism); !ok {
			return true, fmt.Errorf("remove the SCRAM credential %d of %q: it is unknown", r.Mechanism, r.Name)
		}
		d.changeAccess().scram.Delete(ScramCredential{User: r.Name, Mechanism: r.Mechanism})
	case *DelegationTokenRecord:
		d.changeAccess().tokens.Set(r.TokenID, &DelegationToken{
			ID: r.TokenID, Owner: r.Owner, Requester: r.Requester, Renewers: r.Renewers,
			IssuedMs: r.IssueTimestamp, MaxMs: r.MaxTimestamp, ExpiresMs: r.ExpirationTimestamp,
		})
	case *RemoveDelegationTokenRecord:
		d.changeAccess().tokens.Delete(r.TokenID)
	case *ClientQuotaRecord:
		err = d.setQuota(r)
	default:
		return false, nil
	}
	return true, err
}

func (d *Delta) putACL(a ACL) error {
	if old, ok := d.next.access.ACL(a.ID); ok && old != a {
		return fmt.Errorf("the ACL %s is there already, with other content", a.ID)
	}
	d.changeAccess().acls.Set(a)
	return nil
}

func (d *Delta) setQuota(r *ClientQuotaRecord) error {
	if len(r.Entity) == 0 {
		return fmt.Errorf("a quota %s of no entity", r.Name)
	}
	parts := make([]QuotaPart, len(r.Entity))
	for i, e := range r.Entity {
		parts[i] = QuotaPart{Type: e.Type, Default: e.Name == nil}
		if e.Name != nil {
			parts[i].Name = *e.Name
		}
	}
	entry := quotaEntry{entity: NewQuotaEntity(parts)}
	// Quotas are few and seldom change: a map is copied for each change.
	entry.values = maps.Clone(d.next.access.Quota(entry.entity))
	if entry.values == nil {
		entry.values = map[string]float64{}
	}
	if r.Remove {
		delete(entry.values, r.Name)
	} else {
		entry.values[r.Name] = r.Value
	}
	if len(entry.values) == 0 {
		d.changeAccess().quotas.Delete(entry)
	} else {
		d.changeAccess().quotas.Set(entry)
	}
	return nil
}
