package zkcontroller

import (
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// delete.topic.enable=false: requests are refused with a code that the client
// knows, and what a tool writes is removed.
func TestDeletionDisabled(t *testing.T) {
	c := newCluster(t)
	b := c.start(1, true, func(cfg *Config) { cfg.NoDeletion = true })
	c.create("t", []int32{1})
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{"t"}
	for version, want := range map[int16]kafka.ErrorCode{2: kafka.InvalidRequest, 5: kafka.TopicDeletionDisabled} {
		if got := c.ask(b, req, version).(*kmsg.DeleteTopicsResponse).Topics[0]; kafka.ErrorCode(got.ErrorCode) != want {
			t.Errorf("version %d: %v, want %v", version, kafka.ErrorCode(got.ErrorCode), want)
		}
	}
	c.put(zk.Create(zk.DeleteTopicPath("t"), nil))
	c.empty(zk.DeleteTopicsPath)
	if _, _, isr := b.leader("t", 0); isr == nil {
		t.Error("the topic is gone")
	}
}

// ZK-19, ZK-37: a topic with a replica on a dead broker is ineligible; the next
// controller takes it up, and it goes when the broker is back.
func TestDeletionWaitsForBroker(t *testing.T) {
	c, b3 := startThree(t)
	c.create("t", []int32{1, 3})
	c.create("u", []int32{1, 2})
	b3.kill()
	c.converged("t", 0, 1, 1)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(patience.Milliseconds())
	req.TopicNames = []string{"t", "u"}
	r := c.ask(c.active(), req, 5).(*kmsg.DeleteTopicsResponse)
	if r.Topics[0].ErrorCode != 0 || r.Topics[1].ErrorCode != 0 {
		t.Fatalf("%+v", r)
	}
	left := func() []string { return c.zk.Do(t.Context(), zk.Children(zk.DeleteTopicsPath)).Children }
	c.eventually("only t is left to delete", func() bool { l := left(); return len(l) == 1 && l[0] == "t" })
	if err := c.active().controller.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.active()
	if l := left(); len(l) != 1 {
		t.Errorf("%v are left to delete", l)
	}
	c.start(3, false)
	c.eventually("t is gone", func() bool {
		return len(left()) == 0 && !c.zk.Do(t.Context(), zk.Exists(zk.TopicPath("t"))).Exists
	})
}

// A controller that dies while it removes a topic leaves what the next one finds
// by the topic's znode: the configuration has to go before it.
func TestTopicGoesAfterItsConfiguration(t *testing.T) {
	c := newCluster(t)
	b := c.start(1, true)
	c.create("t", []int32{1})
	paths := []string{zk.EntityConfigPath(zk.TopicConfigs, "t"), zk.TopicPath("t")}
	c.put(zk.Set(paths[0], zk.EncodeConfig(map[string]string{"retention.ms": "1"}), zk.AnyVersion))
	var mu sync.Mutex
	var gone []string
	s := c.connect(zk.Config{OnEvent: func(e zk.Event) {
		if e.Kind == zk.NodeDeleted {
			mu.Lock()
			defer mu.Unlock()
			gone = append(gone, e.Path)
		}
	}})
	for _, path := range paths {
		s.Watch(path)
		if r := s.Do(t.Context(), zk.Exists(path)); r.Err != nil || !r.Exists {
			t.Fatalf("%s: %+v", path, r)
		}
	}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = int32(patience.Milliseconds()), []string{"t"}
	c.ask(b, req, 5)
	c.eventually("both are gone", func() bool { mu.Lock(); defer mu.Unlock(); return len(gone) == 2 })
	if !slices.Equal(gone, paths) {
		t.Errorf("gone in this order: %v, want %v", gone, paths)
	}
}
