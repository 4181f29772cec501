package batch

import (
	"cmp"
	"slices"

	"kbench/kafka"
)

const (
	// keptBatches is how many batches of one producer are remembered, Kafka's
	// five: a client has at most five requests in flight.
	keptBatches = 5
	// maxProducers bounds the producers remembered for one partition; past it
	// the one that has been silent for longest is forgotten, and its next
	// batch is accepted whatever its sequence (KIP-360).
	maxProducers = 64
)

// Producers is the state of the idempotent producers of one partition. The
// zero value is empty.
type Producers struct {
	byID map[int64]*producer
}

// producer remembers the last batches of one producer, oldest first, all of
// its current epoch.
type producer struct {
	epoch int16
	last  []Header
}

// Check says whether a batch may be appended. A repetition of one of the last
// five batches of its producer gives duplicate and the offset it has already;
// otherwise a code other than NONE is the refusal: INVALID_PRODUCER_EPOCH for
// an older epoch, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap. A producer that is
// not known is accepted at any sequence.
func (p *Producers) Check(h Header) (at kafka.Offset, duplicate bool, code kafka.ErrorCode) {
	known := p.byID[h.ProducerID]
	if h.ProducerID == NoProducer || known == nil {
		return 0, false, kafka.None
	}
	switch {
	case h.ProducerEpoch < known.epoch:
		return 0, false, kafka.InvalidProducerEpoch
	case h.ProducerEpoch > known.epoch:
		if h.BaseSequence != 0 {
			return 0, false, kafka.OutOfOrderSequenceNumber
		}
		return 0, false, kafka.None
	}
	for _, old := range known.last {
		if old.BaseSequence == h.BaseSequence && old.Count == h.Count {
			return old.BaseOffset, true, kafka.None
		}
	}
	newest := known.last[len(known.last)-1]
	if h.BaseSequence != addSequence(newest.LastSequence(), 1) {
		return 0, false, kafka.OutOfOrderSequenceNumber
	}
	return 0, false, kafka.None
}

// Add records an appended batch at h.BaseOffset.
func (p *Producers) Add(h Header) {
	if h.ProducerID == NoProducer {
		return
	}
	if p.byID == nil {
		p.byID = map[int64]*producer{}
	}
	known := p.byID[h.ProducerID]
	if known == nil {
		if len(p.byID) >= maxProducers {
			p.forgetOldest()
		}
		known = &producer{}
		p.byID[h.ProducerID] = known
	}
	if known.epoch != h.ProducerEpoch {
		known.epoch, known.last = h.ProducerEpoch, known.last[:0]
	}
	if len(known.last) == keptBatches {
		known.last = slices.Delete(known.last, 0, 1)
	}
	known.last = append(known.last, h)
}

func (p *Producers) forgetOldest() {
	oldest, at := NoProducer, kafka.Offset(0)
	for id, k := range p.byID {
		newest := k.last[len(k.last)-1].BaseOffset
		if oldest == NoProducer || newest < at || newest == at && id < oldest {
			oldest, at = id, newest
		}
	}
	delete(p.byID, oldest)
}

// Truncate forgets the batches that reach past end.
func (p *Producers) Truncate(end kafka.Offset) {
	for id, k := range p.byID {
		k.last = slices.DeleteFunc(k.last, func(h Header) bool { return h.Next() > end })
		if len(k.last) == 0 {
			delete(p.byID, id)
		}
	}
}

// AppendTail appends the offsets from..end as batches without records, those
// of remembered producer batches with their sequences.
func (p *Producers) AppendTail(dst []byte, from, end kafka.Offset, epoch kafka.LeaderEpoch) []byte {
	for _, h := range p.since(from) {
		if h.Next() > end {
			break
		}
		dst = AppendSpan(dst, from, h.BaseOffset, epoch)
		dst = AppendEmpty(dst, h)
		from = h.Next()
	}
	return AppendSpan(dst, from, end, epoch)
}

// since gives the remembered batches that begin at or after from, by offset.
func (p *Producers) since(from kafka.Offset) []Header {
	var tail []Header
	for _, k := range p.byID {
		for _, h := range k.last {
			if h.BaseOffset >= from {
				tail = append(tail, h)
			}
		}
	}
	slices.SortFunc(tail, func(a, b Header) int { return cmp.Compare(a.BaseOffset, b.BaseOffset) })
	return tail
}
