package broker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// configured is a broker of a cluster with a topic and something set for it, for
// all brokers, for client metrics and for a group.
func configured(t *testing.T) *process {
	r := newKRaftRig(t)
	p := r.start(1, nil)
	r.create("orders", 1, 1)
	set := func(kind metadata.ConfigType, name, key, value string) *metadata.ConfigRecord {
		return &metadata.ConfigRecord{ResourceType: kind, ResourceName: name, Name: key, Value: &value}
	}
	r.write(
		set(metadata.TopicConfig, "orders", "retention.bytes", "7"),
		set(metadata.BrokerConfig, "", "log.retention.minutes", "2"),
		set(metadata.ClientMetricsConfig, "slow-clients", "interval.ms", "60000"),
		set(metadata.ClientMetricsConfig, "slow-clients", "metrics", "org.apache.kafka.producer"),
		set(metadata.GroupConfig, "readers", "consumer.session.timeout.ms", "50000"),
	)
	eventually(t, "the configuration is there", func() bool {
		return len(p.Image().Config(metadata.ConfigResource{Type: metadata.GroupConfig, Name: "readers"})) == 1
	})
	return p
}

// TestKRaftListConfigResources: client metrics alone in version 0, all types or
// those asked for in version 1.
func TestKRaftListConfigResources(t *testing.T) {
	p := configured(t)
	for _, c := range []struct {
		version int16
		kinds   []int8
		want    []string
		code    kafka.ErrorCode
	}{
		{0, nil, []string{"16 slow-clients"}, kafka.None},
		{1, nil, []string{"16 slow-clients", "2 orders", "32 readers", "4 1", "8 1"}, kafka.None},
		{1, []int8{32, 2}, []string{"2 orders", "32 readers"}, kafka.None},
		{1, []int8{16, 3}, nil, kafka.UnsupportedVersion},
	} {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.Version, req.ResourceTypes = c.version, c.kinds
		resp := ask[*kmsg.ListConfigResourcesResponse](t, p.addr(), req)
		var got []string
		for _, x := range resp.ConfigResources {
			got = append(got, fmt.Sprint(x.Type, " ", x.Name))
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) || kafka.ErrorCode(resp.ErrorCode) != c.code {
			t.Errorf("version %d, types %d: %q, %s", c.version, c.kinds, got, kafka.ErrorCode(resp.ErrorCode))
		}
	}
}

