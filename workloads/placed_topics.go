package workloads

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// hosted are the partitions with a replica on one broker, as another serves
// them, and the topics that hold them.
type hosted struct {
	topics     []newTopic
	partitions map[kafka.TopicPartition]struct{}
}

// hostedBy finds what a broker hosts.
func hostedBy(ctx context.Context, n Node, broker kafka.BrokerID) (h hosted, err error) {
	p := newPeer(n)
	defer p.close()
	m, err := sweep(ctx, p)
	if err != nil {
		return h, err
	}
	h.partitions = map[kafka.TopicPartition]struct{}{}
	for i := range m.Topics {
		t := &m.Topics[i]
		before := len(h.partitions)
		eachPartition(&kmsg.MetadataResponse{Topics: m.Topics[i : i+1]}, func(tp kafka.TopicPartition, part *kmsg.MetadataResponseTopicPartition) {
			if slices.Contains(part.Replicas, int32(broker)) {
				h.partitions[tp] = struct{}{}
			}
		})
		if len(h.partitions) > before {
			h.topics = append(h.topics, newTopic{name: *t.Topic, partitions: int32(len(t.Partitions))})
		}
	}
	return h, nil
}

// awaitISR waits until every one of some brokers serves every hosted partition
// with the broker in its ISR, or without it, and a leader.
func (h hosted) awaitISR(ctx context.Context, nodes []Node, broker kafka.BrokerID, in bool) (servedNs int64, err error) {
	what := fmt.Sprintf("serves every ISR without broker %d", broker)
	if in {
		what = fmt.Sprintf("serves every ISR with broker %d", broker)
	}
	return awaitTopics(ctx, nodes, h.topics, what, func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) bool {
		_, hosts := h.partitions[tp]
		return !hosts || slices.Contains(p.ISR, int32(broker)) == in && (p.Leader >= 0 || !in)
	})
}
