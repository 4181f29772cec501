package zkcontroller

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// longName is a topic name of the greatest length.
func longName(i int) string {
	name := fmt.Sprintf("%06d-", i)
	return name + strings.Repeat("n", 249-len(name))
}

// Topics with names of the greatest length, until the list of all is as long as
// a reply may be: the next one is refused by the limit's name before anything is
// written. Watches that take several requests to arm again outlive a lost
// connection, a change made meanwhile included, and the next controller loads
// all. KBENCH_LONG_NAMES=100000 does it with so many, far beyond 1 MiB for the
// list and for the watches, and prints what it took.
func TestLongNames(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("KBENCH_LONG_NAMES"))
	limit, within := 0, 10*time.Minute
	if n == 0 {
		n, limit, within = 700, 700*(4+249)+replyHeader+100, patience
	}
	c := newCluster(t)
	tune := func(cfg *Config) { cfg.MaxReplyBytes = limit }
	b1, b2 := c.start(1, true, tune), c.start(2, true, tune)
	a := c.active()
	c.eventually("both are known", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.live) == 2 })
	create := func(from, to int) []kmsg.CreateTopicsResponseTopic {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 120_000
		for i := from; i < to; i++ {
			topic := kmsg.NewCreateTopicsRequestTopic()
			topic.Topic, topic.NumPartitions, topic.ReplicationFactor = longName(i), 1, 1
			req.Topics = append(req.Topics, topic)
		}
		return c.askFor(a, req, 7, within).(*kmsg.CreateTopicsResponse).Topics
	}
	began := time.Now()
	for i := 0; i < n; i += 350 {
		for _, got := range create(i, min(i+350, n)) {
			if got.ErrorCode != 0 {
				t.Fatalf("%s: %v %s", got.Topic, kafka.ErrorCode(got.ErrorCode), *got.ErrorMessage)
			}
		}
	}
	t.Logf("%d topics with names of 249 characters: created in %v, their list takes %d bytes", n, time.Since(began).Round(time.Millisecond), n*(4+249))
	if limit > 0 {
		got := create(n, n+1)[0]
		if kafka.ErrorCode(got.ErrorCode) != kafka.PolicyViolation || !strings.Contains(*got.ErrorMessage, "MaxReplyBytes") || !strings.Contains(*got.ErrorMessage, strconv.Itoa(limit-replyHeader)) {
			t.Errorf("%v %v", kafka.ErrorCode(got.ErrorCode), got.ErrorMessage)
		}
		for _, path := range []string{zk.TopicPath(longName(n)), zk.EntityConfigPath(zk.TopicConfigs, longName(n))} {
			if c.zk.Do(t.Context(), zk.Exists(path)).Exists {
				t.Errorf("%s was written all the same", path)
			}
		}
	}

	// A partition is added by hand while the watches are not armed.
	began = time.Now()
	a.isolate(true)
	grow := func(i int) {
		path := zk.TopicPath(longName(i))
		topic, err := zk.DecodeTopic(c.zk.Do(t.Context(), zk.Get(path)).Data)
		if err != nil {
			t.Fatal(err)
		}
		topic.Partitions[1] = zk.Assignment{Replicas: []kafka.BrokerID{1}}
		c.put(zk.Set(path, zk.EncodeTopic(topic), zk.AnyVersion))
	}
	grow(0)
	grow(n - 1)
	a.isolate(false)
	c.eventuallyIn(within, "the partitions added during the gap are led", func() bool {
		first, _, _ := b2.leader(longName(0), 1)
		last, _, _ := b2.leader(longName(n-1), 1)
		return first == 1 && last == 1
	})
	t.Logf("connection lost and watches armed again: %v", time.Since(began).Round(time.Millisecond))

	began = time.Now()
	next := b1
	if a == b1 {
		next = b2
	}
	if err := a.controller.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.eventuallyIn(within, "a controller of the next epoch is active", func() bool {
		_, e := next.controllerSeen()
		return e >= 2 && (a.controller.Active() || next.controller.Active())
	})
	t.Logf("the next controller has loaded all: %v", time.Since(began).Round(time.Millisecond))
	a = c.active()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = 120_000, []string{longName(n - 1)}
	if got := c.askFor(a, req, 5, within).(*kmsg.DeleteTopicsResponse).Topics[0]; got.ErrorCode != 0 {
		t.Errorf("delete: %v", kafka.ErrorCode(got.ErrorCode))
	}
	c.eventuallyIn(within, "the topic is gone", func() bool {
		return !c.zk.Do(context.Background(), zk.Exists(zk.TopicPath(longName(n-1)))).Exists
	})
	if limit > 0 {
		if got := create(n, n+1)[0]; got.ErrorCode != 0 {
			t.Errorf("there is room again, but: %v %s", kafka.ErrorCode(got.ErrorCode), *got.ErrorMessage)
		}
	}
}
