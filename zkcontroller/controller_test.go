package zkcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/ibp"
	"kbench/zkcontroller/zk"
)

// ZK-01: the epoch is kept while all are down and grows by one with each
// controller; /controller belongs to a live session.
func TestControllerEpoch(t *testing.T) {
	c := newCluster(t)
	epoch := func() string {
		return string(c.zk.Do(context.Background(), zk.Get(zk.ControllerEpochPath)).Data)
	}
	b := c.start(1, true)
	c.active()
	if got := epoch(); got != "1" {
		t.Fatalf("epoch %q, want 1", got)
	}
	if r := c.zk.Do(context.Background(), zk.Get(zk.ControllerPath)); r.Err != nil || r.Owner == 0 {
		t.Fatalf("%+v", r)
	}
	b.kill()
	if got := epoch(); got != "1" {
		t.Fatalf("epoch %q with all down, want 1", got)
	}
	if r := c.zk.Do(context.Background(), zk.Exists(zk.ControllerPath)); r.Exists {
		t.Fatal("/controller outlives its controller")
	}
	c.start(1, true)
	c.active()
	if got := epoch(); got != "2" {
		t.Fatalf("epoch %q after the restart, want 2", got)
	}
}

func TestCreateShutdownRestart(t *testing.T) {
	c := newCluster(t)
	b0, b1, b2 := c.start(10, true), c.start(11, true), c.start(12, true)
	for _, b := range []*testBroker{b0, b1, b2} {
		c.eventually("all brokers are known", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.live) == 3 })
	}
	c.create("t", []int32{10, 11, 12}, []int32{11, 12, 10})
	c.converged("t", 0, 10, 10, 11, 12)
	// ZK-04: a stale broker epoch is refused.
	if r := c.shutdown(b2, b2.epoch-1); kafka.ErrorCode(r.ErrorCode) != kafka.StaleBrokerEpoch {
		t.Fatalf("stale epoch: %v", kafka.ErrorCode(r.ErrorCode))
	}
	// ZK-06: remaining 0, 0, then 1.
	for _, step := range []struct {
		b    *testBroker
		left int
		isr  []kafka.BrokerID
	}{{b2, 0, []kafka.BrokerID{10, 11}}, {b1, 0, []kafka.BrokerID{10}}, {b0, 2, []kafka.BrokerID{10}}} {
		r := c.shutdown(step.b, step.b.epoch)
		if r.ErrorCode != 0 || len(r.PartitionsRemaining) != step.left {
			t.Fatalf("shutdown of %d: %v, %d left", step.b.id, kafka.ErrorCode(r.ErrorCode), len(r.PartitionsRemaining))
		}
		if s, _ := c.state("t", 0); s.Leader != 10 || !slices.Equal(s.ISR, step.isr) {
			t.Fatalf("after the shutdown of %d: %+v", step.b.id, s)
		}
	}
	b2.kill()
	b2 = c.start(12, true)
	c.eventually("the restarted broker is told its role", func() bool {
		b2.mu.Lock()
		defer b2.mu.Unlock()
		return b2.roles[kafka.TopicPartition{Topic: "t"}].Leader == 10
	})
}

