package broker

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// handleIncrementalAlterConfigs writes ZooKeeper itself and notifies all
// brokers by /config/changes, which any broker of ZooKeeper mode may do.
func (p *zkPlane) handleIncrementalAlterConfigs(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.IncrementalAlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	for i := range req.Resources {
		want := &req.Resources[i]
		res := kmsg.NewIncrementalAlterConfigsResponseResource()
		res.ResourceType, res.ResourceName = want.ResourceType, want.ResourceName
		res.ErrorCode, res.ErrorMessage = answerOf(p.alterConfigs(ctx, want, req.ValidateOnly))
		resp.Resources = append(resp.Resources, res)
	}
	return resp, nil
}

func (p *zkPlane) alterConfigs(ctx context.Context, want *kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) error {
	res := metadata.ConfigResource{Type: metadata.ConfigType(want.ResourceType), Name: want.ResourceName}
	if err := p.configurable(res); err != nil {
		return err
	}
	values, err := p.configs(ctx, res)
	if err != nil {
		return err
	}
	for i := range want.Configs {
		if err := alterConfig(values, &want.Configs[i]); err != nil {
			return err
		}
	}
	return p.writeConfigs(ctx, res, values, validateOnly)
}

// configurable says whether a resource has configuration here.
func (p *zkPlane) configurable(res metadata.ConfigResource) error {
	switch res.Type {
	case metadata.TopicConfig:
		if _, ok := p.b.Image().Topic(res.Name); !ok {
			return fmt.Errorf("topic %s is not known: %w", res.Name, kafka.UnknownTopicOrPartition)
		}
	case metadata.BrokerConfig:
		if _, err := strconv.Atoi(res.Name); err != nil && res.Name != "" {
			return fmt.Errorf("broker %q is not an id: %w", res.Name, kafka.InvalidRequest)
		}
	default:
		return fmt.Errorf("resource type %d has no configuration here: %w", res.Type, kafka.InvalidRequest)
	}
	return nil
}

// writeConfigs checks the whole configuration of a resource and writes it.
func (p *zkPlane) writeConfigs(ctx context.Context, res metadata.ConfigResource, values map[string]string, validateOnly bool) error {
	if res.Type == metadata.TopicConfig {
		if err := p.topicDef().Validate(values); err != nil {
			return err
		}
	}
	if validateOnly {
		return nil
	}
	s, err := p.live()
	if err != nil {
		return err
	}
	typ, entity := configEntity(res)
	if err := s.WriteConfig(ctx, typ, entity, values); err != nil {
		return err
	}
	if res.Type == metadata.TopicConfig {
		p.topicConfigs.drop(res.Name)
	}
	return nil
}

// alterConfig makes one change to values.
func alterConfig(values map[string]string, c *kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	if c.Name == "" {
		return fmt.Errorf("a configuration has no name: %w", kafka.InvalidConfig)
	}
	if c.Op == kmsg.IncrementalAlterConfigOpDelete {
		delete(values, c.Name)
		return nil
	}
	if c.Value == nil {
		return fmt.Errorf("%s has no value: %w", c.Name, kafka.InvalidConfig)
	}
	switch c.Op {
	case kmsg.IncrementalAlterConfigOpSet:
		values[c.Name] = *c.Value
	case kmsg.IncrementalAlterConfigOpAppend:
		values[c.Name] = strings.Trim(values[c.Name]+","+*c.Value, ",")
	case kmsg.IncrementalAlterConfigOpSubtract:
		var kept []string
		for _, v := range strings.Split(values[c.Name], ",") {
			if v != *c.Value {
				kept = append(kept, v)
			}
		}
		values[c.Name] = strings.Join(kept, ",")
	default:
		return fmt.Errorf("operation %d on %s is not known: %w", c.Op, c.Name, kafka.InvalidRequest)
	}
	return nil
}
