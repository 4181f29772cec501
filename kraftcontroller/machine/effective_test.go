package machine

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestCreatedTopicsTellWhatHolds: all that holds for a new topic, with where it
// comes from, in the versions that have room for it (KIP-525).
func TestCreatedTopicsTellWhatHolds(t *testing.T) {
	w := newWorld(Config{NoOpInterval: -1, NodeID: 3001})
	w.up(t, 1)
	set := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType = kmsg.ConfigResourceTypeBroker
	hours := "2"
	res.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "log.retention.hours", Value: &hours}}
	set.Resources = append(set.Resources, res)
	w.request(set)
	w.commitAll()
	create := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range []string{"plain", "own"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 2, 1
		if name == "own" {
			compact := "compact"
			topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "cleanup.policy", Value: &compact}}
		}
		create.Topics = append(create.Topics, topic)
	}
	create.ValidateOnly = true
	for _, version := range []int16{4, 7} {
		create.Version = version
		for _, topic := range ask[*kmsg.CreateTopicsResponse](t, w, create).Topics {
			told := map[string]string{}
			for _, c := range topic.Configs {
				told[c.Name] = *c.Value + " " + kmsg.ConfigSource(c.Source).String()
			}
			want := map[string]string{}
			if version >= 5 {
				want = map[string]string{
					"retention.ms": "7200000 DYNAMIC_DEFAULT_BROKER_CONFIG", "segment.bytes": "1073741824 DEFAULT_CONFIG",
					"cleanup.policy": map[string]string{"plain": "delete DEFAULT_CONFIG", "own": "compact DYNAMIC_TOPIC_CONFIG"}[topic.Topic],
				}
			}
			for name, holds := range want {
				if told[name] != holds {
					t.Errorf("version %d, %s: %s is %q, want %q", version, topic.Topic, name, told[name], holds)
				}
			}
			if (len(told) > 0) != (version >= 5) || topic.NumPartitions != 2 || topic.ReplicationFactor != 1 {
				t.Errorf("version %d, %s: %d configurations, %+v", version, topic.Topic, len(told), topic)
			}
		}
	}
}
