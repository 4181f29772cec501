package raftclient

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

const (
	// maxBatchBytes is Kafka's largest batch of the metadata log.
	maxBatchBytes = 8 << 20
	// maxTogether bounds the records of appends that share a batch. Whoever reads
	// the log takes a batch as a whole: a larger one keeps the first of its records
	// from brokers until all are there, and brokers that are at work on it differ
	// for as long.
	maxTogether = 10_000
	// maxWaitingBytes bounds what waits to be written: the size of Kafka's pool of
	// ten batches.
	maxWaitingBytes = 10 * maxBatchBytes
)

// accumulator gathers the appends of one leader epoch into batches. Offsets
// are given out at once, so that a controller can replay what it wrote before
// it is durable; the machine must give the same ones when the batch is drained.
// Only a change of the voters appends in between: it takes out what waits with
// pause and goes on behind itself with resume, and waits for whoever has
// reserved the next offset.
type accumulator struct {
	linger time.Duration
	now    func() time.Time
	wake   func() // tells the owner that there is something to drain, or a new deadline

	mu      sync.Mutex
	drained sync.Cond // that there is room, or that the epoch is over
	open    bool
	paused  bool // a control record is on its way into the log
	reserve bool // the next offset is somebody's
	epoch   kafka.LeaderEpoch
	next    kafka.Offset
	waiting []*pendingBatch // all but the last are full
}

type pendingBatch struct {
	base    kafka.Offset
	epoch   kafka.LeaderEpoch
	records []metalog.Record
	bytes   int
	due     time.Time
	full    bool
}

func newAccumulator(linger time.Duration, now func() time.Time, wake func()) *accumulator {
	a := &accumulator{linger: linger, now: now, wake: wake}
	a.drained.L = &a.mu
	return a
}

// begin starts an epoch whose next offset is next.
func (a *accumulator) begin(epoch kafka.LeaderEpoch, next kafka.Offset) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open, a.paused, a.epoch, a.next, a.waiting = true, false, epoch, next, nil
	a.drained.Broadcast()
}

// end drops what was not drained: it was never promised to be durable.
func (a *accumulator) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open, a.paused, a.waiting = false, false, nil
	a.drained.Broadcast()
}

// append adds values as records of one batch and gives the last one's offset.
// It waits while maxWaitingBytes are not drained, which the end of the epoch ends
// as well.
func (a *accumulator) append(epoch kafka.LeaderEpoch, values [][]byte) (kafka.Offset, error) {
	size, err := checkSize(values)
	if err != nil {
		return kafka.NoOffset, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var b *pendingBatch
	for b == nil {
		for a.paused && a.open {
			a.drained.Wait()
		}
		if !a.open || epoch != a.epoch {
			return kafka.NoOffset, fmt.Errorf("append in epoch %d: %w", epoch, kafka.NotLeaderOrFollower)
		}
		if b = a.room(size, len(values)); b == nil {
			a.drained.Broadcast() // whoever pauses may make room
			a.drained.Wait()
		}
	}
	for _, v := range values {
		r := metalog.Record{Value: v}
		b.bytes += metalog.RecordBytes(len(b.records), r)
		b.records = append(b.records, r)
	}
	a.next += kafka.Offset(len(values))
	if len(b.records) == len(values) || b.due.Compare(a.now()) <= 0 {
		a.wake()
	}
	return a.next - 1, nil
}

// reserved gives the offset of the next record and keeps control records from
// it until release, which must follow soon. False where epoch is over.
func (a *accumulator) reserved(epoch kafka.LeaderEpoch) (kafka.Offset, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.paused && a.open {
		a.drained.Wait()
	}
	if !a.open || epoch != a.epoch {
		return kafka.NoOffset, false
	}
	a.reserve = true
	return a.next, true
}

func (a *accumulator) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reserve = false
	a.drained.Broadcast()
}

// pause takes out all that waits, on the goroutine that drains, and makes
// appends wait until resume. It is called again until it gives nothing: as long
// as the next offset is reserved, more can come.
func (a *accumulator) pause() []*pendingBatch {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.open && a.reserve && a.waitingBytes() < maxWaitingBytes {
		a.drained.Wait()
	}
	ready := a.waiting
	a.waiting = nil
	a.paused = !a.reserve
	a.drained.Broadcast()
	return ready
}

// resume goes on at next.
func (a *accumulator) resume(next kafka.Offset) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused, a.next = false, next
	a.drained.Broadcast()
}

func checkSize(values [][]byte) (int, error) {
	size := 0
	for i, v := range values {
		size += metalog.RecordBytes(i, metalog.Record{Value: v}) + 4 // a later place in the batch takes up to 4 bytes more
	}
	switch {
	case len(values) == 0:
		return 0, errors.New("append: no records")
	case size > maxBatchBytes-metalog.HeaderBytes:
		return 0, fmt.Errorf("append: %d records of %d bytes do not fit one batch of %d: %w", len(values), size, maxBatchBytes, kafka.RecordListTooLarge)
	}
	return size, nil
}

// waitingBytes is the size of what waits.
func (a *accumulator) waitingBytes() (size int) {
	for _, b := range a.waiting {
		size += b.bytes
	}
	return size
}

// room gives the open batch if so many more bytes and records fit into it, else a
// new one; nil where too much waits.
func (a *accumulator) room(size, records int) *pendingBatch {
	if n := len(a.waiting); n > 0 {
		last := a.waiting[n-1]
		if last.bytes+size <= maxBatchBytes && len(last.records)+records <= maxTogether {
			return last
		}
		if !last.full {
			last.full = true
			a.wake()
		}
	}
	if a.waitingBytes() >= maxWaitingBytes {
		return nil
	}
	b := &pendingBatch{base: a.next, epoch: a.epoch, bytes: metalog.HeaderBytes, due: a.now().Add(a.linger)}
	a.waiting = append(a.waiting, b)
	return b
}

// drain takes out what is full or due. It also gives when the next batch is
// due, zero where none waits.
func (a *accumulator) drain() (ready []*pendingBatch, due time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for len(a.waiting) > 0 {
		b := a.waiting[0]
		if !b.full && b.due.After(now) {
			return ready, b.due
		}
		ready = append(ready, b)
		a.waiting = a.waiting[1:]
		a.drained.Broadcast()
	}
	return ready, time.Time{}
}
