package kraftcontroller

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
)

const (
	manyPartitions = 2_000_000
	// manySnapshots of the active controller are waited for while changes go on.
	manySnapshots = 3
)

// span is a time in which a controller wrote a snapshot.
type span struct{ from, to time.Time }

// snapshotSpans is a log that keeps when snapshots were written, by node.
type snapshotSpans struct {
	mu    sync.Mutex
	spans map[kafka.BrokerID][]span
}

func (s *snapshotSpans) of(id kafka.BrokerID) []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spans[id])
}

// spanHandler gives snapshotSpans what one node logs.
type spanHandler struct {
	slog.Handler
	id kafka.BrokerID
	to *snapshotSpans
}

func (h spanHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

func (h spanHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h spanHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "wrote a snapshot" {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "took" {
			h.to.mu.Lock()
			h.to.spans[h.id] = append(h.to.spans[h.id], span{r.Time.Add(-a.Value.Duration()), r.Time})
			h.to.mu.Unlock()
		}
		return true
	})
	return nil
}

// BenchmarkTwoMillion goes through the life of a quorum of three controllers on
// one machine and one disk, fsync and all, with 2,000,000 partitions of
// replication 3: they are created, small changes go on while all three write
// snapshots, and the active controller is killed. Its figures stand beside their
// limits: the live heap of a controller, how long a change waits while the active
// controller writes a snapshot, and how long the successor takes from the epoch to
// its state.
func BenchmarkTwoMillion(b *testing.B) {
	for b.Loop() {
		before := settledHeap()
		spans := &snapshotSpans{spans: map[kafka.BrokerID][]span{}}
		cl := newCluster(b, 3, func(c *Config) {
			// A snapshot is due after 20 MiB of log, as always, or ten seconds.
			c.Machine.NoOpInterval, c.SnapshotInterval = -1, 10*time.Second
			c.Raft.FetchTimeout, c.Raft.RequestTimeout, c.Machine.SessionTimeout = 5*time.Second, 5*time.Second, time.Hour
			c.Raft.Logger = slog.New(spanHandler{slog.DiscardHandler, c.Raft.NodeID, spans})
		})
		for id := range kafka.BrokerID(9) {
			cl.broker(id + 1)
		}
		for _, fb := range cl.brokers {
			fb.stop()
		}
		cl.brokers = nil
		start := time.Now()
		cl.createMany(b)
		b.ReportMetric(manyPartitions/time.Since(start).Seconds(), "created/s")
		reportLimit(b, "heap", "B/partition", float64(settledHeap()-before)/manyPartitions/float64(len(cl.nodes)), 400)
		cl.changeBesideSnapshots(b, spans)
		settledHeap()
		cl.failOver(b)
		for _, n := range cl.nodes {
			n.kill()
		}
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers of the first held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// settledHeap is the live heap when nothing is being done any more: a snapshot
// that is still written goes on, and no other begins without a change.
func settledHeap() (now int64) {
	last := int64(0)
	for range 100 { // on a slow machine a snapshot takes half a minute
		now = liveHeap()
		if max(now-last, last-now) <= max(last/200, 1<<20) {
			break
		}
		last = now
	}
	return now
}

// dialActive gives the active controller and a connection to it.
func (cl *cluster) dialActive(b *testing.B) (*node, *wire.Conn) {
	active := cl.active(-1)
	conn, err := wire.Dial(context.Background(), cl.addr(active.id), wire.DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return active, conn
}

// createMany creates the partitions, 8,000 in each request, and waits until every
// controller has them.
func (cl *cluster) createMany(b *testing.B) {
	_, conn := cl.dialActive(b)
	defer conn.Close()
	for n := range manyPartitions / 8000 {
		req := createTopics(fmt.Sprintf("many-%d-0", n), 100, 3)
		for i := range 79 {
			req.Topics = append(req.Topics, createTopics(fmt.Sprintf("many-%d-%d", n, i+1), 100, 3).Topics...)
		}
		create(b, conn, req)
	}
	await(b, "every controller to have all partitions", func() bool {
		for _, n := range cl.nodes {
			if n.c.View().Image.NumPartitions() < manyPartitions {
				return false
			}
		}
		return true
	})
}

func create(b *testing.B, conn *wire.Conn, req *kmsg.CreateTopicsRequest) {
	resp, err := conn.Request(context.Background(), req)
	if err == nil {
		for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if err = kafka.ErrorCode(t.ErrorCode).Err(); err != nil {
				break
			}
		}
	}
	if err != nil {
		b.Fatal(err)
	}
}

// changeBesideSnapshots creates one small topic after the other until the active
// controller has written snapshots meanwhile.
func (cl *cluster) changeBesideSnapshots(b *testing.B, spans *snapshotSpans) {
	active, conn := cl.dialActive(b)
	defer conn.Close()
	var changes []span
	before := len(spans.of(active.id))
	written := func() []span { return spans.of(active.id)[before:] }
	for n, start := 0, time.Now(); len(written()) < manySnapshots; n++ {
		if took := time.Since(start); took > 5*time.Minute {
			b.Fatalf("%d snapshots in %v", len(written()), took)
		}
		from := time.Now()
		create(b, conn, createTopics(fmt.Sprint("small-", n), 1, 3))
		changes = append(changes, span{from, time.Now()})
	}
	var wrote []time.Duration
	for _, s := range written() {
		wrote = append(wrote, s.to.Sub(s.from))
	}
	b.ReportMetric(percentile(wrote, 50)/1000, "snapshot-s")
	b.ReportMetric(float64(active.c.snapshots.LatestBytes())/1e6, "snapshot-MB")
	reportStalls(b, changes, spans.of(active.id))
}

// reportStalls reports what changes took beside snapshots, and without.
func reportStalls(b *testing.B, changes, snapshots []span) {
	var beside, alone []time.Duration
	for _, c := range changes {
		meets := func(s span) bool { return c.from.Before(s.to) && s.from.Before(c.to) }
		if took := c.to.Sub(c.from); slices.ContainsFunc(snapshots, meets) {
			beside = append(beside, took)
		} else {
			alone = append(alone, took)
		}
	}
	if len(alone) > 0 { // on a slow machine a snapshot is always being written
		b.ReportMetric(percentile(alone, 99), "change-alone-p99-ms")
	}
	b.ReportMetric(float64(len(beside)), "stall-n")
	b.ReportMetric(percentile(beside, 100), "stall-max-ms")
	reportLimit(b, "stall-p99", "ms", percentile(beside, 99), 100)
}

// failOver kills the active controller and takes the phases of its successor from
// that one's trace.
func (cl *cluster) failOver(b *testing.B) {
	old := cl.active(-1)
	epoch := old.c.View().Epoch
	start := time.Now()
	old.kill()
	next := cl.active(epoch)
	b.ReportMetric(time.Since(start).Seconds(), "failover-s")
	at := map[trace.Kind]int64{}
	for _, e := range cl.events(next.id) {
		if e.Epoch > int64(epoch) {
			at[e.Kind] = e.T
		}
	}
	loaded, elected := at[trace.ControllerLoaded], at[trace.ControllerElected]
	if elected == 0 || loaded < elected {
		b.Fatalf("controller %d tells no election and load of an epoch above %d", next.id, epoch)
	}
	reportLimit(b, "load", "ms", float64(loaded-elected)/1e6, 50)
}
