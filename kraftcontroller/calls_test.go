package kraftcontroller

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/raftclient"
)

// A request that waited for the loop longer than its client said is not begun.
func TestRequestTimesOutInTheQueue(t *testing.T) {
	c, err := New(Config{Raft: raftclient.Config{
		NodeID: 1, ClusterID: clusterID, Voters: []raftclient.Voter{{ID: 1, Host: "127.0.0.1", Port: 1}}, Dir: t.TempDir(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 1000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "t", 1, 1
	req.Topics = append(req.Topics, topic)
	// Nobody leads, so that a request which is begun is told so.
	for waited, want := range map[time.Duration]kafka.ErrorCode{999 * time.Millisecond: kafka.NotController, 1001 * time.Millisecond: kafka.RequestTimedOut} {
		id, ch := c.calls.begin()
		now := c.now()
		c.cfg.Raft.Now = func() time.Time { return c.origin.Add(now + waited) }
		if err := c.take(t.Context(), queued{machine.Request{ID: id, Body: req}, now}); err != nil {
			t.Fatal(err)
		}
		if got := kafka.ErrorCode((<-ch).body.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode); got != want {
			t.Errorf("after %v: %v, want %v", waited, got, want)
		}
	}
	if n := c.counters.timedOut.Load(); n != 1 {
		t.Errorf("%d requests timed out", n)
	}
}
