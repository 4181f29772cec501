package broker

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// topicDefaults are the values that hold for a topic that sets none; only
// min.insync.replicas has an effect here.
var topicDefaults = map[string]string{
	"cleanup.policy": "delete", "max.message.bytes": "1048588", "min.insync.replicas": "1",
	"retention.bytes": "-1", "retention.ms": "604800000", "segment.bytes": "1073741824",
	"unclean.leader.election.enable": "false",
}

// handleDescribeConfigs answers from the image and the broker's own settings.
func (b *Broker) handleDescribeConfigs(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	img := b.Image()
	for i := range req.Resources {
		resp.Resources = append(resp.Resources, b.describeConfigs(ctx, img, &req.Resources[i]))
	}
	return resp, nil
}

func (b *Broker) describeConfigs(ctx context.Context, img *metadata.Image, want *kmsg.DescribeConfigsRequestResource) kmsg.DescribeConfigsResponseResource {
	res := kmsg.NewDescribeConfigsResponseResource()
	res.ResourceType, res.ResourceName = want.ResourceType, want.ResourceName
	refuse := func(code kafka.ErrorCode, text string) kmsg.DescribeConfigsResponseResource {
		res.ErrorCode, res.ErrorMessage = int16(code), &text
		return res
	}
	resource := metadata.ConfigResource{Type: metadata.ConfigType(want.ResourceType), Name: want.ResourceName}
	if resource.Type != metadata.TopicConfig && resource.Type != metadata.BrokerConfig {
		return refuse(kafka.InvalidRequest, "only topics and brokers have configuration here")
	}
	set, err := b.plane.configs(ctx, resource)
	if err != nil {
		return refuse(kafka.UnknownServerError, err.Error())
	}
	switch metadata.ConfigType(want.ResourceType) {
	case metadata.TopicConfig:
		if _, ok := img.Topic(want.ResourceName); !ok {
			return refuse(kafka.UnknownTopicOrPartition, "topic "+want.ResourceName+" is not known")
		}
		res.Configs = configEntries(want.ConfigNames, topicDefaults, set, kmsg.ConfigSourceDynamicTopicConfig)
	case metadata.BrokerConfig:
		if id := strconv.Itoa(int(b.cfg.ID)); want.ResourceName == "" {
			res.Configs = configEntries(want.ConfigNames, nil, set, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
		} else if want.ResourceName == id {
			res.Configs = configEntries(want.ConfigNames, b.settings(), set, kmsg.ConfigSourceDynamicBrokerConfig)
		} else {
			return refuse(kafka.InvalidRequest, "this is broker "+id+": ask broker "+want.ResourceName+" itself")
		}
	}
	return res
}

// settings are the broker's own, by Kafka's names.
func (b *Broker) settings() map[string]string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	return map[string]string{
		"broker.id": strconv.Itoa(int(b.cfg.ID)), "min.insync.replicas": strconv.Itoa(b.cfg.MinISR),
		"replica.fetch.backoff.ms": ms(b.cfg.FetchBackoff), "replica.fetch.wait.max.ms": ms(b.cfg.FetchWait),
		"replica.lag.time.max.ms": ms(b.cfg.ReplicaLagMax), "auto.create.topics.enable": "false",
	}
}

// configEntries merges defaults and set values, sorted by name, restricted to
// names where that is not nil.
func configEntries(names []string, defaults, set map[string]string, source kmsg.ConfigSource) []kmsg.DescribeConfigsResponseResourceConfig {
	merged := make(map[string]string, len(defaults)+len(set))
	maps.Copy(merged, defaults)
	maps.Copy(merged, set)
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for name, value := range merged {
		if names != nil && !slices.Contains(names, name) {
			continue
		}
		c := kmsg.NewDescribeConfigsResponseResourceConfig()
		c.Name, c.Value, c.ConfigType = name, &value, kmsg.ConfigTypeString
		if _, ok := set[name]; ok {
			c.Source = source
		} else {
			c.Source, c.IsDefault = kmsg.ConfigSourceDefaultConfig, true
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
