package zkcontroller

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// reassign asks for one partition's replicas; none cancels.
func (c *cluster) reassign(topic string, p int32, replicas ...int32) kafka.ErrorCode {
	c.t.Helper()
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis = int32(patience.Milliseconds())
	part := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	part.Partition, part.Replicas = p, replicas
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{part}}}
	r := c.ask(c.active(), req, 0).(*kmsg.AlterPartitionAssignmentsResponse)
	if r.ErrorCode != 0 {
		c.t.Fatalf("%+v", r)
	}
	return kafka.ErrorCode(r.Topics[0].Partitions[0].ErrorCode)
}

func (c *cluster) reassigning() []kmsg.ListPartitionReassignmentsResponseTopic {
	c.t.Helper()
	r := c.ask(c.active(), kmsg.NewPtrListPartitionReassignmentsRequest(), 0).(*kmsg.ListPartitionReassignmentsResponse)
	if r.ErrorCode != 0 {
		c.t.Fatalf("%+v", r)
	}
	return r.Topics
}

// grow makes the leader of a partition ask for an ISR.
func (c *cluster) grow(topic string, p int32, isr ...int32) {
	c.t.Helper()
	s, version := c.state(topic, p)
	req := kmsg.NewPtrAlterPartitionRequest()
	req.BrokerID, req.BrokerEpoch = int32(s.Leader), int64(c.brokers[s.Leader].epoch)
	req.Topics = []kmsg.AlterPartitionRequestTopic{{Topic: topic, Partitions: []kmsg.AlterPartitionRequestTopicPartition{{
		Partition: p, LeaderEpoch: int32(s.LeaderEpoch), PartitionEpoch: version, NewISR: isr,
	}}}}
	if r := c.ask(c.active(), req, 1).(*kmsg.AlterPartitionResponse); r.ErrorCode != 0 || r.Topics[0].Partitions[0].ErrorCode != 0 {
		c.t.Fatalf("%+v", r)
	}
}

func (c *cluster) assignment(topic string, p int32) zk.Assignment {
	c.t.Helper()
	r := c.zk.Do(c.t.Context(), zk.Get(zk.TopicPath(topic)))
	if r.Err != nil {
		c.t.Fatal(r.Err)
	}
	a, err := zk.DecodeTopic(r.Data)
	if err != nil {
		c.t.Fatal(err)
	}
	return a.Partitions[p]
}

func startThree(t *testing.T) (c *cluster, b3 *testBroker) {
	t.Helper()
	c = newCluster(t)
	c.start(1, true)
	c.active()
	c.start(2, true)
	b3 = c.start(3, false)
	c.eventually("3 knows all", func() bool { b3.mu.Lock(); defer b3.mu.Unlock(); return len(b3.live) == 3 })
	return c, b3
}

func TestReassignment(t *testing.T) {
	c, b3 := startThree(t)
	c.create("t", []int32{1, 2}, []int32{1, 2})
	tp := kafka.TopicPartition{Topic: "t"}
	for _, bad := range []struct {
		p        int32
		replicas []int32
		code     kafka.ErrorCode
	}{
		{9, []int32{1}, kafka.UnknownTopicOrPartition},
		{0, []int32{1, 1}, kafka.InvalidReplicaAssignment},
		{0, []int32{7}, kafka.InvalidReplicaAssignment},
		{0, nil, kafka.NoReassignmentInProgress},
	} {
		if got := c.reassign("t", bad.p, bad.replicas...); got != bad.code {
			t.Errorf("%d to %v: %v, want %v", bad.p, bad.replicas, got, bad.code)
		}
	}
	if code := c.reassign("t", 0, 3, 2); code != kafka.None {
		t.Fatal(code)
	}
	c.eventually("3 is told of its new replica", func() bool { b3.mu.Lock(); defer b3.mu.Unlock(); return b3.roles[tp].IsNew })
	if r := c.reassigning(); len(r) != 1 || len(r[0].Partitions) != 1 || r[0].Partitions[0].AddingReplicas[0] != 3 || r[0].Partitions[0].RemovingReplicas[0] != 1 {
		t.Fatalf("%+v", r)
	}
	b1 := c.brokers[1]
	c.grow("t", 0, 1, 2, 3)
	c.converged("t", 0, 3, 2, 3)
	if a := c.assignment("t", 0); len(a.Adding)+len(a.Removing) > 0 || len(a.Replicas) != 2 || a.Replicas[0] != 3 {
		t.Errorf("%+v", a)
	}
	if r := c.reassigning(); len(r) != 0 {
		t.Errorf("%+v", r)
	}
	c.eventually("1 has dropped its replica", func() bool { b1.mu.Lock(); defer b1.mu.Unlock(); _, has := b1.roles[tp]; return !has })
	// Cancel.
	if code := c.reassign("t", 1, 3); code != kafka.None {
		t.Fatal(code)
	}
	if code := c.reassign("t", 1); code != kafka.None {
		t.Fatal(code)
	}
	if a := c.assignment("t", 1); len(a.Adding)+len(a.Removing) > 0 || len(a.Replicas) != 2 || a.Replicas[0] != 1 {
		t.Errorf("%+v", a)
	}
}

// A tool writes /admin/reassign_partitions, the controller dies, the next one
// finishes and removes the znode.
func TestReassignmentByZnodeAcrossFailover(t *testing.T) {
	c, b3 := startThree(t)
	c.create("t", []int32{2, 3})
	ask := func(rs ...zk.Reassignment) {
		t.Helper()
		if r := c.zk.Do(t.Context(), zk.Create(zk.ReassignPath, zk.EncodeReassignments(rs))); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	gone := func() bool { return !c.zk.Do(t.Context(), zk.Exists(zk.ReassignPath)).Exists }
	tp := kafka.TopicPartition{Topic: "t"}
	ask(zk.Reassignment{Partition: kafka.TopicPartition{Topic: "nope"}, Replicas: []kafka.BrokerID{1}})
	c.eventually("what cannot be is removed", gone)
	ask(zk.Reassignment{Partition: tp, Replicas: []kafka.BrokerID{3}})
	c.eventually("one that is in sync already is done", gone)
	c.converged("t", 0, 3, 3)
	ask(zk.Reassignment{Partition: tp, Replicas: []kafka.BrokerID{2}})
	c.eventually("it has begun", func() bool { return len(c.reassigning()) == 1 })
	first := c.active()
	if err := first.controller.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.active()
	c.eventually("the next controller has it", func() bool { return len(c.reassigning()) == 1 })
	s, _ := c.state("t", 0)
	c.eventually("3 has the newest epoch", func() bool {
		b3.mu.Lock()
		defer b3.mu.Unlock()
		return b3.roles[tp].LeaderEpoch >= int32(s.LeaderEpoch)
	})
	c.grow("t", 0, 3, 2)
	c.eventually("the znode is removed", gone)
	c.converged("t", 0, 2, 2)
	if r := c.zk.Do(t.Context(), zk.Create(zk.ReassignPath, []byte("{"))); r.Err != nil {
		t.Fatal(r.Err)
	}
	c.eventually("what cannot be read is removed", gone)
}
