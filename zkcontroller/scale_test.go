package zkcontroller

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// TestScale creates, shuts down, kills and fails over at the number of
// partitions that KBENCH_SCALE names, and tells the live heap of the whole test
// process, the store within it. It is skipped otherwise: 100,000 take a minute.
func TestScale(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("KBENCH_SCALE"))
	if n == 0 {
		t.Skip("SKIPPED: set KBENCH_SCALE to a number of partitions, for example 100000")
	}
	c := newCluster(t)
	dedicated := func(cfg *Config) { cfg.Dedicated = []kafka.BrokerID{9} }
	c.start(9, true, dedicated)
	c.active()
	for id := range kafka.BrokerID(3) {
		c.start(id+1, false)
	}
	c.eventually("all are known", func() bool {
		b := c.brokers[9]
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.live) == 4
	})
	base := heap()
	start := time.Now()
	for made := 0; made < n; {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 120_000
		for made < n && len(req.Topics) < 50 {
			topic := kmsg.NewCreateTopicsRequestTopic()
			topic.Topic, topic.NumPartitions, topic.ReplicationFactor = fmt.Sprintf("topic-%06d", made/100), int32(min(100, n-made)), 3
			req.Topics = append(req.Topics, topic)
			made += 100
		}
		r := c.askFor(c.active(), req, 7, 2*time.Minute).(*kmsg.CreateTopicsResponse)
		for _, x := range r.Topics {
			if x.ErrorCode != 0 {
				t.Fatalf("%s: %v", x.Topic, kafka.ErrorCode(x.ErrorCode))
			}
		}
	}
	took := time.Since(start)
	t.Logf("created %d partitions in %v: %.0f/s", n, took, float64(n)/took.Seconds())
	for _, b := range c.brokers { // what the test itself keeps is not the controller's
		b.mu.Lock()
		clear(b.meta)
		clear(b.roles)
		b.mu.Unlock()
	}
	t.Logf("live heap with the embedded store: %d B a partition", (heap()-base)/int64(n))

	victim := c.brokers[1]
	start = time.Now()
	req := kmsg.NewPtrControlledShutdownRequest()
	req.BrokerID, req.BrokerEpoch = 1, int64(victim.epoch)
	if r := c.askFor(c.active(), req, 3, 5*time.Minute).(*kmsg.ControlledShutdownResponse); r.ErrorCode != 0 || len(r.PartitionsRemaining) > 0 {
		t.Fatalf("%v, %d remain", kafka.ErrorCode(r.ErrorCode), len(r.PartitionsRemaining))
	}
	t.Logf("controlled shutdown granted in %v", time.Since(start))

	victim = c.brokers[2]
	start = time.Now()
	victim.session.Close(context.Background())
	c.eventuallyIn(5*time.Minute, "leaders have left the dead broker", func() bool {
		s, _ := c.state(fmt.Sprintf("topic-%06d", (n-1)/100), int32((n-1)%100))
		return !slices.Contains(s.ISR, 2)
	})
	t.Logf("last partition written without the dead broker after %v", time.Since(start))

	start = time.Now()
	if r := c.zk.Do(context.Background(), zk.Delete(zk.ControllerPath, zk.AnyVersion)); r.Err != nil {
		t.Fatal(r.Err)
	}
	c.eventuallyIn(5*time.Minute, "the next epoch is active", func() bool {
		_, e := c.brokers[3].controllerSeen()
		return e == 2 && c.brokers[9].controller.Active()
	})
	t.Logf("failover after a clean hand-over in %v", time.Since(start))
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
