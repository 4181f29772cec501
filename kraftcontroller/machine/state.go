package machine

import (
	"fmt"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// point is the metadata at one offset of the log.
type point struct {
	last  kafka.Offset
	image *metadata.Image
	// before is the image before the metadata transaction that is open at
	// this offset, nil for none.
	before *metadata.Image
}

// visible is the image without an open transaction.
func (p point) visible() *metadata.Image {
	if p.before != nil {
		return p.before
	}
	return p.image
}

// state is the metadata at the offsets that matter: the last committed one,
// each end of an append that is not committed yet, and the last. Images share
// what they have in common, so to go back is to forget.
type state struct {
	committed point
	// pending are the ends of uncommitted appends, in order. A standby has
	// none. They are bounded by what the log accepts before it commits.
	pending []point
	// registered has the offset of each broker's RegisterBrokerRecord, which
	// a broker must have seen to be unfenced.
	registered map[kafka.BrokerID]kafka.Offset
	// unclean counts the elections of leaders that may have lost records, those
	// that were undone among them.
	unclean int64
}

func newState() state {
	return state{
		committed:  point{last: kafka.NoOffset, image: metadata.Empty()},
		registered: map[kafka.BrokerID]kafka.Offset{},
	}
}

// head is the state with all that was appended.
func (s *state) head() point {
	if n := len(s.pending); n > 0 {
		return s.pending[n-1]
	}
	return s.committed
}

// uncommitted reports whether something appended is not stable yet.
func (s *state) uncommitted() bool { return len(s.pending) > 0 }

// replay gives the state after n records, the first of them at offset base.
func (s *state) replay(from point, base kafka.Offset, epoch kafka.LeaderEpoch, n int, record func(int) (metadata.Record, error)) (point, error) {
	before, delta := from.before, metadata.NewDelta(from.image)
	for i := range n {
		offset := base + kafka.Offset(i)
		r, err := record(i)
		if err != nil {
			return from, fmt.Errorf("record at offset %d: %w", offset, err)
		}
		switch r := r.(type) {
		case *metadata.BeginTransactionRecord:
			if before != nil {
				return from, fmt.Errorf("record at offset %d: a transaction begins within a transaction", offset)
			}
			before = delta.Apply(offset-1, int32(epoch))
			delta = metadata.NewDelta(before)
		case *metadata.EndTransactionRecord:
			if before == nil {
				return from, fmt.Errorf("record at offset %d: a transaction ends that did not begin", offset)
			}
			before = nil
		case *metadata.AbortTransactionRecord:
			if before == nil {
				return from, fmt.Errorf("record at offset %d: a transaction is aborted that did not begin", offset)
			}
			delta, before = metadata.NewDelta(before), nil
		case *metadata.RegisterBrokerRecord:
			s.registered[r.BrokerID] = offset
		case *metadata.FeatureLevelRecord:
			if err := supportedLevel(r); err != nil {
				return from, fmt.Errorf("record at offset %d: %w", offset, err)
			}
		case *metadata.PartitionChangeRecord:
			if r.Leader >= 0 && r.LeaderRecoveryState == kafka.Recovering {
				s.unclean++
			}
		}
		if err := delta.Replay(r); err != nil {
			return from, fmt.Errorf("record at offset %d, %T: %w", offset, r, err)
		}
	}
	last := base + kafka.Offset(n) - 1
	return point{last, delta.Apply(last, int32(epoch)), before}, nil
}

// supportedLevel refuses a feature level that a newer controller finalized: the
// records behind it may mean what this one does not know.
func supportedLevel(r *metadata.FeatureLevelRecord) error {
	known := metadata.SupportedFeatures()[r.Name]
	if r.FeatureLevel == 0 || r.FeatureLevel >= known.Min && r.FeatureLevel <= known.Max {
		return nil
	}
	return fmt.Errorf("feature %s is set to level %d, %d to %d are supported: run a version that knows it on this directory",
		r.Name, r.FeatureLevel, known.Min, known.Max)
}

// skipTo counts the offsets up to last, which are control records, as an
// append that changes nothing.
func (s *state) skipTo(last kafka.Offset) {
	if head := s.head(); last > head.last {
		head.last = last
		s.append(head)
	}
}

// append makes p the head.
func (s *state) append(p point) { s.pending = append(s.pending, p) }

// commit makes the offsets up to last stable, which must end an append.
func (s *state) commit(last kafka.Offset) error {
	done := 0
	for ; done < len(s.pending) && s.pending[done].last <= last; done++ {
		s.committed = s.pending[done]
	}
	if s.committed.last != last {
		return fmt.Errorf("offset %d is committed, which ends no append between the offsets %d and %d", last, s.committed.last, s.head().last)
	}
	clear(s.pending[:done])
	s.pending = s.pending[done:]
	return nil
}

// commitControl is commit for the control records of the quorum: those that the
// claim counted as the first append, those of a change of voters that were
// skipped to, and those that nothing was decided behind yet.
func (s *state) commitControl(last kafka.Offset) error {
	if len(s.pending) == 0 || last < s.pending[0].last {
		s.committed.last = last
		return nil
	}
	return s.commit(last)
}

// revert undoes what is not committed.
func (s *state) revert() {
	s.pending = nil
	for id, offset := range s.registered {
		if offset > s.committed.last {
			delete(s.registered, id)
		}
	}
}

// seen is the offset that a broker must have reached to be unfenced: that of
// its registration.
func (s *state) seen(b *metadata.Broker) kafka.Offset {
	return max(s.registered[b.ID], kafka.Offset(b.Epoch))
}

// stable reports whether nothing that may still be undone has changed b.
func (s *state) stable(b *metadata.Broker) bool {
	committed, ok := s.committed.visible().Broker(b.ID)
	return ok && committed == b
}
