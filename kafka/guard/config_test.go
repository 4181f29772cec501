package guard

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
)

// TestCreatedConfigsAreHidden from who may not DESCRIBE_CONFIGS of the topic.
func TestCreatedConfigsAreHidden(t *testing.T) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	for _, name := range []string{"seen", "hidden"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic = name
		req.Topics = append(req.Topics, topic)
	}
	g := newRig(allow(access.Cluster, access.ClusterName, access.Create), allow(access.Topic, "seen", access.DescribeConfigs))
	g.answer = func(body kmsg.Request) kmsg.Response {
		resp := body.ResponseKind().(*kmsg.CreateTopicsResponse)
		for _, t := range req.Topics {
			topic := kmsg.NewCreateTopicsResponseTopic()
			topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.Topic, 3, 1
			topic.Configs = make([]kmsg.CreateTopicsResponseTopicConfig, 2)
			resp.Topics = append(resp.Topics, topic)
		}
		return resp
	}
	got := g.ask(t, req).(*kmsg.CreateTopicsResponse).Topics
	if got[0].ConfigErrorCode != 0 || got[0].NumPartitions != 3 || len(got[0].Configs) != 2 {
		t.Errorf("with DESCRIBE_CONFIGS: %+v", got[0])
	}
	if got[1].ConfigErrorCode != refusedTopic || got[1].ErrorCode != 0 || got[1].NumPartitions != -1 || got[1].ReplicationFactor != -1 || got[1].Configs == nil || len(got[1].Configs) != 0 {
		t.Errorf("without: %+v", got[1])
	}
}

// TestGroupConfigs are judged by the group.
func TestGroupConfigs(t *testing.T) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range []string{"mine", "theirs"} {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeGroupConfig, name
		req.Resources = append(req.Resources, r)
	}
	g := newRig(allow(access.Group, "mine", access.DescribeConfigs))
	resp := g.ask(t, req).(*kmsg.DescribeConfigsResponse).Resources
	if len(resp) != 1 || resp[0].ResourceName != "theirs" || kafka.ErrorCode(resp[0].ErrorCode) != kafka.GroupAuthorizationFailed {
		t.Errorf("%+v", resp)
	}
}