// TestKRaftDescribeClientMetrics: what is set for client metrics and groups, and
// that there is no group to list.
func TestKRaftDescribeClientMetrics(t *testing.T) {
	p := configured(t)
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	for kind, name := range map[kmsg.ConfigResourceType]string{kmsg.ConfigResourceTypeClientMetrics: "slow-clients", kmsg.ConfigResourceTypeGroupConfig: "readers"} {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		req.Resources = append(req.Resources, r)
	}
	loggers := kmsg.NewDescribeConfigsRequestResource()
	loggers.ResourceType, loggers.ResourceName = kmsg.ConfigResourceTypeBrokerLogger, "1"
	req.Resources = append(req.Resources, loggers)
	var got []string
	for _, r := range ask[*kmsg.DescribeConfigsResponse](t, p.addr(), req).Resources {
		if r.ErrorMessage != nil {
			got = append(got, fmt.Sprintf("%s %s", kafka.ErrorCode(r.ErrorCode), *r.ErrorMessage))
		}
		for _, c := range r.Configs {
			got = append(got, fmt.Sprintf("%s %s=%s %s", r.ResourceName, c.Name, *c.Value, c.Source))
		}
	}
	slices.Sort(got)
	want := []string{
		"INVALID_REQUEST levels of loggers are not shown: a node's log level is set at its start: INVALID_REQUEST",
		"readers consumer.session.timeout.ms=50000 GROUP_CONFIG",
		"slow-clients interval.ms=60000 CLIENT_METRICS_CONFIG",
		"slow-clients metrics=org.apache.kafka.producer CLIENT_METRICS_CONFIG",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	groups := kmsg.NewPtrListGroupsRequest()
	groups.Version = 5
	if resp := ask[*kmsg.ListGroupsResponse](t, p.addr(), groups); resp.ErrorCode != 0 || len(resp.Groups) != 0 {
		t.Errorf("ListGroups: %+v", resp)
	}
}

// TestKRaftDescribeTopicConfigs: all that Kafka's topics have, each with where it
// comes from.
func TestKRaftDescribeTopicConfigs(t *testing.T) {
	p := configured(t)
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, "orders"
	req.Resources = append(req.Resources, res)
	got := map[string]string{}
	for _, c := range ask[*kmsg.DescribeConfigsResponse](t, p.addr(), req).Resources[0].Configs {
		got[c.Name] = fmt.Sprintf("%s %s", *c.Value, c.Source)
	}
	for name, want := range map[string]string{
		"retention.bytes": "7 DYNAMIC_TOPIC_CONFIG", "retention.ms": "120000 DYNAMIC_DEFAULT_BROKER_CONFIG",
		"min.insync.replicas": "1 STATIC_BROKER_CONFIG", "segment.bytes": "1073741824 DEFAULT_CONFIG",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if want := len(admin.TopicConfigs.Defaults()); len(got) != want {
		t.Errorf("%d configurations, want %d", len(got), want)
	}
}

// TestKRaftBrokerConfigsAreChecked: by the broker, of itself and of all brokers;
// what is refused does not reach the controller, the rest does.
func TestKRaftBrokerConfigsAreChecked(t *testing.T) {
	r := newKRaftRig(t)
	p := r.start(1, nil)
	for _, c := range []struct{ broker, name, value, want string }{
		{"1", "log.cleaner.threads", "0", ""},
		{"1", "log.cleaner.threads", "many", "Invalid value many for configuration log.cleaner.threads: Not a number of type INT"},
		{"", "num.io.threads", "0", "Invalid value 0 for configuration num.io.threads: Value must be at least 1"},
		{"1", "broker.id", "2", "Cannot update these configs dynamically: [broker.id]"},
		{"", "listeners", "PLAINTEXT://:1", "Cannot update these configs at default cluster level, broker id must be specified: [listeners]"},
		{"1", "ssl.key.password", "x", "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.key.password]"},
		{"1", "somebody.elses", "x", ""},
		{"2", "log.cleaner.threads", "1", "Unexpected broker id, expected 1, but received 2"},
		{"two", "log.cleaner.threads", "1", "Node id must be an integer, but it is: two"},
	} {
		value := c.value
		bad := kmsg.NewIncrementalAlterConfigsRequestResource()
		bad.ResourceType, bad.ResourceName = kmsg.ConfigResourceTypeBroker, c.broker
		bad.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: c.name, Value: &value}}
		topic := kmsg.NewIncrementalAlterConfigsRequestResource()
		topic.ResourceType, topic.ResourceName = kmsg.ConfigResourceTypeTopic, "orders"
		changes := kmsg.NewPtrIncrementalAlterConfigsRequest()
		changes.Version, changes.Resources = 1, []kmsg.IncrementalAlterConfigsRequestResource{bad, topic}
		whole := kmsg.NewPtrAlterConfigsRequest()
		whole.Version = 2
		replaced := kmsg.NewAlterConfigsRequestResource()
		replaced.ResourceType, replaced.ResourceName = bad.ResourceType, bad.ResourceName
		replaced.Configs = []kmsg.AlterConfigsRequestResourceConfig{{Name: c.name, Value: &value}}
		whole.Resources = []kmsg.AlterConfigsRequestResource{replaced}

		r.takeForwarded()
		answers := ask[*kmsg.IncrementalAlterConfigsResponse](t, p.addr(), changes).Resources
		ask[*kmsg.AlterConfigsResponse](t, p.addr(), whole)
		reached := map[int16]int{}
		for _, f := range r.takeForwarded() {
			switch body := f.Body.(type) {
			case *kmsg.IncrementalAlterConfigsRequest:
				reached[44] = len(body.Resources)
			case *kmsg.AlterConfigsRequest:
				reached[33] = len(body.Resources)
			}
		}
		if c.want == "" {
			if reached[44] != 2 || reached[33] != 1 {
				t.Errorf("%s=%s of %q: the controller saw %v", c.name, c.value, c.broker, reached)
			}
			continue
		}
		refused := slices.ContainsFunc(answers, func(x kmsg.IncrementalAlterConfigsResponseResource) bool {
			return kafka.ErrorCode(x.ErrorCode) == kafka.InvalidRequest && x.ErrorMessage != nil && *x.ErrorMessage == c.want
		})
		if !refused || reached[44] != 1 || reached[33] != 0 {
			t.Errorf("%s=%s of %q: %+v; the controller saw %v", c.name, c.value, c.broker, answers, reached)
		}
	}
}