func TestBrokerFailureAndFailover(t *testing.T) {
	c := newCluster(t)
	short := func(cfg *Config) { cfg.SessionTimeout = brief }
	c.start(1, true, short)
	c.start(2, true, short)
	first := c.active()
	second := c.brokers[3-first.id]
	third := c.start(3, false)
	c.create("t", []int32{3, int32(second.id), int32(first.id)})
	third.kill()
	c.converged("t", 0, int32(second.id), int32(second.id), int32(first.id))
	// Deleting /controller makes the controller resign and another election.
	if r := c.zk.Do(context.Background(), zk.Delete(zk.ControllerPath, zk.AnyVersion)); r.Err != nil {
		t.Fatal(r.Err)
	}
	c.eventually("everybody has epoch 2", func() bool {
		for _, b := range c.brokers {
			if _, e := b.controllerSeen(); e != 2 {
				return false
			}
		}
		return true
	})
	now := c.active()
	// A clean hand-over.
	if err := now.controller.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.eventually("everybody has epoch 3", func() bool {
		for _, b := range c.brokers {
			if _, e := b.controllerSeen(); e != 3 {
				return false
			}
		}
		return true
	})
	// The active one is cut off from ZooKeeper: its session expires, the other
	// takes over, and it comes back as a candidate.
	now = c.active()
	other := c.brokers[3-now.id]
	now.isolate(true)
	c.eventually("the other candidate is active", func() bool { return other.controller.Active() })
	now.isolate(false)
	c.eventually("the isolated one has resigned", func() bool { return !now.controller.Active() })
	kinds := other.kinds()
	i := slices.Index(kinds, trace.ControllerDetected)
	if want := []trace.Kind{trace.ControllerDetected, trace.ControllerElected, trace.ControllerLoaded, trace.ControllerActive}; i < 0 || !slices.Equal(kinds[len(kinds)-4:], want) {
		t.Errorf("trace of the successor: %v", kinds)
	}
	c.eventually("the isolated one traces its resignation", func() bool { return slices.Contains(now.kinds(), trace.ControllerResigned) })
	c.create("u", []int32{int32(other.id), int32(now.id)})
	if err := other.controller.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.active()
}

