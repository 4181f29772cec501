package harness

import (
	"encoding/binary"
	"hash/fnv"
	"math/bits"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/checker"
	"kbench/internal/trace"
	"kbench/kafka"
)

// observedSample is about how many partitions of each broker's answer are kept
// at a health gate, to judge that leader epochs never go back.
const observedSample = 64

// observed picks from a broker's answer the partitions that are followed. The
// choice depends on the partition alone, and a cluster that has grown keeps a
// part of what was chosen before, so that answers can be compared over time.
func observed(id kafka.BrokerID, incarnation int, m *kmsg.MetadataResponse) []checker.Observation {
	total := 0
	for i := range m.Topics {
		total += len(m.Topics[i].Partitions)
	}
	// One in a power of two: the sample of the larger is within the smaller's.
	mask := uint64(1)<<bits.Len(uint(total/observedSample)) - 1
	now := trace.Now()
	var out []checker.Observation
	for i := range m.Topics {
		t := &m.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if t.Topic == nil || partitionHash(t.TopicID, p.Partition)&mask != 0 {
				continue
			}
			out = append(out, checker.Observation{
				AtNs: now, Broker: id, Incarnation: incarnation, Topic: *t.Topic, TopicID: t.TopicID,
				Partition: p.Partition, Leader: kafka.BrokerID(p.Leader), LeaderEpoch: kafka.LeaderEpoch(p.LeaderEpoch),
			})
		}
	}
	return out
}

func partitionHash(topic [16]byte, partition int32) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(topic[:])
	_, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(partition)))
	return h.Sum64()
}
