package machine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// bigWorld has partitions of replication 3 on 9 brokers, 100 a topic.
func bigWorld(tb testing.TB, partitions int) *world {
	w := newWorld(Config{NoOpInterval: -1, SessionTimeout: time.Hour})
	w.up(tb, 9)
	for n := range partitions / 5000 {
		r := newTopic(fmt.Sprintf("topic-%d-0", n), 100, 3)
		for i := 1; i < 50; i++ {
			t := r.Topics[0]
			t.Topic = fmt.Sprintf("topic-%d-%d", n, i)
			r.Topics = append(r.Topics, t)
		}
		w.request(r)
		w.commitAll()
		if w.err != nil {
			tb.Fatal(w.err)
		}
	}
	return w
}

func BenchmarkHeartbeat(b *testing.B) {
	for _, partitions := range []int{5_000, 1_000_000} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			w := bigWorld(b, partitions)
			r := w.beat(3, w.done)
			b.ReportAllocs()
			for b.Loop() {
				if out := w.request(r); len(out.Responses) != 1 {
					b.Fatal("no answer")
				}
			}
		})
	}
}

// BenchmarkCreateTopic creates one topic among many whose names it might
// collide with, and is as fast for a name that can collide with others as for
// one that cannot.
func BenchmarkCreateTopic(b *testing.B) {
	for _, c := range []struct {
		partitions int
		name       string
	}{{10_000, "a-b"}, {1_000_000, "a-b"}, {10_000, "a.b_c"}, {1_000_000, "a.b_c"}} {
		b.Run(fmt.Sprintf("partitions=%d/name=%s", c.partitions, c.name), func(b *testing.B) {
			w := bigWorld(b, c.partitions)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				w.request(newTopic(fmt.Sprintf("%s%d", c.name, n), 1, 3))
				w.commitAll()
				if w.err != nil {
					b.Fatal(w.err)
				}
			}
		})
	}
}

// BenchmarkMemory is what a controller keeps of a partition of replication 3, on
// the heap after a collection.
func BenchmarkMemory(b *testing.B) {
	for _, partitions := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			before := liveHeap()
			w := bigWorld(b, partitions)
			w.log, w.out = nil, Effects{}
			each := float64(liveHeap()-before) / float64(partitions)
			for b.Loop() {
			}
			b.ReportMetric(each, "heap-B/partition")
			if each > 400 {
				b.Errorf("%.0f bytes a partition, 400 are the limit", each)
			}
			runtime.KeepAlive(w)
		})
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers of the first held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpuTime is what this process has used of all processors: on a busy machine it
// says more than the clock.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTwoMillion goes through the life of a controller of 2,000,000
// partitions of replication 3: created, one of nine brokers dies, a standby
// claims, the image is written as a snapshot while writes go on, and a new node
// loads it.
func BenchmarkTwoMillion(b *testing.B) {
	const partitions = 2_000_000
	for b.Loop() {
		start, cpu := time.Now(), cpuTime()
		w := bigWorld(b, partitions)
		b.ReportMetric(float64(partitions)/(cpuTime()-cpu).Seconds(), "created/cpu-s")
		b.ReportMetric(time.Since(start).Seconds(), "create-s")
		w.log = nil
		b.ReportMetric(float64(liveHeap())/partitions, "heap-B/partition")

		// The shell appends what it is given and the log keeps it; here nobody does.
		start, cpu = time.Now(), cpuTime()
		r := w.beat(3, w.done)
		r.WantFence = true
		w.ids++
		out, err := w.m.Step(w.now, Request{ID: w.ids, Body: r})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64((cpuTime() - cpu).Milliseconds()), "fence-cpu-ms")
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "fence-ms")
		next := w.done + 1
		for _, a := range out.Appends {
			if _, err := w.m.Step(w.now, Committed{BaseOffset: a.BaseOffset, Epoch: 1, Values: a.Values}); err != nil {
				b.Fatal(err)
			}
			next = a.LastOffset() + 1
		}

		// Failover: the next leader has replayed all and claims.
		if _, err := w.m.Step(w.now, Renounce{}); err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		if _, err := w.m.Step(w.now, Claim{Epoch: 2, NextOffset: next + 1}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "load-ms")
		if _, err := w.m.Step(w.now, Committed{BaseOffset: next, Epoch: 2, Control: true, Values: [][]byte{nil}}); err != nil {
			b.Fatal(err)
		}
		values := snapshotBesideWrites(b, w, next+1)

		m, err := New(Config{ClusterID: testCluster, Rand: rand.New(rand.NewPCG(1, 2))})
		if err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		if _, err := m.Step(0, Snapshot{EndOffset: next + 1, Epoch: 2, Values: func(yield func([]byte, error) bool) {
			for _, v := range values {
				if !yield(v, nil) {
					return
				}
			}
		}}); err != nil || m.Image().NumPartitions() != partitions {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "snapshot-load-s")
	}
}

