package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// handleDescribeConfigs answers from the image and the broker's own settings.
func (b *Broker) handleDescribeConfigs(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	img := b.Image()
	for i := range req.Resources {
		resp.Resources = append(resp.Resources, b.describeConfigs(ctx, img, &req.Resources[i], req.IncludeSynonyms))
	}
	return resp, nil
}

func (b *Broker) describeConfigs(ctx context.Context, img *metadata.Image, want *kmsg.DescribeConfigsRequestResource, synonyms bool) kmsg.DescribeConfigsResponseResource {
	res := kmsg.NewDescribeConfigsResponseResource()
	res.ResourceType, res.ResourceName = want.ResourceType, want.ResourceName
	layers, err := b.configLayers(ctx, img, metadata.ConfigResource{Type: metadata.ConfigType(want.ResourceType), Name: want.ResourceName})
	if err != nil {
		res.ErrorCode, res.ErrorMessage = answerOf(err)
		return res
	}
	res.Configs = configEntries(want.ConfigNames, synonyms, layers)
	return res
}

// configLayer is one source of a resource's configuration.
type configLayer struct {
	source kmsg.ConfigSource
	values map[string]string
}

// configLayers gives where the configuration of a resource comes from, the
// strongest first.
func (b *Broker) configLayers(ctx context.Context, img *metadata.Image, r metadata.ConfigResource) ([]configLayer, error) {
	read := func(r metadata.ConfigResource, source kmsg.ConfigSource) (configLayer, error) {
		set, err := b.plane.configs(ctx, r)
		return configLayer{source, set}, err
	}
	id := strconv.Itoa(int(b.cfg.ID))
	switch {
	case r.Type == metadata.TopicConfig:
		set, err := read(r, kmsg.ConfigSourceDynamicTopicConfig)
		if _, ok := img.Topic(r.Name); err == nil && !ok {
			err = fmt.Errorf("topic %s is not known: %w", r.Name, kafka.UnknownTopicOrPartition)
		}
		own, err2 := read(metadata.ConfigResource{Type: metadata.BrokerConfig, Name: id}, kmsg.ConfigSourceDynamicBrokerConfig)
		all, err3 := read(metadata.ConfigResource{Type: metadata.BrokerConfig}, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
		def := b.plane.topicDef()
		own.values, all.values = def.SetBy(own.values), def.SetBy(all.values)
		return []configLayer{set, own, all, {kmsg.ConfigSourceStaticBrokerConfig, def.SetBy(b.settings())}, {kmsg.ConfigSourceDefaultConfig, def.Defaults()}}, errors.Join(err, err2, err3)
	case r.Type == metadata.BrokerConfig && r.Name == "":
		set, err := read(r, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
		return []configLayer{set}, err
	case r.Type == metadata.BrokerConfig && r.Name == id:
		own, err := read(r, kmsg.ConfigSourceDynamicBrokerConfig)
		all, err2 := read(metadata.ConfigResource{Type: r.Type}, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
		return []configLayer{own, all, {kmsg.ConfigSourceDefaultConfig, b.settings()}}, errors.Join(err, err2)
	case r.Type == metadata.BrokerConfig:
		return nil, fmt.Errorf("this is broker %s: ask broker %s itself: %w", id, r.Name, kafka.InvalidRequest)
	case r.Type == metadata.ClientMetricsConfig:
		set, err := read(r, kmsg.ConfigSourceClientMetricsConfig)
		return []configLayer{set}, err
	case r.Type == metadata.GroupConfig:
		set, err := read(r, kmsg.ConfigSourceGroupConfig)
		return []configLayer{set}, err
	case r.Type == metadata.ConfigType(kmsg.ConfigResourceTypeBrokerLogger):
		return nil, fmt.Errorf("levels of loggers are not shown: a node's log level is set at its start: %w", kafka.InvalidRequest)
	}
	return nil, fmt.Errorf("topics, brokers, client metrics and groups have configuration here, and nothing else: %w", kafka.InvalidRequest)
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

// configEntries merges layers, sorted by name, restricted to names where that is
// not nil.
func configEntries(names []string, synonyms bool, layers []configLayer) []kmsg.DescribeConfigsResponseResourceConfig {
	at := map[string]int{}
	out := []kmsg.DescribeConfigsResponseResourceConfig{}
	for _, l := range layers {
		for name, value := range l.values {
			if names != nil && !slices.Contains(names, name) {
				continue
			}
			i, known := at[name]
			if !known {
				c := kmsg.NewDescribeConfigsResponseResourceConfig()
				c.Name, c.Value, c.ConfigType = name, &value, kmsg.ConfigTypeString
				c.Source, c.IsDefault = l.source, l.source == kmsg.ConfigSourceDefaultConfig
				i = len(out)
				at[name], out = i, append(out, c)
			}
			if synonyms {
				x := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
				x.Name, x.Value, x.Source = name, &value, l.source
				out[i].ConfigSynonyms = append(out[i].ConfigSynonyms, x)
			}
		}
	}
	slices.SortFunc(out, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
