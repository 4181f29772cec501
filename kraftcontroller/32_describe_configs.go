package kraftcontroller

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// serveDescribeConfigs answers from the committed image, on any controller. It
// tells only what was set: defaults are the brokers' to tell.
func (c *Controller) serveDescribeConfigs(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	image := c.View().Image
	for i := range r.Body.(*kmsg.DescribeConfigsRequest).Resources {
		resp.Resources = append(resp.Resources, describeConfigs(image, &r.Body.(*kmsg.DescribeConfigsRequest).Resources[i]))
	}
	return resp, nil
}

func describeConfigs(image *metadata.Image, want *kmsg.DescribeConfigsRequestResource) kmsg.DescribeConfigsResponseResource {
	res := kmsg.NewDescribeConfigsResponseResource()
	res.ResourceType, res.ResourceName = want.ResourceType, want.ResourceName
	source := kmsg.ConfigSourceDynamicTopicConfig
	resource := metadata.ConfigResource{Type: metadata.ConfigType(want.ResourceType), Name: want.ResourceName}
	switch resource.Type {
	case metadata.TopicConfig:
		if _, ok := image.Topic(want.ResourceName); !ok {
			res.ErrorCode, res.ErrorMessage = int16(kafka.UnknownTopicOrPartition), kmsg.StringPtr("There is no topic "+want.ResourceName+".")
			return res
		}
	case metadata.BrokerConfig:
		source = kmsg.ConfigSourceDynamicBrokerConfig
		if want.ResourceName == "" {
			source = kmsg.ConfigSourceDynamicDefaultBrokerConfig
		}
	case metadata.ClientMetricsConfig:
		source = kmsg.ConfigSourceClientMetricsConfig
	case metadata.GroupConfig:
		source = kmsg.ConfigSourceGroupConfig
	default:
		res.ErrorCode, res.ErrorMessage = int16(kafka.InvalidRequest), kmsg.StringPtr("Topics, brokers, client metrics and groups have configuration here, and nothing else.")
		return res
	}
	for name, value := range image.Config(resource) {
		if want.ConfigNames != nil && !slices.Contains(want.ConfigNames, name) {
			continue
		}
		k := kmsg.NewDescribeConfigsResponseResourceConfig()
		k.Name, k.Value, k.Source, k.ConfigType = name, &value, source, kmsg.ConfigTypeString
		res.Configs = append(res.Configs, k)
	}
	slices.SortFunc(res.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return cmp.Compare(a.Name, b.Name) })
	return res
}
