package etcdraft

import (
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"sort"

	etcd "go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
	"kbench/kraftcontroller/raftclient"
)

// scanBytes is how much of the log is read at once to count its batches.
const scanBytes = 4 << 20

// entry is where one entry of the library, one batch, is in the log.
type entry struct {
	base  kafka.Offset
	size  int32
	epoch kafka.LeaderEpoch
}

// applied is how far this node knows that the log is committed when it starts:
// the library applies again what is behind it.
type applied struct {
	index  uint64
	offset kafka.Offset // its end
	quorum raft.Quorum  // that counts there
}

// storage is the library's view of the log. It runs ahead of the files by the
// effects of the present step; what it has not been told is durable, the library
// has in memory and does not ask for.
type storage struct {
	log     *metalog.Log
	anchors anchors
	hard    *pb.HardState
	conf    *pb.ConfState

	first      uint64            // the index of entries[0]
	start, end kafka.Offset      // of the log
	before     kafka.LeaderEpoch // of the entry before the first
	entries    []entry           // by index
	snapshot   raft.SnapshotID   // the latest, of offset 0 for none
	changed    kafka.Offset      // the end of the last change of the voters, committed or not
}

func newStorage(p raftclient.Parts) (*storage, applied, error) {
	q := p.Persisted.QuorumState
	s := &storage{
		log: p.Log, hard: &pb.HardState{},
		start: p.Persisted.LogStart, end: p.Persisted.LogStart, before: p.Persisted.StartEpoch, snapshot: p.Persisted.Snapshot,
	}
	if err := s.scan(); err != nil {
		return nil, applied{}, err
	}
	var err error
	if s.anchors, err = openAnchors(p.FS, p.Dir, p.Log.StartOffset()); err != nil {
		return nil, applied{}, err
	}
	if err := s.count(); err != nil {
		return nil, applied{}, err
	}
	at, err := s.known(p)
	if err != nil {
		return nil, applied{}, err
	}
	epoch := max(q.LeaderEpoch, s.lastEpoch())
	s.hard.Term, s.hard.Vote, s.hard.Commit = new(uint64(epoch)), new(uint64(0)), new(at.index)
	if q.VotedKey.ID != raft.None && q.LeaderEpoch == epoch {
		s.hard.Vote = new(idOf(q.VotedKey.ID))
	}
	s.conf = confState(at.quorum.Voters)
	return s, at, nil
}

// known gives what is committed for certain when the node starts: what the
// latest snapshot holds, and the last change of the voters that took effect.
func (s *storage) known(p raftclient.Parts) (applied, error) {
	at := applied{index: s.first - 1, offset: s.start, quorum: raft.Quorum{Voters: p.Config.Voters}}
	if len(p.Persisted.Quorum.Voters) > 0 {
		at.quorum = p.Persisted.Quorum
	}
	list, err := readAnchors(p.FS, filepath.Join(p.Dir, appliedFile))
	if err != nil {
		return at, err
	}
	for _, end := range append(list, anchor{end: s.snapshot.EndOffset}) {
		// One that the log does not reach is of a log that is gone.
		if i, ok := s.entriesTo(end.end); ok && end.end > at.offset {
			at.index, at.offset = s.first+uint64(i)-1, end.end
		}
	}
	for _, c := range p.Persisted.Changes {
		s.changed = max(s.changed, c.Offset+1)
		if c.Offset < s.snapshot.EndOffset || c.Offset >= at.offset {
			continue
		}
		at.quorum = changed(at.quorum, c)
	}
	return at, nil
}

// scan notes every batch of the log.
func (s *storage) scan() error {
	for s.end < s.log.EndOffset() {
		raw, err := s.log.Read(s.end, scanBytes)
		if err != nil {
			return err
		}
		for len(raw) > 0 {
			h, err := metalog.ReadHeader(raw)
			if err != nil {
				return fmt.Errorf("count the batches of the log at offset %d: %w", s.end, err)
			}
			if len(s.entries) == 0 {
				s.start = h.BaseOffset
			}
			s.note(h)
			raw = raw[h.SizeBytes:]
		}
	}
	return nil
}

func (s *storage) note(h metalog.Header) {
	s.entries = append(s.entries, entry{h.BaseOffset, int32(h.SizeBytes), h.Epoch})
	s.end = h.EndOffset
}

// count finds the index of the first entry by the lowest anchor in the log: one
// above may be of a snapshot that never came to be.
func (s *storage) count() error {
	for _, a := range s.anchors.list {
		if i, ok := s.entriesTo(a.end); ok && a.index >= uint64(i) {
			s.first = a.index - uint64(i) + 1
			s.anchors.list = []anchor{a}
			return nil
		}
	}
	return fmt.Errorf("%s knows no index of a log from offset %d to %d: restore the directory, or remove it and let the node get the log again from the quorum", s.anchors.path, s.start, s.end)
}

