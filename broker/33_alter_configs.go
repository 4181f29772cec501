package broker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// handleAlterConfigs replaces the whole configuration of resources.
func (p *zkPlane) handleAlterConfigs(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.AlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	for i := range req.Resources {
		want := &req.Resources[i]
		res := kmsg.NewAlterConfigsResponseResource()
		res.ResourceType, res.ResourceName = want.ResourceType, want.ResourceName
		res.ErrorCode, res.ErrorMessage = answerOf(p.replaceConfigs(ctx, want, req.ValidateOnly))
		resp.Resources = append(resp.Resources, res)
	}
	return resp, nil
}

func (p *zkPlane) replaceConfigs(ctx context.Context, want *kmsg.AlterConfigsRequestResource, validateOnly bool) error {
	res := metadata.ConfigResource{Type: metadata.ConfigType(want.ResourceType), Name: want.ResourceName}
	if err := p.configurable(res); err != nil {
		return err
	}
	values := map[string]string{}
	for _, c := range want.Configs {
		switch {
		case c.Name == "":
			return fmt.Errorf("a configuration has no name: %w", kafka.InvalidConfig)
		case c.Value == nil:
			return fmt.Errorf("%s has no value: %w", c.Name, kafka.InvalidConfig)
		}
		values[c.Name] = *c.Value
	}
	return p.writeConfigs(ctx, res, values, validateOnly)
}
