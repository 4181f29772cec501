package metalog

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"kbench/kafka"
)

// Quorum is what a snapshot says of the quorum: the level of kraft.version and
// the voters. The zero value is a quorum of static voters, of which nothing is
// written.
type Quorum struct {
	Level  int16
	Voters []Voter
}

// Unchanged is the Level of a QuorumChange that has none.
const Unchanged int16 = -1

// QuorumChange is one control record of the log that changes the quorum.
type QuorumChange struct {
	Offset kafka.Offset
	Level  int16   // Unchanged, or the new level of kraft.version
	Voters []Voter // nil, or the new voter set
}

// QuorumChanges gives what the control records of a batch change, in order.
func (b Batch) QuorumChanges() ([]QuorumChange, error) {
	if !b.Control {
		return nil, nil
	}
	var changes []QuorumChange
	for i, rec := range b.Records {
		t, err := ControlTypeOf(rec.Key)
		if err != nil {
			return nil, err
		}
		c := QuorumChange{Offset: b.BaseOffset + kafka.Offset(i), Level: Unchanged}
		switch t {
		case KRaftVersionType:
			v, err := ParseKRaftVersion(rec.Value)
			if err != nil {
				return nil, err
			}
			c.Level = v.Level
		case KRaftVotersType:
			v, err := ParseVoters(rec.Value)
			if err != nil {
				return nil, err
			}
			c.Voters = append([]Voter{}, v.Voters...)
		default:
			continue
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// noteBatch takes what the log must know of a batch that it holds.
func (l *Log) noteBatch(h Header, raw []byte) error {
	l.epochs = withEpoch(l.epochs, h)
	if !h.Control {
		return nil
	}
	b, _, err := ReadBatch(raw)
	if err != nil {
		return err
	}
	changes, err := b.QuorumChanges()
	if err != nil {
		return fmt.Errorf("%w at offset %d: %w", ErrCorrupt, h.BaseOffset, err)
	}
	l.changes = append(l.changes, changes...)
	return nil
}

// QuorumChanges gives a copy of the changes of the quorum in the records that
// the log holds, in order.
func (l *Log) QuorumChanges() []QuorumChange {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clone(l.changes)
}

// SnapshotQuorum reads from a snapshot what it says of the quorum.
func (l *Log) SnapshotQuorum(id SnapshotID) (Quorum, error) {
	r, err := l.OpenSnapshot(id)
	if err != nil {
		return Quorum{}, err
	}
	_, err = r.next()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return r.quorum, errors.Join(err, r.Close())
}
