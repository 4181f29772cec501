package broker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// configured is a broker of a cluster with a topic and something set for client
// metrics and for a group.
func configured(t *testing.T) *process {
	r := newKRaftRig(t)
	p := r.start(1, nil)
	r.create("orders", 1, 1)
	set := func(kind metadata.ConfigType, name, key, value string) *metadata.ConfigRecord {
		return &metadata.ConfigRecord{ResourceType: kind, ResourceName: name, Name: key, Value: &value}
	}
	r.write(
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
