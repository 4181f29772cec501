package replica

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// many gives n partitions in topics of 100, led by 1, 2 and 3 in turn.
func many(n int) []Change {
	replicas := [][]kafka.BrokerID{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}}
	changes := make([]Change, 0, n)
	for i := range n {
		name := "topic-" + strconv.Itoa(i/100)
		r := replicas[i%3]
		changes = append(changes, Change{
			Topic: name, TopicID: topicID(name), Partition: int32(i % 100),
			State: &metadata.Partition{Replicas: r, ISR: r, Leader: r[0]},
		})
	}
	return changes
}

// A replica costs at most 200 bytes, its place in the index included.
func TestReplicaSize(t *testing.T) {
	const n = 100_000
	changes := many(n)
	before := heap()
	m := NewManager(Config{Self: 1, LagMax: time.Second, FetchBackoff: time.Second})
	m.Apply(0, changes)
	for _, f := range m.fetchers { // the queues are empty once all is listed
		for len(f.queue) > 0 {
			m.Build(0, f, kmsg.NewPtrFetchRequest(), time.Second)
		}
	}
	each := float64(heap()-before) / n
	t.Logf("%.0f bytes a replica", each)
	if each > 200 {
		t.Errorf("a replica takes %.0f bytes, want at most 200", each)
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(changes)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// BenchmarkApply is the cost of one partition when a broker learns many.
func BenchmarkApply(b *testing.B) {
	changes := many(10_000)
	b.ReportAllocs()
	for b.Loop() {
		m := NewManager(Config{Self: 1, LagMax: time.Second, FetchBackoff: time.Second})
		m.Apply(0, changes)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/partition")
}

// BenchmarkIdleFetch is a fetch of a session with 100,000 partitions to none
// of which anything happened: its cost must not depend on their number.
func BenchmarkIdleFetch(b *testing.B) {
	changes := many(100_000)
	leader := NewManager(Config{Self: 1, LagMax: time.Second, FetchBackoff: time.Second})
	follower := NewManager(Config{Self: 2, LagMax: time.Second, FetchBackoff: time.Second})
	leader.Apply(0, changes)
	follower.Apply(0, changes)
	f := follower.fetchers[1]
	fetch := func() {
		req := kmsg.NewPtrFetchRequest()
		req.Version = 15
		follower.Build(0, f, req, time.Second)
		ff := leader.Fetch(0, 2, kafka.NoBrokerEpoch, req)
		ff.Ready()
		resp := kmsg.NewPtrFetchResponse()
		ff.Answer(0, resp)
		if err := follower.Handle(0, f, resp); err != nil {
			b.Fatal(err)
		}
	}
	for len(f.queue) > 0 || f.epoch == 0 {
		fetch()
	}
	b.ReportAllocs()
	for b.Loop() {
		fetch()
	}
}

// BenchmarkCheckLag is the walk over 100,000 partitions that looks for
// followers behind.
func BenchmarkCheckLag(b *testing.B) {
	m := NewManager(Config{Self: 1, LagMax: time.Hour, FetchBackoff: time.Second})
	m.Apply(0, many(100_000))
	for b.Loop() {
		m.CheckLag(0)
	}
}
