package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// The kinds of match of a DescribeClientQuotas component.
const (
	matchExact   = 0
	matchDefault = 1
	matchAny     = 2 // any named or default entity of the type
)

// handleDescribeClientQuotas gives the quotas of the entities that all
// components of the request match.
func (b *Broker) handleDescribeClientQuotas(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeClientQuotasRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClientQuotasResponse)
	if code, text := badComponents(req.Components); code != kafka.None {
		resp.ErrorCode, resp.ErrorMessage = int16(code), &text
		return resp, nil
	}
	resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{} // null would say that there was an error
	for entity, values := range b.Image().Access().Quotas() {
		if !matchesQuota(req, entity) {
			continue
		}
		e := kmsg.NewDescribeClientQuotasResponseEntry()
		for _, p := range entity {
			x := kmsg.NewDescribeClientQuotasResponseEntryEntity()
			if x.Type = p.Type; !p.Default {
				name := p.Name
				x.Name = &name
			}
			e.Entity = append(e.Entity, x)
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			v := kmsg.NewDescribeClientQuotasResponseEntryValue()
			v.Key, v.Value = key, values[key]
			e.Values = append(e.Values, v)
		}
		resp.Entries = append(resp.Entries, e)
	}
	return resp, nil
}

func badComponents(cs []kmsg.DescribeClientQuotasRequestComponent) (kafka.ErrorCode, string) {
	seen := map[string]bool{}
	for _, c := range cs {
		switch {
		case !slices.Contains([]string{"user", "client-id", "ip"}, c.EntityType):
			return kafka.UnsupportedVersion, fmt.Sprintf("Custom entity type %q is not supported", c.EntityType)
		case seen[c.EntityType]:
			return kafka.InvalidRequest, fmt.Sprintf("Duplicate filter component entity type %q", c.EntityType)
		case c.MatchType < matchExact || c.MatchType > matchAny, c.MatchType == matchExact && c.Match == nil, c.MatchType != matchExact && c.Match != nil:
			return kafka.InvalidRequest, fmt.Sprintf("Match type %d of %s does not go with its name", c.MatchType, c.EntityType)
		}
		seen[c.EntityType] = true
	}
	if seen["ip"] && len(seen) > 1 {
		return kafka.InvalidRequest, "Invalid entity filter component combination, IP filter component should not be used with user or clientId filter component."
	}
	return kafka.None, ""
}

// matchesQuota reports whether each component finds its part in the entity, and,
// where the request is strict, whether the entity has no other part.
func matchesQuota(req *kmsg.DescribeClientQuotasRequest, entity metadata.QuotaEntity) bool {
	if req.Strict && len(req.Components) != len(entity) {
		return false
	}
	for _, c := range req.Components {
		ok := slices.ContainsFunc(entity, func(p metadata.QuotaPart) bool {
			switch {
			case p.Type != c.EntityType:
				return false
			case c.MatchType == matchExact:
				return !p.Default && p.Name == *c.Match
			case c.MatchType == matchDefault:
				return p.Default
			}
			return true
		})
		if !ok {
			return false
		}
	}
	return true
}
