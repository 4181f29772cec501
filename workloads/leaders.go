package workloads

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// leaderClaim is who leads a partition since which epoch.
type leaderClaim struct {
	leader kafka.BrokerID
	epoch  kafka.LeaderEpoch
}

// leaderClaims is the newest claim about each partition of a sample.
type leaderClaims map[kafka.TopicPartition]leaderClaim

// claimsOf begins with a leader whom any broker's answer replaces.
func claimsOf(sample []kafka.TopicPartition, leader kafka.BrokerID) leaderClaims {
	c := leaderClaims{}
	for _, tp := range sample {
		c[tp] = leaderClaim{leader: leader, epoch: kafka.NoEpoch}
	}
	return c
}

// learn takes what a broker said of a partition; others than the sample's are
// passed over.
func (c leaderClaims) learn(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
	said := leaderClaim{kafka.BrokerID(p.Leader), kafka.LeaderEpoch(p.LeaderEpoch)}
	if known, ok := c[tp]; ok && said.epoch >= known.epoch {
		c[tp] = said
	}
}

// leaderBook keeps who leads each partition of a sample, as far as any broker
// said: of two answers that with the higher leader epoch. It is safe for
// concurrent use.
type leaderBook struct {
	topics []string

	mu     sync.Mutex
	claims leaderClaims
}

func newLeaderBook(sample []kafka.TopicPartition) *leaderBook {
	return &leaderBook{topics: topicsOf(sample), claims: claimsOf(sample, kafka.NoLeader)}
}

func (b *leaderBook) ask(Node) []string { return b.topics }

func (b *leaderBook) observe(_ kafka.BrokerID, m *kmsg.MetadataResponse, _ int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	eachPartition(m, b.claims.learn)
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
