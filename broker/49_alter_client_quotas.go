package broker

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
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
	entity, err := quotaEntity(e.Entity)
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

// quotaEntity checks whom quotas are asked for.
func quotaEntity(parts []kmsg.AlterClientQuotasRequestEntryEntity) (metadata.QuotaEntity, error) {
	var out []metadata.QuotaPart
	seen := map[string]bool{}
	for _, x := range parts {
		switch {
		case x.Type != "user" && x.Type != "client-id" && x.Type != "ip":
			return nil, fmt.Errorf("unhandled client quota entity type %q: %w", x.Type, kafka.InvalidRequest)
		case seen[x.Type]:
			return nil, fmt.Errorf("entity type %s is there twice: %w", x.Type, kafka.InvalidRequest)
		case x.Name != nil && *x.Name == "":
			return nil, fmt.Errorf("empty %s is not supported: %w", x.Type, kafka.InvalidRequest)
		}
		seen[x.Type] = true
		p := metadata.QuotaPart{Type: x.Type, Default: x.Name == nil}
		if x.Name != nil {
			p.Name = *x.Name
		}
		out = append(out, p)
	}
	switch {
	case len(out) == 0:
		return nil, fmt.Errorf("empty client quota entity: %w", kafka.InvalidRequest)
	case seen["ip"] && len(out) > 1:
		return nil, fmt.Errorf("an address cannot have quotas together with a user or client: %w", kafka.InvalidRequest)
	}
	return metadata.NewQuotaEntity(out), nil
}

// alterQuota makes one change to the configuration of an entity.
func alterQuota(values map[string]string, entity metadata.QuotaEntity, op *kmsg.AlterClientQuotasRequestEntryOp) error {
	whole, known := quotaKeys[op.Key]
	if ofIP := op.Key == "connection_creation_rate"; !known || ofIP != (entity[0].Type == "ip") {
		return fmt.Errorf("invalid configuration key %q: %w", op.Key, kafka.InvalidRequest)
	}
	if op.Remove {
		delete(values, op.Key)
		return nil
	}
	if math.IsNaN(op.Value) || math.IsInf(op.Value, 0) || op.Value < 0 {
		return fmt.Errorf("%s is %v, it must be a number of at least 0: %w", op.Key, op.Value, kafka.InvalidRequest)
	}
	if !whole {
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
