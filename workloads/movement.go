package workloads

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

// maxStragglers bounds the partitions that a sweep hands back to the probes.
const maxStragglers = 64

// movement follows, on every live broker, the partitions that a lost broker
// led until the broker serves another leader for each of them.
type movement struct {
	victim kafka.BrokerID
	led    map[kafka.TopicPartition]struct{} // all that must move

	mu      sync.Mutex
	brokers map[kafka.BrokerID]*following
	leaders leaderClaims // newest known of the sample
}

// following is what one broker is still asked for.
type following struct {
	left   map[kafka.TopicPartition]struct{}
	topics []string // of left; nil when nothing is left
	lastNs int64    // when the last of them was seen moved
}

func newMovement(victim kafka.BrokerID, led, sample []kafka.TopicPartition, brokers []Node) *movement {
	m := &movement{
		victim: victim, led: make(map[kafka.TopicPartition]struct{}, len(led)),
		brokers: map[kafka.BrokerID]*following{}, leaders: claimsOf(sample, victim),
	}
	for _, tp := range led {
		m.led[tp] = struct{}{}
	}
	for _, b := range brokers {
		f := &following{}
		f.follow(sample)
		m.brokers[b.ID] = f
	}
	return m
}

func (f *following) follow(tps []kafka.TopicPartition) {
	f.left = make(map[kafka.TopicPartition]struct{}, len(tps))
	for _, tp := range tps {
		f.left[tp] = struct{}{}
	}
	f.topics = topicsOf(tps)
}

// topics gives what to ask a broker for; nil when it has shown all.
func (m *movement) topics(n Node) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.brokers[n.ID].topics
}

// observe takes one answer of one broker.
func (m *movement) observe(id kafka.BrokerID, resp *kmsg.MetadataResponse, doneNs int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.brokers[id]
	moved := false
	eachPartition(resp, func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
		m.leaders.learn(tp, p)
		if _, ok := f.left[tp]; ok && m.hasMoved(p) {
			delete(f.left, tp)
			f.lastNs = max(f.lastNs, doneNs)
			moved = true
		}
	})
	if moved {
		f.topics = nil
		if len(f.left) > 0 {
			f.topics = topicsOf(slices.Collect(keysOf(f.left)))
		}
	}
}

func (m *movement) hasMoved(p *kmsg.MetadataResponseTopicPartition) bool {
	return p.Leader >= 0 && kafka.BrokerID(p.Leader) != m.victim
}

// leader gives who leads a sampled partition as far as any broker said.
func (m *movement) leader(tp kafka.TopicPartition) kafka.BrokerID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leaders[tp].leader
}

// shown reports whether every broker has shown all it was asked for.
func (m *movement) shown() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.brokers {
		if len(f.left) > 0 {
			return false
		}
	}
	return true
}

// left counts what brokers have not shown yet, summed over them.
func (m *movement) left() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.brokers {
		n += len(f.left)
	}
	return n
}

// lastNs gives when the last broker was seen to serve the last move.
func (m *movement) lastNs() (ns int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.brokers {
		ns = max(ns, f.lastNs)
	}
	return ns
}

// complete waits until every broker serves every move: first those that probes
// follow, then one sweep of each broker for all the others. Partitions that a
// sweep finds unmoved are followed by the probes in turn, so that the last
// move seen is the last there was. It gives how many of them there were.
func (m *movement) complete(ctx context.Context, nodes []Node, progress func(left int)) (stragglers int, err error) {
	for {
		err := await(ctx, sweepTimeout, "every broker to serve the new leaders", func() bool {
			progress(m.left())
			return m.shown()
		})
		if err != nil {
			return stragglers, fmt.Errorf("%w; %d not seen", err, m.left())
		}
		found := 0
		for _, n := range nodes {
			left, err := m.sweepOne(ctx, n)
			if err != nil {
				return stragglers, err
			}
			found += left
		}
		if found == 0 {
			return stragglers, nil
		}
		stragglers += found
	}
}

// sweepOne asks one broker for everything and lets the probes follow what it
// has not moved.
func (m *movement) sweepOne(ctx context.Context, n Node) (left int, err error) {
	p := newPeer(n)
	defer p.close()
	resp, err := sweep(ctx, p)
	if err != nil {
		return 0, err
	}
	seenNs := trace.Now()
	missing := make(map[kafka.TopicPartition]struct{}, len(m.led))
	for tp := range m.led {
		missing[tp] = struct{}{}
	}
	eachPartition(resp, func(tp kafka.TopicPartition, part *kmsg.MetadataResponseTopicPartition) {
		if m.hasMoved(part) {
			delete(missing, tp)
		}
	})
	if len(missing) == 0 {
		return 0, nil
	}
	tps := slices.SortedFunc(keysOf(missing), kafka.TopicPartition.Compare)
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.brokers[n.ID]
	f.follow(tps[:min(len(tps), maxStragglers)])
	f.lastNs = max(f.lastNs, seenNs)
	return len(tps), nil
}