// Every election but the first has its detection in the trace, whoever wins and
// however the former controller ended.
func TestEveryElectionIsDetected(t *testing.T) {
	c := newCluster(t)
	b := c.start(1, true, func(cfg *Config) { cfg.SessionTimeout = brief })
	c.active()
	end := func(epoch int32, how func()) {
		t.Helper()
		how()
		c.eventually(fmt.Sprintf("epoch %d is held", epoch), func() bool { _, e := b.controllerSeen(); return e == epoch && b.controller.Active() })
	}
	end(2, func() { c.put(zk.Delete(zk.ControllerPath, zk.AnyVersion)) })
	end(3, func() {
		if err := b.controller.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	end(4, func() { // its session expires, it is its own successor
		b.isolate(true)
		c.eventually("/controller is gone", func() bool { return !c.zk.Do(t.Context(), zk.Exists(zk.ControllerPath)).Exists })
		b.isolate(false)
	})
	detected, elected := 0, 0
	for _, k := range b.kinds() {
		switch k {
		case trace.ControllerDetected:
			detected++
		case trace.ControllerElected:
			if elected++; detected != elected-1 {
				t.Fatalf("%d detections before election %d: %v", detected, elected, b.kinds())
			}
		}
	}
	if elected != 4 {
		t.Errorf("%d elections", elected)
	}
}

func TestAdminRequests(t *testing.T) {
	c := newCluster(t)
	c.start(1, true)
	c.active()
	c.start(2, true)
	b3 := c.start(3, false)
	c.create("t", []int32{1, 2, 3})
	a := c.active()
	t.Run("not controller", func(t *testing.T) {
		req := kmsg.NewPtrCreateTopicsRequest()
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic = "x"
		req.Topics = append(req.Topics, topic)
		if r := c.ask(c.brokers[2], req, 7).(*kmsg.CreateTopicsResponse); kafka.ErrorCode(r.Topics[0].ErrorCode) != kafka.NotController {
			t.Errorf("%+v", r)
		}
	})
	t.Run("create by placement", func(t *testing.T) {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = int32(patience.Milliseconds())
		for i := range 5 {
			topic := kmsg.NewCreateTopicsRequestTopic()
			topic.Topic, topic.NumPartitions, topic.ReplicationFactor = fmt.Sprintf("p%d", i), 10, 3
			topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: kmsg.StringPtr("5")}}
			req.Topics = append(req.Topics, topic)
		}
		r := c.ask(a, req, 7).(*kmsg.CreateTopicsResponse)
		for _, x := range r.Topics {
			if x.ErrorCode != 0 || x.NumPartitions != 10 || x.ReplicationFactor != 3 || x.TopicID == [16]byte{} {
				t.Errorf("%+v", x)
			}
		}
		// The answer comes when the controller's own broker knows the leaders.
		a.mu.Lock()
		n := len(a.meta)
		a.mu.Unlock()
		if n != 51 {
			t.Errorf("the controller's broker knows %d partitions, want 51", n)
		}
		if cfg, err := c.zk.ReadConfig(t.Context(), zk.TopicConfigs, "p0"); err != nil || cfg["retention.ms"] != "5" {
			t.Error(cfg, err)
		}
	})
	t.Run("time-out", func(t *testing.T) {
		a.mu.Lock()
		a.broken = true
		a.mu.Unlock()
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 50
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "late", 1, 1
		req.Topics = append(req.Topics, topic)
		r := c.ask(a, req, 7).(*kmsg.CreateTopicsResponse)
		a.mu.Lock()
		a.broken = false
		a.mu.Unlock()
		if kafka.ErrorCode(r.Topics[0].ErrorCode) != kafka.RequestTimedOut {
			t.Errorf("%+v", r.Topics[0])
		}
		c.eventually("it is created all the same", func() bool { _, _, isr := b3.leader("late", 0); return isr != nil })
	})
	t.Run("create partitions", func(t *testing.T) {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis = int32(patience.Milliseconds())
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 3}}
		if r := c.ask(a, req, 3).(*kmsg.CreatePartitionsResponse); r.Topics[0].ErrorCode != 0 {
			t.Fatalf("%+v", r.Topics[0])
		}
		c.eventually("all know it", func() bool { _, _, isr := b3.leader("t", 2); return len(isr) == 3 })
	})
	t.Run("alter partition", func(t *testing.T) {
		s, version := c.state("t", 0)
		req := kmsg.NewPtrAlterPartitionRequest()
		req.BrokerID, req.BrokerEpoch = 1, int64(c.brokers[1].epoch)
		id := c.topicID("t")
		req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: id, Partitions: []kmsg.AlterPartitionRequestTopicPartition{{
			LeaderEpoch: int32(s.LeaderEpoch), PartitionEpoch: version,
			NewEpochISR: []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{{BrokerID: 1, BrokerEpoch: int64(c.brokers[1].epoch)}, {BrokerID: 3, BrokerEpoch: int64(b3.epoch)}},
		}}}}
		r := c.ask(a, req, 3).(*kmsg.AlterPartitionResponse)
		if r.ErrorCode != 0 || r.Topics[0].Partitions[0].ErrorCode != 0 || r.Topics[0].Partitions[0].PartitionEpoch != version+1 {
			t.Fatalf("%+v", r)
		}
		c.converged("t", 0, 1, 1, 3)
	})
	t.Run("elect leaders", func(t *testing.T) {
		req := kmsg.NewPtrElectLeadersRequest()
		req.TimeoutMillis = int32(patience.Milliseconds())
		req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0, 9}}}
		r := c.ask(a, req, 2).(*kmsg.ElectLeadersResponse)
		got := map[int32]kafka.ErrorCode{}
		for _, p := range r.Topics[0].Partitions {
			got[p.Partition] = kafka.ErrorCode(p.ErrorCode)
		}
		if got[0] != kafka.ElectionNotNeeded || got[9] != kafka.UnknownTopicOrPartition {
			t.Errorf("%v", got)
		}
	})
	t.Run("producer ids", func(t *testing.T) {
		req := kmsg.NewPtrAllocateProducerIDsRequest()
		req.BrokerID, req.BrokerEpoch = 3, int64(b3.epoch)
		for i := range int64(2) {
			r := c.ask(a, req, 0).(*kmsg.AllocateProducerIDsResponse)
			if r.ErrorCode != 0 || r.ProducerIDStart != i*1000 || r.ProducerIDLen != 1000 {
				t.Fatalf("%+v", r)
			}
		}
		req.BrokerEpoch++
		if r := c.ask(a, req, 0).(*kmsg.AllocateProducerIDsResponse); kafka.ErrorCode(r.ErrorCode) != kafka.StaleBrokerEpoch {
			t.Errorf("%+v", r)
		}
	})
	t.Run("delete", func(t *testing.T) {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TimeoutMillis = int32(patience.Milliseconds())
		req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("t")}, {TopicID: c.topicID("p1")}, {Topic: kmsg.StringPtr("nope")}}
		r := c.ask(a, req, 6).(*kmsg.DeleteTopicsResponse)
		if r.Topics[0].ErrorCode != 0 || r.Topics[1].ErrorCode != 0 || *r.Topics[1].Topic != "p1" || kafka.ErrorCode(r.Topics[2].ErrorCode) != kafka.UnknownTopicOrPartition {
			t.Fatalf("%+v", r)
		}
		c.eventually("its znodes are gone", func() bool {
			d := c.zk.Do(t.Context(), zk.Children(zk.DeleteTopicsPath))
			return !c.zk.Do(t.Context(), zk.Exists(zk.TopicPath("t"))).Exists && len(d.Children) == 0
		})
		if r := c.zk.Do(t.Context(), zk.Exists(zk.EntityConfigPath(zk.TopicConfigs, "t"))); r.Exists {
			t.Error("its configuration is left")
		}
		c.create("t", []int32{3}) // the name is free again
	})
}

