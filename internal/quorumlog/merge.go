package quorumlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// put writes an entry.
type put func(l line, raw []byte) error

// storeSnapshots writes the newest snapshot of each voter, equal ones once.
func storeSnapshots(voters []Voter, put put) error {
	held := map[metalog.SnapshotID][]Voter{}
	for _, v := range voters {
		ids, err := metalog.Snapshots(v.Dir)
		if err != nil {
			return fmt.Errorf("snapshots of voter %d: %w", v.ID, err)
		}
		if n := len(ids); n > 0 && ids[n-1].EndOffset > 0 { // formatting writes one that ends at 0
			held[ids[n-1]] = append(held[ids[n-1]], v)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(held), metalog.SnapshotID.Compare) {
		if err := storeSnapshot(id, held[id], put); err != nil {
			return fmt.Errorf("snapshot %v: %w", id, err)
		}
	}
	return nil
}

func storeSnapshot(id metalog.SnapshotID, voters []Voter, put put) error {
	for len(voters) > 0 {
		raw, err := os.ReadFile(filepath.Join(voters[0].Dir, id.FileName()))
		if errors.Is(err, fs.ErrNotExist) { // a newer one has replaced it
			voters = voters[1:]
			continue
		}
		if err != nil {
			return err
		}
		l := line{Held: []kafka.BrokerID{voters[0].ID}, Snapshot: id.FileName()}
		var others []Voter
		for _, v := range voters[1:] {
			other, err := os.ReadFile(filepath.Join(v.Dir, id.FileName()))
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return err
			case bytes.Equal(raw, other):
				l.Held = append(l.Held, v.ID)
			default:
				others = append(others, v)
			}
		}
		if err := put(l, raw); err != nil {
			return err
		}
		voters = others
	}
	return nil
}

// reader is where the reading of one voter's log has come to.
type reader struct {
	id   kafka.BrokerID
	next func() ([]byte, error, bool)
	stop func()
	raw  []byte // the batch it stands at; nil at the end
	at   kafka.Offset
}

func (r *reader) step() error {
	raw, err, ok := r.next()
	if err != nil {
		return fmt.Errorf("voter %d: %w", r.id, err)
	}
	if r.raw = raw; !ok {
		return nil
	}
	h, err := metalog.ReadHeader(raw)
	r.at = h.BaseOffset
	return err
}

// storeBatches writes the batches of all logs in order of offset, equal ones
// once.
func storeBatches(voters []Voter, put put) error {
	readers := make([]*reader, 0, len(voters))
	for _, v := range voters {
		r := &reader{id: v.ID}
		r.next, r.stop = iter.Pull2(metalog.Batches(v.Dir))
		defer r.stop()
		if err := r.step(); err != nil {
			return err
		}
		if r.raw == nil && !hasLog(v.Dir) {
			return fmt.Errorf("voter %d has no metadata log in %s", v.ID, v.Dir)
		}
		readers = append(readers, r)
	}
	for {
		first := lowest(readers)
		if first == nil {
			return nil
		}
		l := line{}
		var equal []*reader
		for _, r := range readers {
			if r.raw != nil && r.at == first.at && bytes.Equal(r.raw, first.raw) {
				l.Held, equal = append(l.Held, r.id), append(equal, r)
			}
		}
		if err := put(l, first.raw); err != nil {
			return err
		}
		for _, r := range equal {
			if err := r.step(); err != nil {
				return err
			}
		}
	}
}

func hasLog(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// lowest gives the reader that stands at the lowest offset, nil where all are at
// their ends.
func lowest(readers []*reader) *reader {
	var first *reader
	for _, r := range readers {
		if r.raw != nil && (first == nil || r.at < first.at) {
			first = r
		}
	}
	return first
}
