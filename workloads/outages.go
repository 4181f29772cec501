package workloads

import (
	"slices"
	"sync"

	"kbench/kafka"
)

// outageBook keeps what became of produces to each partition of a sample. It
// is safe for concurrent use.
type outageBook struct {
	sample  []kafka.TopicPartition
	maxAcks int // kept of each partition

	mu     sync.Mutex
	fromNs int64 // failures of produces due before are not of this trial
	states map[kafka.TopicPartition]*produceState
}

// produceState is what became of one partition's produces.
type produceState struct {
	failed  failure // the one that was due first; zero for none
	ackedNs int64   // the latest intended time of one that was acknowledged
	acks    []acks  // in the order they came, bounded
}

// failure is one produce that was not acknowledged.
type failure struct {
	intendedNs int64
	by         kafka.BrokerID // who was asked
	// refusedNs is when it answered with an error, or its connection ended; 0 where
	// nobody was asked, or no answer came.
	refusedNs int64
}

// acks is one acknowledged produce.
type acks struct {
	intendedNs, doneNs int64
	by                 kafka.BrokerID
}

// ends reports whether the acknowledgement shows that the outage of a failure is
// over: it is of a later produce, and not of the same broker before that refused.
// One that is about to refuse may acknowledge what overtook the refused produce.
func (a acks) ends(f failure) bool {
	return a.intendedNs > f.intendedNs && (a.by != f.by || a.doneNs > f.refusedNs)
}

func newOutageBook(sample []kafka.TopicPartition, maxAcks int) *outageBook {
	b := &outageBook{sample: sample, maxAcks: maxAcks, states: make(map[kafka.TopicPartition]*produceState, len(sample))}
	for _, tp := range sample {
		b.states[tp] = &produceState{}
	}
	return b
}

func (b *outageBook) acked(tp kafka.TopicPartition, a acks) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.states[tp]
	s.ackedNs = max(s.ackedNs, a.intendedNs)
	if len(s.acks) >= b.maxAcks {
		if s.failed.intendedNs != 0 && slices.ContainsFunc(s.acks, func(a acks) bool { return a.ends(s.failed) }) {
			return // the ack that ends the outage is among those kept
		}
		s.acks = append(s.acks[:0], s.acks[b.maxAcks/2:]...)
	}
	s.acks = append(s.acks, a)
}

func (b *outageBook) failed(tp kafka.TopicPartition, f failure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.intendedNs < b.fromNs {
		return
	}
	if s := b.states[tp]; s.failed.intendedNs == 0 || f.intendedNs < s.failed.intendedNs {
		s.failed = f
	}
}

// overtaken reports whether a produce due later was acknowledged.
func (b *outageBook) overtaken(tp kafka.TopicPartition, intendedNs int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.states[tp].ackedNs > intendedNs
}

// ackedSince reports whether every partition has an acknowledged produce that
// was due at ns or later, and names one that has not.
func (b *outageBook) ackedSince(ns int64) (missing kafka.TopicPartition, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, tp := range b.sample {
		if s := b.states[tp]; s.ackedNs == 0 || s.ackedNs < ns {
			return tp, false
		}
	}
	return missing, true
}

// begin forgets what was before the fault.
func (b *outageBook) begin(ns int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fromNs = ns
	for _, s := range b.states {
		if s.failed.intendedNs < ns {
			s.failed = failure{}
		}
		s.acks = slices.DeleteFunc(s.acks, func(a acks) bool { return a.intendedNs < ns })
	}
}

// outage is how long a partition was not to be produced to: from the intended
// time of the first produce that failed until the first acknowledgement of a
// later one that shows its end. ended is false where none came.
type outage struct {
	partition kafka.TopicPartition
	ns        int64
	ended     bool
}

// outages lists the partitions that had one, in order. Call it when nothing is produced any more.
func (b *outageBook) outages() []outage {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []outage
	for _, tp := range b.sample {
		s := b.states[tp]
		if s.failed.intendedNs == 0 {
			continue
		}
		o := outage{partition: tp}
		for _, a := range s.acks {
			if ns := a.doneNs - s.failed.intendedNs; a.ends(s.failed) && (!o.ended || ns < o.ns) {
				o.ns, o.ended = ns, true
			}
		}
		out = append(out, o)
	}
	return out
}