func (c *cluster) topicID(topic string) kafka.UUID {
	c.t.Helper()
	r := c.zk.Do(context.Background(), zk.Get(zk.TopicPath(topic)))
	if r.Err != nil {
		c.t.Fatal(r.Err)
	}
	a, err := zk.DecodeTopic(r.Data)
	if err != nil {
		c.t.Fatal(err)
	}
	return a.ID
}

// ZK-09: preferred election by znode; the znode goes.
func TestPreferredElectionByZnode(t *testing.T) {
	c := newCluster(t)
	c.start(1, true)
	c.active()
	b2 := c.start(2, false)
	c.eventually("2 is known", func() bool { b2.mu.Lock(); defer b2.mu.Unlock(); return len(b2.live) == 2 })
	c.create("t", []int32{2, 1})
	b2.kill()
	c.converged("t", 0, 1, 1)
	tps := []kafka.TopicPartition{{Topic: "t"}}
	elect := func() {
		t.Helper()
		if r := c.zk.Do(t.Context(), zk.Create(zk.PreferredPath, zk.EncodePartitionSet(tps))); r.Err != nil {
			t.Fatal(r.Err)
		}
		c.eventually("the znode is removed", func() bool { return !c.zk.Do(t.Context(), zk.Exists(zk.PreferredPath)).Exists })
	}
	before, _ := c.state("t", 0)
	elect()
	if after, _ := c.state("t", 0); after.Leader != before.Leader || after.LeaderEpoch != before.LeaderEpoch {
		t.Fatalf("the preferred replica is down, yet %+v became %+v", before, after)
	}
	b2 = c.start(2, false)
	c.eventually("2 follows", func() bool { b2.mu.Lock(); defer b2.mu.Unlock(); return len(b2.roles) == 1 })
	s, version := c.state("t", 0)
	req := kmsg.NewPtrAlterPartitionRequest()
	req.BrokerID, req.BrokerEpoch = 1, int64(c.brokers[1].epoch)
	req.Topics = []kmsg.AlterPartitionRequestTopic{{Topic: "t", Partitions: []kmsg.AlterPartitionRequestTopicPartition{{LeaderEpoch: int32(s.LeaderEpoch), PartitionEpoch: version, NewISR: []int32{1, 2}}}}}
	if r := c.ask(c.active(), req, 0).(*kmsg.AlterPartitionResponse); r.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("%+v", r)
	}
	elect()
	c.converged("t", 0, 2, 1, 2)
	if after, _ := c.state("t", 0); after.LeaderEpoch != before.LeaderEpoch+1 {
		t.Errorf("leader epoch %d after %d", after.LeaderEpoch, before.LeaderEpoch)
	}
}