// entriesTo is how many entries lie below offset; false where no entry ends there.
func (s *storage) entriesTo(offset kafka.Offset) (int, bool) {
	i := sort.Search(len(s.entries), func(i int) bool { return s.entries[i].base >= offset })
	if i == len(s.entries) {
		return i, offset == s.end
	}
	return i, s.entries[i].base == offset
}

func (s *storage) lastIndex() uint64 { return s.first + uint64(len(s.entries)) - 1 }

func (s *storage) lastEpoch() kafka.LeaderEpoch {
	if n := len(s.entries); n > 0 {
		return s.entries[n-1].epoch
	}
	return s.before
}

// endOf is the offset behind the entry of an index, the log start for the one
// before the first.
func (s *storage) endOf(index uint64) kafka.Offset {
	switch {
	case index < s.first:
		return s.start
	case index >= s.lastIndex():
		return s.end
	}
	return s.entries[index-s.first+1].base
}

// truncate drops the entries from index on and says where the log ends then.
func (s *storage) truncate(index uint64) kafka.Offset {
	s.end = s.endOf(index - 1)
	s.entries = s.entries[:index-s.first]
	s.changed = min(s.changed, s.end)
	return s.end
}

// moveStart drops the entries that lie below offset.
func (s *storage) moveStart(offset kafka.Offset) {
	i, _ := s.entriesTo(offset)
	if i == 0 {
		return
	}
	s.before = s.entries[i-1].epoch
	s.entries = append([]entry(nil), s.entries[i:]...)
	s.first, s.start = s.first+uint64(i), offset
}

// restart makes the log empty behind a snapshot.
func (s *storage) restart(id raft.SnapshotID, index uint64) {
	s.first, s.start, s.end, s.before = index+1, id.EndOffset, id.EndOffset, id.Epoch
	s.entries, s.snapshot = nil, id
}

// InitialState implements the library's Storage.
func (s *storage) InitialState() (*pb.HardState, *pb.ConfState, error) { return s.hard, s.conf, nil }

// FirstIndex implements the library's Storage.
func (s *storage) FirstIndex() (uint64, error) { return s.first, nil }

// LastIndex implements the library's Storage.
func (s *storage) LastIndex() (uint64, error) { return s.lastIndex(), nil }

// Term implements the library's Storage.
func (s *storage) Term(index uint64) (uint64, error) {
	switch {
	case index+1 < s.first:
		return 0, etcd.ErrCompacted
	case index > s.lastIndex():
		return 0, etcd.ErrUnavailable
	case index+1 == s.first:
		return uint64(s.before), nil
	}
	return uint64(s.entries[index-s.first].epoch), nil
}

// Entries implements the library's Storage.
func (s *storage) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	if lo < s.first {
		return nil, etcd.ErrCompacted
	}
	if hi > s.lastIndex()+1 {
		return nil, etcd.ErrUnavailable
	}
	want, size := s.entries[lo-s.first:hi-s.first], uint64(0)
	for i, e := range want {
		if size += uint64(e.size); size > maxSize && i > 0 {
			want = want[:i]
			break
		}
	}
	out := make([]*pb.Entry, 0, len(want))
	for len(out) < len(want) {
		raw, err := s.log.Read(want[len(out)].base, scanBytes)
		if err != nil {
			return nil, err
		}
		if len(raw) == 0 {
			return nil, etcd.ErrUnavailable
		}
		for len(raw) > 0 && len(out) < len(want) {
			h, err := metalog.ReadHeader(raw)
			if err != nil {
				return nil, err
			}
			out = append(out, &pb.Entry{
				Index: new(lo + uint64(len(out))), Term: new(uint64(h.Epoch)), Type: pb.EntryNormal.Enum(), Data: raw[:h.SizeBytes:h.SizeBytes],
			})
			raw = raw[h.SizeBytes:]
		}
	}
	return out, nil
}

// Snapshot implements the library's Storage: the whole latest snapshot, behind
// its end offset.
func (s *storage) Snapshot() (*pb.Snapshot, error) {
	i, ok := s.entriesTo(s.snapshot.EndOffset)
	if s.snapshot.IsBootstrap() || !ok {
		return nil, etcd.ErrSnapshotTemporarilyUnavailable
	}
	r, err := s.log.OpenSnapshot(metalog.SnapshotID(s.snapshot))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, 8+r.Size())
	binary.BigEndian.PutUint64(data, uint64(s.snapshot.EndOffset))
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, r.Size()), data[8:]); err != nil {
		return nil, fmt.Errorf("read snapshot %v: %w", r.ID(), err)
	}
	return &pb.Snapshot{Data: data, Metadata: &pb.SnapshotMetadata{
		ConfState: s.conf, Index: new(s.first + uint64(i) - 1), Term: new(uint64(s.snapshot.Epoch)),
	}}, nil
}

// idOf is the library's id of a node, for which 0 is nobody.
func idOf(id kafka.BrokerID) uint64 { return uint64(id) + 1 }

// nodeOf is the node of a library's id, raft.None for nobody.
func nodeOf(id uint64) kafka.BrokerID { return kafka.BrokerID(int64(id) - 1) }
