package machine

import (
	"fmt"
	"testing"
	"time"

	"kbench/kafka"
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

// BenchmarkFence is the death of one of nine brokers: the records of all that
// it leads or follows, decided, encoded and replayed.
func BenchmarkFence(b *testing.B) {
	for _, partitions := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			w := bigWorld(b, partitions)
			end := len(w.log)
			b.ReportAllocs()
			epoch := kafka.LeaderEpoch(1)
			for b.Loop() {
				r := w.beat(3, w.done)
				r.WantFence = true
				w.request(r)
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
