package admin

import (
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// shownTopicConfigs are the names of TopicConfigs that are told, sorted.
var shownTopicConfigs = slices.Sorted(maps.Keys(TopicConfigs.Defaults()))

// Defaults gives what holds where nothing is set, of all that is told.
func (d *ConfigDef) Defaults() map[string]string {
	out := make(map[string]string, len(d.keys))
	for name, key := range d.keys {
		if !key.internal {
			out[name] = key.value
		}
	}
	return out
}

// SetBy gives what a configuration of brokers sets of the defaults of topics, by
// the names of topics.
func (d *ConfigDef) SetBy(broker map[string]string) map[string]string {
	out := map[string]string{}
	for name, key := range d.keys {
		if value, set := key.setBy(broker); set {
			out[name] = value
		}
	}
	return out
}

func (k configKey) setBy(broker map[string]string) (string, bool) {
	for _, s := range k.synonyms {
		if value, set := broker[s.name]; set {
			return s.convert(value), true
		}
	}
	return "", false
}

// EffectiveTopicConfigs gives what holds for a topic by name, and where it comes
// from: the topic's own configuration, that of node, that of all brokers, or
// Kafka's default. The answer may be shared by topics that have nothing of their
// own.
func EffectiveTopicConfigs(topic, node, brokers map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	out := make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(shownTopicConfigs))
	for _, name := range shownTopicConfigs {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		value, source := effective(name, topic, node, brokers)
		c.Name, c.Value, c.Source = name, &value, int8(source)
		out = append(out, c)
	}
	return out
}

func effective(name string, topic, node, brokers map[string]string) (string, kmsg.ConfigSource) {
	if value, set := topic[name]; set {
		return value, kmsg.ConfigSourceDynamicTopicConfig
	}
	key := TopicConfigs.keys[name]
	for _, from := range []struct {
		values map[string]string
		source kmsg.ConfigSource
	}{
		{node, kmsg.ConfigSourceDynamicBrokerConfig},
		{brokers, kmsg.ConfigSourceDynamicDefaultBrokerConfig},
	} {
		if value, set := key.setBy(from.values); set {
			return value, from.source
		}
	}
	return key.value, kmsg.ConfigSourceDefaultConfig
}

// convert gives the value in the unit of the topic configuration.
func (s synonym) convert(value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if s.ms == 0 || err != nil {
		return value
	}
	return strconv.FormatInt(n*s.ms, 10)
}
