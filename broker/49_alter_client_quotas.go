package broker

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// handleAlterClientQuotas writes quotas of users, clients and addresses.
func (p *zkPlane) handleAlterClientQuotas(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.AlterClientQuotasRequest)
	resp := req.ResponseKind().(*kmsg.AlterClientQuotasResponse)
	for i := range req.Entries {
		e := &req.Entries[i]
		x := kmsg.NewAlterClientQuotasResponseEntry()
		for _, part := range e.Entity {
			y := kmsg.NewAlterClientQuotasResponseEntryEntity()
			y.Type, y.Name = part.Type, part.Name
			x.Entity = append(x.Entity, y)
		}
		x.ErrorCode, x.ErrorMessage = answerOf(p.alterQuotas(ctx, e, req.ValidateOnly))
		resp.Entries = append(resp.Entries, x)
	}
	return resp, nil
}

func (p *zkPlane) alterQuotas(ctx context.Context, e *kmsg.AlterClientQuotasRequestEntry, validateOnly bool) error {
	entity, err := admin.QuotaEntity(e.Entity)
	if err != nil {
		return err
	}
	path := quotaPath(entity)
	s, err := p.live()
	if err != nil {
		return err
	}
	kind, name, _ := strings.Cut(path, "/")
	values, err := s.ReadConfig(ctx, kind, name)
	if err != nil {
		return err
	}
	for i := range e.Ops {
		if err := alterQuota(values, entity, &e.Ops[i]); err != nil {
			return err
		}
	}
	if validateOnly {
		return nil
	}
	if err := s.WriteConfig(ctx, kind, name, values); err != nil {
		return err
	}
	return p.loadEntity(ctx, s, path)
}

// alterQuota makes one change to the configuration of an entity.
func alterQuota(values map[string]string, entity metadata.QuotaEntity, op *kmsg.AlterClientQuotasRequestEntryOp) error {
	if err := admin.QuotaKey(entity, op.Key); err != nil {
		return err
	}
	if op.Remove {
		delete(values, op.Key)
		return nil
	}
	if math.IsNaN(op.Value) || math.IsInf(op.Value, 0) || op.Value < 0 {
		return fmt.Errorf("%s is %v, it must be a number of at least 0: %w", op.Key, op.Value, kafka.InvalidRequest)
	}
	if !quotaKeys[op.Key] {
		values[op.Key] = javaDouble(op.Value)
		return nil
	}
	n := math.Floor(op.Value + 1e-6)
	if math.Abs(n-op.Value) > 1e-6 {
		return fmt.Errorf("configuration %s must be a whole number, it is %v: %w", op.Key, op.Value, kafka.InvalidRequest)
	}
	values[op.Key] = strconv.FormatInt(int64(n), 10)
	return nil
}

// javaDouble writes a number as Kafka does: 5.0, not 5.
func javaDouble(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
