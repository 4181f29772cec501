package metadata

import (
	"fmt"
	"runtime"
	"testing"

	"kbench/kafka"
)

// bigImage has 10,000 topics of 100 partitions, replication 3 on 9 brokers,
// replayed from records as a node would.
func bigImage(tb testing.TB, topics, partitions int) *Image {
	d := NewDelta(Empty())
	for n := range topics {
		id := kafka.UUID{0: 1, 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
		must(tb, d.Replay(&TopicRecord{Name: fmt.Sprintf("topic-%05d", n), TopicID: id}))
		for p := range partitions {
			b := kafka.BrokerID(n+p) % 9
			replicas := []kafka.BrokerID{b, (b + 1) % 9, (b + 2) % 9}
			must(tb, d.Replay(&PartitionRecord{
				PartitionID: int32(p), TopicID: id, Replicas: replicas, ISR: []kafka.BrokerID{b, (b + 1) % 9, (b + 2) % 9},
				Leader: b, Directories: []kafka.UUID{UnassignedDirectory, UnassignedDirectory, UnassignedDirectory},
			}))
		}
	}
	return d.Apply(kafka.Offset(topics*partitions), 1)
}

func TestMemoryOfAPartition(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	image := bigImage(t, 1000, 100)
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := int(after.HeapAlloc-before.HeapAlloc) / image.NumPartitions()
	t.Logf("%d bytes a partition", each)
	if each > 400 {
		t.Errorf("%d bytes a partition, want at most 400", each)
	}
	runtime.KeepAlive(image)
}

func BenchmarkReplayMillion(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		bigImage(b, 10_000, 100)
	}
}

func BenchmarkOneChange(b *testing.B) {
	for _, c := range []struct{ topics, partitions int }{{10, 100}, {10_000, 100}, {10, 100_000}} {
		b.Run(fmt.Sprintf("topics=%d/partitions=%d", c.topics, c.partitions), func(b *testing.B) {
			image := bigImage(b, c.topics, c.partitions)
			topic, _ := image.Topic("topic-00007")
			b.ReportAllocs()
			for b.Loop() {
				change := NewPartitionChange(topic.ID(), 42)
				change.Leader = 1
				d := NewDelta(image)
				must(b, d.Replay(change))
				d.Apply(1, 1)
			}
		})
	}
}

func BenchmarkScanMillion(b *testing.B) {
	image := bigImage(b, 10_000, 100)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for t := range image.Topics() {
			for _, p := range t.All() {
				if p.InISR(3) {
					n++
				}
			}
		}
		if n == 0 {
			b.Fatal("none")
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	image := bigImage(b, 10_000, 100)
	for b.Loop() {
		image.Digest()
	}
}

func BenchmarkReadPartitionChange(b *testing.B) {
	change := NewPartitionChange(kafka.UUID{1}, 7)
	change.Leader, change.ISR = 2, []kafka.BrokerID{2, 3}
	data, err := AppendRecord(nil, change, 1)
	must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ReadRecord(data); err != nil {
			b.Fatal(err)
		}
	}
}
