package workloads

import (
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

// fakeQuorum is what the controllers of a fakeCluster are as voters: what one
// does that comes back, and how much it tells.
type fakeQuorum struct {
	level   int16 // of kraft.version
	end     int64 // the high watermark
	removed map[kafka.BrokerID]bool

	found, agree time.Duration // until one that had led hears of its successor, and from then until it agrees
	dropped      int64         // records that it alone had
	settle       time.Duration // until one that was removed knows it; 0 for never
	stall        time.Duration // no admin request is answered for so long when it is back
	elections    int           // that it brings about
}

// comeBack has a controller that was away do what a voter does then.
func (c *fakeCluster) comeBack(id kafka.BrokerID, now int64) {
	q := &c.quorum
	name := fmt.Sprintf("controller-%d", id)
	tell := func(after time.Duration, e trace.Event) {
		e.T, e.Node = now+int64(after), name
		c.events = append(c.events, e)
	}
	if q.removed[id] {
		for range q.elections {
			c.epoch++
			tell(0, trace.Event{Kind: trace.QuorumCampaigns, Epoch: c.epoch, N: 1})
			tell(q.stall, trace.Event{Kind: trace.ControllerElected, Epoch: c.epoch})
		}
		c.servesFrom = now + int64(q.stall)
		if q.settle > 0 {
			tell(q.settle, trace.Event{Kind: trace.QuorumFollows, Epoch: c.epoch, N: 1})
		}
		return
	}
	tell(q.found, trace.Event{Kind: trace.QuorumFollows, Epoch: c.epoch, Messages: 10, Bytes: 1000, RoundTrips: 3})
	tell(q.found, trace.Event{Kind: trace.QuorumTruncated, Epoch: c.epoch, Offset: q.end - 5, N: q.dropped, Messages: 12, Bytes: 1200, RoundTrips: 4})
	tell(q.found+q.agree/2, trace.Event{Kind: trace.QuorumDurable, Epoch: c.epoch, Offset: q.end - 1, Messages: 14, Bytes: 3000, RoundTrips: 4})
	tell(q.found+q.agree, trace.Event{Kind: trace.QuorumDurable, Epoch: c.epoch, Offset: q.end, Messages: 16, Bytes: 5000, RoundTrips: 5})
}

func (c *fakeCluster) describeQuorum(kmsg.Request) kmsg.Response {
	resp := kmsg.NewPtrDescribeQuorumResponse()
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	leader, _ := at(c.controller, trace.Now())
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = int32(leader), int32(c.epoch), c.quorum.end
	for _, n := range c.nodes {
		if n.broker || c.quorum.removed[n.ID] {
			continue
		}
		v := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		v.ReplicaID = int32(n.ID)
		p.CurrentVoters = append(p.CurrentVoters, v)
		node := kmsg.NewDescribeQuorumResponseNode()
		l := kmsg.NewDescribeQuorumResponseNodeListener()
		host, port, _ := net.SplitHostPort(n.Addr)
		l.Name, l.Host = "CONTROLLER", host
		_, _ = fmt.Sscan(port, &l.Port)
		node.NodeID, node.Listeners = int32(n.ID), append(node.Listeners, l)
		resp.Nodes = append(resp.Nodes, node)
	}
	t := kmsg.NewDescribeQuorumResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp
}

func (c *fakeCluster) updateFeatures(req kmsg.Request) kmsg.Response {
	c.quorum.level = req.(*kmsg.UpdateFeaturesRequest).FeatureUpdates[0].MaxVersionLevel
	return kmsg.NewPtrUpdateFeaturesResponse()
}

func (c *fakeCluster) removeVoter(req kmsg.Request) kmsg.Response {
	resp := kmsg.NewPtrRemoveRaftVoterResponse()
	id := kafka.BrokerID(req.(*kmsg.RemoveRaftVoterRequest).VoterID)
	switch {
	case c.quorum.level < 1:
		resp.ErrorCode = int16(kafka.UnsupportedVersion)
	case c.quorum.removed[id]:
		resp.ErrorCode = int16(kafka.VoterNotFound)
	default:
		c.quorum.removed[id] = true
	}
	return resp
}

func (c *fakeCluster) addVoter(req kmsg.Request) kmsg.Response {
	resp := kmsg.NewPtrAddRaftVoterResponse()
	r := req.(*kmsg.AddRaftVoterRequest)
	if len(r.Listeners) == 0 || !c.quorum.removed[kafka.BrokerID(r.VoterID)] {
		resp.ErrorCode = int16(kafka.InvalidRequest)
	}
	delete(c.quorum.removed, kafka.BrokerID(r.VoterID))
	return resp
}
