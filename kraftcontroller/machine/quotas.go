package machine

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// alterQuotas decides AlterClientQuotas (49, KIP-546): each entity is altered
// whole or refused, and may be there once; what is as wanted already makes no
// record.
func (m *Machine) alterQuotas(r Request, req *kmsg.AlterClientQuotasRequest) error {
	resp := req.ResponseKind().(*kmsg.AlterClientQuotasResponse)
	var records []metadata.Record
	seen := map[string]bool{}
	for i := range req.Entries {
		altered, err := m.alterQuotaEntity(&req.Entries[i], seen)
		records = append(records, altered...)
		resp.Entries = append(resp.Entries, quotaAnswer(&req.Entries[i], err))
	}
	if req.ValidateOnly {
		records = nil
	}
	_, err := m.carryOut(r, atomicOf(records, resp))
	return err
}

func quotaAnswer(e *kmsg.AlterClientQuotasRequestEntry, err error) kmsg.AlterClientQuotasResponseEntry {
	answer := kmsg.NewAlterClientQuotasResponseEntry()
	for _, part := range e.Entity {
		answer.Entity = append(answer.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
	}
	answer.ErrorCode, answer.ErrorMessage = told(err)
	return answer
}

func (m *Machine) alterQuotaEntity(e *kmsg.AlterClientQuotasRequestEntry, seen map[string]bool) ([]metadata.Record, error) {
	entity, err := admin.QuotaEntity(e.Entity)
	if err != nil {
		return nil, err
	}
	name := entity.String()
	if seen[name] {
		return nil, admin.Faultf(kafka.InvalidRequest, "Ignoring duplicate entity %s", name)
	}
	seen[name] = true
	current := m.image().Access().Quota(entity)
	var records []metadata.Record
	keys := map[string]bool{}
	for _, op := range e.Ops {
		if keys[op.Key] {
			return nil, admin.Faultf(kafka.InvalidRequest, "Duplicate quota key %s not updating quota for this entity %s", op.Key, name)
		}
		keys[op.Key] = true
		value, set := current[op.Key]
		if op.Remove {
			if set {
				records = append(records, &metadata.ClientQuotaRecord{Entity: entity.Record(), Name: op.Key, Remove: true})
			}
			continue
		}
		if err := admin.QuotaKey(entity, op.Key); err != nil {
			return nil, err
		}
		if err := admin.QuotaValue(op.Key, op.Value); err != nil {
			return nil, err
		}
		if !set || value != op.Value {
			records = append(records, &metadata.ClientQuotaRecord{Entity: entity.Record(), Name: op.Key, Value: op.Value})
		}
	}
	return records, nil
}
