package machine

import (
	"fmt"
	"runtime"
	"testing"

	"kbench/kafka"
)

// lean is a store that makes up what it is asked: topics of 100 partitions on
// brokers 1 to brokers, replication 3.
type lean struct{ topics, brokers int }

func (l lean) replicas(i int) []kafka.BrokerID {
	ids := make([]kafka.BrokerID, 3)
	for k := range ids {
		ids[k] = kafka.BrokerID(1 + (i+k)%l.brokers)
	}
	return ids
}

func (l lean) run(b Batch) {
	switch b := b.(type) {
	case *ReadBrokers:
		for i := range l.brokers {
			b.Brokers = append(b.Brokers, Broker{ID: kafka.BrokerID(i + 1), Epoch: 1, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 1}}})
		}
	case *ReadTopics:
		for i := range l.topics {
			b.Topics = append(b.Topics, fmt.Sprintf("topic-%06d", i))
		}
	case *ReadAssignments:
		for i := range b.Topics {
			r := TopicRead{Found: true, ID: kafka.UUID{1, byte(i), byte(i >> 8), byte(i >> 16)}, Partitions: map[int32]Assignment{}}
			for p := range int32(100) {
				r.Partitions[p] = Assignment{Replicas: l.replicas(int(p))}
			}
			b.Results = append(b.Results, r)
		}
	case *ReadStates:
		b.Results = make([]StateRead, len(b.Partitions))
		for i, tp := range b.Partitions {
			isr := l.replicas(int(tp.Partition))
			b.Results[i] = StateRead{Found: true, State: LeaderISR{Leader: isr[0], ISR: isr, ControllerEpoch: 1}}
		}
	case *WriteStates:
		b.Results = make([]WriteResult, len(b.Writes))
		for i := range b.Writes {
			b.Results[i].Version = b.Writes[i].State.Version + 1
		}
	}
}

// drive runs an input to its end and gives how many effects there were.
func (l lean) drive(m *Machine, in Input) int {
	effects := m.Step(in)
	n := len(effects)
	for m.Waiting() {
		l.run(effects[len(effects)-1].(Batch))
		effects = m.Step(Done{})
		n += len(effects)
	}
	return n
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return int64(ms.HeapAlloc)
}

// The context of a controller takes at most 1 KiB of live heap a partition.
func TestHeapPerPartition(t *testing.T) {
	l := lean{topics: 500, brokers: 6}
	before := heapInUse()
	m := New(Config{ID: 1, Rand: testRand()})
	l.drive(m, Elected{Epoch: 1})
	n := int64(m.Partitions())
	per := (heapInUse() - before) / n
	runtime.KeepAlive(m)
	if n != 50_000 || per > 1024 {
		t.Errorf("%d B a partition with %d partitions, at most 1024 are allowed", per, n)
	}
	t.Logf("%d B a partition", per)
}

func BenchmarkFailover(b *testing.B) {
	for _, topics := range []int{100, 1000} {
		b.Run(fmt.Sprintf("partitions=%d", topics*100), func(b *testing.B) {
			l := lean{topics: topics, brokers: 6}
			b.ReportAllocs()
			for b.Loop() {
				l.drive(New(Config{ID: 1, Rand: testRand()}), Elected{Epoch: 1})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(topics*100), "ns/partition")
		})
	}
}

func BenchmarkControlledShutdown(b *testing.B) {
	for _, topics := range []int{100, 1000} {
		b.Run(fmt.Sprintf("partitions=%d", topics*100), func(b *testing.B) {
			l := lean{topics: topics, brokers: 6}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				m := New(Config{ID: 1, Rand: testRand()})
				l.drive(m, Elected{Epoch: 1})
				b.StartTimer()
				l.drive(m, ControlledShutdown{Call: 1, Broker: 1, Epoch: 1})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(topics*100), "ns/partition")
		})
	}
}

// One event on a cluster of many brokers must not cost more than what it
// touches: with ten times the brokers, a broker's event is cheaper, not dearer.
func BenchmarkBrokerBounceManyBrokers(b *testing.B) {
	for _, brokers := range []int{6, 60, 600} {
		b.Run(fmt.Sprintf("brokers=%d", brokers), func(b *testing.B) {
			l := lean{topics: 1000, brokers: brokers}
			m := New(Config{ID: 1, Rand: testRand()})
			l.drive(m, Elected{Epoch: 1})
			b.ReportAllocs()
			for b.Loop() {
				l.drive(m, ControlledShutdown{Call: 1, Broker: 1, Epoch: 1})
			}
		})
	}
}
