package workloads

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// leaderBook keeps who leads each partition of a sample, as far as any broker
// said: of two answers that with the higher leader epoch. It is safe for
// concurrent use.
type leaderBook struct {
	topics []string

	mu     sync.Mutex
	claims map[kafka.TopicPartition]leaderClaim
}

func newLeaderBook(sample []kafka.TopicPartition) *leaderBook {
	b := &leaderBook{topics: topicsOf(sample), claims: map[kafka.TopicPartition]leaderClaim{}}
	for _, tp := range sample {
		b.claims[tp] = leaderClaim{leader: kafka.NoLeader, epoch: kafka.NoEpoch}
	}
	return b
}

func (b *leaderBook) ask(Node) []string { return b.topics }

func (b *leaderBook) observe(_ kafka.BrokerID, m *kmsg.MetadataResponse, _ int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	eachPartition(m, func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
		c := leaderClaim{kafka.BrokerID(p.Leader), kafka.LeaderEpoch(p.LeaderEpoch)}
		if known, ok := b.claims[tp]; ok && c.epoch >= known.epoch {
			b.claims[tp] = c
		}
	})
}

func (b *leaderBook) leader(tp kafka.TopicPartition) kafka.BrokerID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.claims[tp].leader
}

// known reports whether every partition has a leader.
func (b *leaderBook) known() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.claims {
		if c.leader < 0 {
			return false
		}
	}
	return true
}