// snapshotBesideWrites encodes the image on a goroutine of its own, as the shell
// does, and creates topics meanwhile: what a step takes then is the stall.
func snapshotBesideWrites(b *testing.B, w *world, next kafka.Offset) [][]byte {
	image := w.m.Image()
	version := metadata.MetadataVersion(image.FeatureLevel(metadata.MetadataVersionFeature))
	done := make(chan [][]byte)
	start := time.Now()
	go func() {
		var values [][]byte
		for r := range image.Records() {
			v, err := metadata.AppendRecord(nil, r, version.RecordVersion(r))
			if err != nil {
				b.Error(err)
			}
			values = append(values, v)
		}
		done <- values
	}()
	var steps []time.Duration
	for n := 0; ; n++ {
		select {
		case values := <-done:
			b.ReportMetric(time.Since(start).Seconds(), "snapshot-encode-s")
			slices.Sort(steps)
			if len(steps) > 100 {
				b.ReportMetric(float64(steps[len(steps)*99/100].Microseconds())/1000, "stall-p99-ms")
			}
			return values
		default:
		}
		at := time.Now()
		w.ids++
		out, err := w.m.Step(w.now, Request{ID: w.ids, Body: newTopic(fmt.Sprintf("beside-%d", n), 10, 3)})
		for _, a := range out.Appends {
			if err == nil {
				_, err = w.m.Step(w.now, Committed{BaseOffset: a.BaseOffset, Epoch: 2, Values: a.Values})
			}
		}
		if err != nil {
			b.Fatal(err)
		}
		steps = append(steps, time.Since(at))
	}
}

// BenchmarkFence is the death of one of nine brokers: the records of all that
// it leads or follows, decided, encoded and replayed.
func BenchmarkFence(b *testing.B) {
	for _, partitions := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			w := bigWorld(b, partitions)
			end := len(w.log)
			b.ReportAllocs()
			epoch := kafka.LeaderEpoch(1)
			var cpu time.Duration
			for b.Loop() {
				r := w.beat(3, w.done)
				r.WantFence = true
				began := cpuTime()
				w.request(r)
				cpu += cpuTime() - began
				if w.err != nil || len(w.log)-end < partitions/4 {
					b.Fatalf("%d records, %v", len(w.log)-end, w.err)
				}
				b.StopTimer()
				w.step(Renounce{})
				w.log = w.log[:end]
				epoch++
				w.lead(epoch)
				w.commitAll()
				end = len(w.log)
				b.StartTimer()
			}
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

func BenchmarkCreateTopics(b *testing.B) {
	w := bigWorld(b, 100_000)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		w.request(newTopic(fmt.Sprintf("new-%d", n), 100, 3))
		w.commitAll()
		if w.err != nil {
			b.Fatal(w.err)
		}
	}
}

// BenchmarkStandby is the replay of a log of 100,000 partitions.
func BenchmarkStandby(b *testing.B) {
	w := bigWorld(b, 100_000)
	for b.Loop() {
		s := newWorld(Config{})
		s.log = w.log
		s.commitAll()
		if s.err != nil || s.m.Image().NumPartitions() != 100_000 {
			b.Fatal(s.err)
		}
	}
}
