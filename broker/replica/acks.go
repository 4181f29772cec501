package replica

import (
	"slices"

	"kbench/kafka"
)

// Acks waits for the batches of one acks=-1 produce. It belongs to one
// request; make it with NewAcks.
type Acks struct {
	pending int // entries not decided
	sealed  bool
	entries []*ack
	done    chan struct{}
}

// ack is one batch that waits until the high watermark reaches offset.
type ack struct {
	wait   *Acks
	r      *replica // nil once decided
	offset kafka.Offset
	minISR int
	code   kafka.ErrorCode
}

// NewAcks makes a wait for the batches of one request.
func NewAcks() *Acks { return &Acks{done: make(chan struct{})} }

// await adds an entry to a.Wait that ends when offset is committed.
func (m *Manager) await(r *replica, a Append, offset kafka.Offset) {
	if a.Wait == nil {
		return
	}
	e := &ack{wait: a.Wait, offset: offset, minISR: a.MinISR}
	a.Wait.entries = append(a.Wait.entries, e)
	if r.highWatermark >= offset {
		return
	}
	e.r = r
	a.Wait.pending++
	r.ext().acks = append(r.ext().acks, e)
}

// Seal says that no further batch comes and gives a channel that is closed
// when all batches are decided.
func (m *Manager) Seal(w *Acks) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.sealed = true
	if w.pending == 0 {
		close(w.done)
	}
	return w.done
}

// Finish ends a sealed wait and gives the codes of its batches in the order of
// their Appends that were accepted: REQUEST_TIMED_OUT for those not decided.
func (m *Manager) Finish(w *Acks) []kafka.ErrorCode {
	m.mu.Lock()
	defer m.mu.Unlock()
	codes := make([]kafka.ErrorCode, len(w.entries))
	for i, e := range w.entries {
		if e.r != nil {
			e.r.extra.acks = slices.DeleteFunc(e.r.extra.acks, func(o *ack) bool { return o == e })
			e.r, e.code = nil, kafka.RequestTimedOut
			w.pending--
		}
		codes[i] = e.code
	}
	return codes
}

func (e *ack) decide(code kafka.ErrorCode) {
	e.code, e.r = code, nil
	if e.wait.pending--; e.wait.pending == 0 && e.wait.sealed {
		close(e.wait.done)
	}
}

// completeAcks answers the produces that the high watermark has reached.
func (r *replica) completeAcks() {
	r.extra.acks = slices.DeleteFunc(r.extra.acks, func(e *ack) bool {
		if e.offset > r.highWatermark {
			return false
		}
		if r.isrSize() < e.minISR {
			e.decide(notEnoughReplicasAfterAppend)
		} else {
			e.decide(kafka.None)
		}
		return true
	})
}

// wake fails the produces that wait on r, because it leads no longer, and lets
// consumers look again.
func (r *replica) wake(code kafka.ErrorCode) {
	if r.extra == nil {
		return
	}
	for _, e := range r.extra.acks {
		e.decide(code)
	}
	r.extra.acks = nil
	r.wakeWatchers()
}

// ConsumerWait wakes a consumer whose fetch found nothing. Make it with Watch
// and end it with Unwatch.
type ConsumerWait struct {
	Ready    chan struct{} // capacity 1
	replicas []*replica
}

// PartitionRef names a partition by id, or by name where the id is zero.
type PartitionRef struct {
	Topic     string
	TopicID   kafka.UUID
	Partition int32
}

// Watch signals when the high watermark or the leader of a partition changes.
// Partitions that are not held here are left out.
func (m *Manager) Watch(parts []PartitionRef) *ConsumerWait {
	w := &ConsumerWait{Ready: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range parts {
		if r, code := m.resolve(p.Topic, p.TopicID, p.Partition); code == kafka.None {
			r.ext().watchers = append(r.extra.watchers, w)
			w.replicas = append(w.replicas, r)
		}
	}
	return w
}

// Unwatch ends a Watch.
func (m *Manager) Unwatch(w *ConsumerWait) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range w.replicas {
		r.extra.watchers = slices.DeleteFunc(r.extra.watchers, func(o *ConsumerWait) bool { return o == w })
	}
	w.replicas = nil
}

func (r *replica) wakeWatchers() {
	for _, w := range r.extra.watchers {
		select {
		case w.Ready <- struct{}{}:
		default:
		}
	}
}
