package broker

import (
	"context"
	"maps"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// handleIncrementalAlterConfigs checks what would be set for this broker or for
// all, which the controller does not, and forwards the rest.
func (p *kraftPlane) handleIncrementalAlterConfigs(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := *r.Body.(*kmsg.IncrementalAlterConfigsRequest)
	var kept []kmsg.IncrementalAlterConfigsRequestResource
	refused := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	for _, res := range req.Resources {
		err := p.judgeBrokerConfig(res.ResourceType, res.ResourceName, func(values map[string]string) error {
			for i := range res.Configs {
				c := &res.Configs[i]
				value, err := admin.AlteredConfig(c, values[c.Name], admin.IsListBrokerConfig(c.Name))
				switch {
				case err != nil:
					return err
				case value == nil:
					delete(values, c.Name)
				default:
					values[c.Name] = *value
				}
			}
			return nil
		})
		if err == nil {
			kept = append(kept, res)
			continue
		}
		x := kmsg.NewIncrementalAlterConfigsResponseResource()
		x.ResourceType, x.ResourceName = res.ResourceType, res.ResourceName
		x.ErrorCode, x.ErrorMessage = answerOf(err)
		refused.Resources = append(refused.Resources, x)
	}
	if len(refused.Resources) > 0 && len(kept) == 0 {
		return refused, nil
	}
	rest := *r
	req.Resources, rest.Body = kept, &req
	kresp, err := p.handleForwarded(ctx, &rest)
	if resp, ok := kresp.(*kmsg.IncrementalAlterConfigsResponse); ok && err == nil {
		resp.Resources = append(resp.Resources, refused.Resources...)
	}
	return kresp, err
}

// handleAlterConfigs does the same for AlterConfigs, which replaces all that is
// set.
func (p *kraftPlane) handleAlterConfigs(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := *r.Body.(*kmsg.AlterConfigsRequest)
	var kept []kmsg.AlterConfigsRequestResource
	refused := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	for _, res := range req.Resources {
		err := p.judgeBrokerConfig(res.ResourceType, res.ResourceName, func(values map[string]string) error {
			clear(values)
			for _, c := range res.Configs {
				if c.Value != nil { // the controller refuses others
					values[c.Name] = *c.Value
				}
			}
			return nil
		})
		if err == nil {
			kept = append(kept, res)
			continue
		}
		x := kmsg.NewAlterConfigsResponseResource()
		x.ResourceType, x.ResourceName = res.ResourceType, res.ResourceName
		x.ErrorCode, x.ErrorMessage = answerOf(err)
		refused.Resources = append(refused.Resources, x)
	}
	if len(refused.Resources) > 0 && len(kept) == 0 {
		return refused, nil
	}
	rest := *r
	req.Resources, rest.Body = kept, &req
	kresp, err := p.handleForwarded(ctx, &rest)
	if resp, ok := kresp.(*kmsg.AlterConfigsResponse); ok && err == nil {
		resp.Resources = append(resp.Resources, refused.Resources...)
	}
	return kresp, err
}

// judgeBrokerConfig checks what change makes of the configuration of this broker
// or of all; resources of other types are the controller's to check.
func (p *kraftPlane) judgeBrokerConfig(kind kmsg.ConfigResourceType, name string, change func(values map[string]string) error) error {
	if kind != kmsg.ConfigResourceTypeBroker {
		return nil
	}
	if id := strconv.Itoa(int(p.b.cfg.ID)); name != "" && name != id {
		if _, err := strconv.Atoi(name); err != nil {
			return admin.Faultf(kafka.InvalidRequest, "Node id must be an integer, but it is: %.64s", name)
		}
		return admin.Faultf(kafka.InvalidRequest, "Unexpected broker id, expected %s, but received %s", id, name)
	}
	values := maps.Clone(p.b.Image().Config(metadata.ConfigResource{Type: metadata.BrokerConfig, Name: name}))
	if values == nil {
		values = map[string]string{}
	}
	if err := change(values); err != nil {
		return err
	}
	return admin.JudgeBrokerConfigs(values, name != "")
}
