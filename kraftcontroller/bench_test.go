package kraftcontroller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// BenchmarkCreateTopics creates 90 topics of 100 partitions in each request,
// replication 3, at three controllers on one disk: just under the limit of
// 10,000 records an operation. One operation is one request.
func BenchmarkCreateTopics(b *testing.B) {
	cl := newCluster(b, 3, func(c *Config) {
		c.Raft.FetchTimeout, c.Raft.RequestTimeout, c.Machine.SessionTimeout = 5*time.Second, 5*time.Second, 30*time.Second
	})
	for id := range kafka.BrokerID(3) {
		cl.broker(id + 1)
	}
	conn, err := wire.Dial(context.Background(), cl.addr(cl.active(-1).id), wire.DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	n := 0
	for b.Loop() {
		req := createTopics(fmt.Sprintf("t-%d-0", n), 100, 3)
		for i := range 89 {
			req.Topics = append(req.Topics, createTopics(fmt.Sprintf("t-%d-%d", n, i+1), 100, 3).Topics...)
		}
		n++
		resp, err := conn.Request(context.Background(), req)
		if err != nil {
			b.Fatal(err)
		}
		for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if t.ErrorCode != 0 {
				b.Fatal(kafka.ErrorCode(t.ErrorCode))
			}
		}
	}
	b.ReportMetric(float64(n*9000)/b.Elapsed().Seconds(), "partitions/s")
}

// BenchmarkCommittedChange is one small change from its request to its answer,
// with no linger: decision, fsync, fetch, fsync, fetch.
func BenchmarkCommittedChange(b *testing.B) {
	cl := newCluster(b, 3, nil)
	cl.broker(1)
	conn, err := wire.Dial(context.Background(), cl.addr(cl.active(-1).id), wire.DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	n := 0
	for b.Loop() {
		n++
		if _, err := conn.Request(context.Background(), createTopics(fmt.Sprint("t-", n), 1, 1)); err != nil {
			b.Fatal(err)
		}
	}
}
