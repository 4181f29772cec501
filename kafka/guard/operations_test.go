package guard

import (
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
)

func bits(ops ...access.Operation) (set int32) {
	for _, op := range ops {
		set |= 1 << op
	}
	return set
}

// TestAuthorizedOperations: who asks for what they may do is told, of topics that
// are shown and of the cluster, in the versions that have it.
func TestAuthorizedOperations(t *testing.T) {
	shown := func(body kmsg.Request) kmsg.Response {
		switch resp := body.ResponseKind().(type) {
		case *kmsg.MetadataResponse:
			resp.AuthorizedOperations = math.MinInt32
			for _, name := range []string{"orders", "absent"} {
				topic := kmsg.NewMetadataResponseTopic()
				topic.Topic, topic.AuthorizedOperations = &name, math.MinInt32
				if name == "absent" {
					topic.ErrorCode = int16(kafka.UnknownTopicOrPartition)
				}
				resp.Topics = append(resp.Topics, topic)
			}
			return resp
		case *kmsg.DescribeClusterResponse:
			resp.ClusterAuthorizedOperations = math.MinInt32
			return resp
		}
		return nil
	}
	everything := bits(topicOperations...)
	described := []access.Binding{
		allow(access.Topic, "orders", access.Read), allow(access.Topic, "absent", access.Read), allow(access.Cluster, access.ClusterName, access.Alter),
	}
	open := newRig()
	open.guard.Authorizer = func() *access.Authorizer { return nil }
	for _, c := range []struct {
		name           string
		rig            *rig
		version        int16
		ask            bool
		topic, cluster int32
	}{
		{"not asked for", newRig(described...), 9, false, math.MinInt32, math.MinInt32},
		{"by rights", newRig(described...), 9, true, bits(access.Read, access.Describe), bits(access.Alter, access.Describe)},
		{"a version without those of the cluster", newRig(described...), 12, true, bits(access.Read, access.Describe), math.MinInt32},
		{"without DESCRIBE on the cluster", newRig(described[:2]...), 9, true, bits(access.Read, access.Describe), 0},
		{"without an authorizer", open, 9, true, everything, bits(operationsOnCluster...)},
	} {
		c.rig.answer = shown
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.IncludeClusterAuthorizedOperations, req.IncludeTopicAuthorizedOperations = c.version, c.ask, c.ask
		resp := c.rig.ask(t, req).(*kmsg.MetadataResponse)
		if resp.AuthorizedOperations != c.cluster || resp.Topics[0].AuthorizedOperations != c.topic || resp.Topics[1].AuthorizedOperations != math.MinInt32 {
			t.Errorf("%s: Metadata tells %x of the cluster, %x of the topic and %x of one that is not there",
				c.name, resp.AuthorizedOperations, resp.Topics[0].AuthorizedOperations, resp.Topics[1].AuthorizedOperations)
		}
		if c.version > 10 {
			continue
		}
		describe := kmsg.NewPtrDescribeClusterRequest()
		describe.Version, describe.IncludeClusterAuthorizedOperations = 2, c.ask
		if got := c.rig.ask(t, describe).(*kmsg.DescribeClusterResponse).ClusterAuthorizedOperations; got != c.cluster {
			t.Errorf("%s: DescribeCluster tells %x", c.name, got)
		}
	}
}
