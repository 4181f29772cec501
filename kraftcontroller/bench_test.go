package kraftcontroller

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
// with no linger: decision, fsync, fetch, fsync, fetch. Beside it stand what it
// cannot do without, measured in turn with it at p50: an fsync of as many bytes
// on the same disk, and a round trip to a controller that waits for no disk. The
// excess is what the change takes above one of each.
func BenchmarkCommittedChange(b *testing.B) {
	cl := newCluster(b, 3, func(c *Config) { c.Machine.NoOpInterval = -1 })
	cl.broker(1)
	for _, fb := range cl.brokers {
		fb.stop()
	}
	cl.brokers = nil
	conn, err := wire.Dial(context.Background(), cl.addr(cl.active(-1).id), wire.DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	file, err := os.Create(filepath.Join(cl.dir, "fsync"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	var change, sync, trip []time.Duration
	timed := func(into *[]time.Duration, do func() error) {
		start := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		*into = append(*into, time.Since(start))
	}
	describe := kmsg.NewPtrDescribeClusterRequest()
	describe.Version, describe.EndpointType = 1, controllerEndpoints
	n := 0
	for b.Loop() {
		n++
		timed(&change, func() error {
			resp, err := conn.Request(context.Background(), createTopics(fmt.Sprint("t-", n), 1, 1))
			if err == nil {
				err = kafka.ErrorCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode).Err()
			}
			return err
		})
		timed(&sync, func() error {
			if _, err := file.Write(make([]byte, 200)); err != nil {
				return err
			}
			return file.Sync()
		})
		timed(&trip, func() error {
			_, err := conn.Request(context.Background(), describe)
			return err
		})
	}
	p50 := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Microseconds()) / 1000
	}
	b.ReportMetric(p50(change), "change-p50-ms")
	b.ReportMetric(p50(sync), "fsync-p50-ms")
	b.ReportMetric(p50(trip), "roundtrip-p50-ms")
	b.ReportMetric(p50(change)-p50(sync)-p50(trip), "excess-p50-ms")
}

// BenchmarkChangeBesideSnapshots is one small change after the other while the
// controllers, which hold 200,000 partitions, write snapshots of them all the
// time on the same disk.
func BenchmarkChangeBesideSnapshots(b *testing.B) {
	cl := newCluster(b, 3, func(c *Config) {
		c.Machine.NoOpInterval, c.SnapshotInterval = -1, 200*time.Millisecond
		c.Raft.FetchTimeout, c.Raft.RequestTimeout, c.Machine.SessionTimeout = 5*time.Second, 5*time.Second, time.Hour
	})
	for id := range kafka.BrokerID(3) {
		cl.broker(id + 1)
	}
	for _, fb := range cl.brokers {
		fb.stop()
	}
	cl.brokers = nil
	conn, err := wire.Dial(context.Background(), cl.addr(cl.active(-1).id), wire.DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	create := func(name string, topics int, partitions int32) {
		req := createTopics(name, partitions, 3)
		for i := range topics - 1 {
			req.Topics = append(req.Topics, createTopics(fmt.Sprint(name, "-", i), partitions, 3).Topics...)
		}
		resp, err := conn.Request(context.Background(), req)
		if err == nil {
			err = kafka.ErrorCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode).Err()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for n := range 25 {
		create(fmt.Sprint("t-", n), 80, 100)
	}
	active := cl.active(-1)
	before := active.latestSnapshot()
	var took []time.Duration
	n := 0
	for b.Loop() {
		n++
		start := time.Now()
		create(fmt.Sprint("small-", n), 1, 1)
		took = append(took, time.Since(start))
	}
	after := active.latestSnapshot()
	if b.N > 1000 && after == before {
		b.Error("no snapshot was written meanwhile")
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "change-p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "change-max-ms")
	b.ReportMetric(float64(active.c.counters.snapshotted.Load())/1e6, "snapshot-MB")
}

// latestSnapshot is when the controller wrote its last snapshot.
func (n *node) latestSnapshot() int64 { return n.c.counters.snapshotAt.Load() }