// A queue that a slow broker lets overflow is dropped, and the broker is sent
// everything anew.
func TestSlowBrokerIsResynchronised(t *testing.T) {
	c := newCluster(t)
	c.start(1, true)
	a := c.active()
	b := c.start(2, false)
	c.eventually("2 is known", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.live) == 2 })
	b.mu.Lock()
	b.broken = true
	b.mu.Unlock()
	c.create("t", []int32{1, 2})
	marks := 0
	s := a.controller.senderOf(2)
	s.put(request{mark: true, answered: func(kmsg.Response) { marks++ }})
	for range maxQueued + 1 { // as the event thread would
		s.put(request{build: func() kmsg.Request { return kmsg.NewPtrUpdateMetadataRequest() }})
	}
	if marks != 1 {
		t.Errorf("%d marks were answered, want 1", marks)
	}
	b.mu.Lock()
	b.broken = false
	b.mu.Unlock()
	c.converged("t", 0, 1, 1, 2)
	c.eventually("2 is told its role", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.roles) == 1 })
}

// A broker that registers anew between two looks is told its replicas again,
// also where the protocol is too old for requests to carry broker epochs.
func TestBouncedBrokerOfOldProtocol(t *testing.T) {
	c := newCluster(t)
	old, err := ibp.Parse("0.10.2")
	if err != nil {
		t.Fatal(err)
	}
	c.start(1, true, func(cfg *Config) { cfg.Protocol = old })
	c.active()
	b := c.start(2, false)
	b.mu.Lock()
	b.epoch = kafka.NoBrokerEpoch // as the requests
	b.mu.Unlock()
	c.create("t", []int32{1, 2})
	told := func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.roles) == 1 }
	c.eventually("2 is told its role", told)
	b.mu.Lock()
	clear(b.roles)
	b.mu.Unlock()

	conn, events, err := gozk.Connect([]string{c.addr}, lasting, gozk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		for range events { // to the end of the connection
		}
	}()
	path := zk.BrokerPath(2)
	data, _, err := conn.Get(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Multi(
		&gozk.DeleteRequest{Path: path, Version: zk.AnyVersion},
		&gozk.CreateRequest{Path: path, Data: data, Acl: gozk.WorldACL(gozk.PermAll), Flags: gozk.FlagEphemeral},
	); err != nil {
		t.Fatal(err)
	}
	c.eventually("2 is told its role again", told)
}

// Session expiry empties the queue; what waited in it is refused at once.
func TestExpiryPreempts(t *testing.T) {
	c := newCluster(t)
	c.start(1, true)
	a := c.active()
	done := make(chan error) // nobody reads it for now
	if err := a.controller.queue.put(event{kind: resignEvent, done: done}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the event thread is busy with it", func() bool {
		a.controller.queue.mu.Lock()
		defer a.controller.queue.mu.Unlock()
		return !slices.ContainsFunc(a.controller.queue.events, func(e event) bool { return e.done != nil })
	})
	id, ch, _ := a.controller.calls.begin()
	if err := a.controller.queue.put(event{input: shutdownInput(id)}); err != nil {
		t.Fatal(err)
	}
	a.controller.onEvent(zk.Event{Kind: zk.Expired})
	select {
	case r := <-ch:
		if !r.Final || !strings.Contains(fmt.Sprint(r.Body), "STALE_CONTROLLER_EPOCH") {
			t.Errorf("%+v", r)
		}
	case <-time.After(patience):
		t.Error("the call is not refused")
	}
	<-done
}

func TestBadConfig(t *testing.T) {
	for _, cfg := range []Config{{}, {ID: -1, Servers: []string{"x"}}, {ID: 1, Servers: []string{"x"}, SocketTimeout: -1}, {ID: 1, Servers: []string{"x"}, MaxInFlight: -1}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v gave no error", cfg)
		}
	}
}
