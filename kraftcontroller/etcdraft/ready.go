package etcdraft

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	etcd "go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// maxRounds bounds how often the library may have news in one step: each round
// ends work that the round before began, and a step begins little.
const maxRounds = 10_000

// drain turns what the library has ready into effects.
func (m *Machine) drain() {
	for range maxRounds {
		if m.eff.Fatal != nil || !m.node.HasReady() {
			return
		}
		rd := m.node.Ready()
		for _, e := range rd.CommittedEntries {
			m.hw = max(m.hw, m.storage.endOf(e.GetIndex()))
			m.applied(e)
		}
		for _, msg := range rd.Messages {
			switch msg.GetTo() {
			case etcd.LocalAppendThread:
				m.store(msg)
			case etcd.LocalApplyThread: // the Client applies from the log
				m.release(msg.GetResponses())
			default:
				m.send(msg)
			}
		}
	}
	m.must(fmt.Errorf("the raft library has news without end"))
}

// store makes effects of what the library wants on disk.
func (m *Machine) store(msg *pb.Message) {
	synced := m.persist(msg)
	if len(msg.GetEntries()) > 0 {
		synced = true
		m.write(msg.GetEntries())
	}
	if snap := msg.GetSnapshot(); !etcd.IsEmptySnap(snap) {
		m.install(snap, msg.GetResponses())
		return
	}
	switch n := len(m.waiting); {
	case synced:
		m.waiting = append(m.waiting, waiting{msg.GetResponses()})
	case n > 0: // not before what came before
		m.waiting[n-1].responses = append(m.waiting[n-1].responses, msg.GetResponses()...)
	default:
		m.release(msg.GetResponses())
	}
}

// persist writes term and vote where they changed; the commit index of the same
// message is not kept.
func (m *Machine) persist(msg *pb.Message) bool {
	if msg.Term == nil {
		return false
	}
	if msg.GetTerm() > math.MaxInt32 {
		m.must(fmt.Errorf("term %d is beyond Kafka's epochs", msg.GetTerm()))
		return false
	}
	q := raft.QuorumState{
		LeaderID: raft.None, LeaderEpoch: kafka.LeaderEpoch(msg.GetTerm()),
		VotedKey: raft.ReplicaKey{ID: nodeOf(msg.GetVote())},
	}
	if q == m.durable {
		return false
	}
	m.durable = q
	m.eff.Persist = &q
	return true
}

// write appends entries, over those that have their index.
func (m *Machine) write(entries []*pb.Entry) {
	s := m.storage
	if at := entries[0].GetIndex(); at <= s.lastIndex() {
		m.eff.Log = append(m.eff.Log, raft.LogTruncate{To: s.truncate(at)})
	}
	var raw []byte
	var batches []raft.Batch
	for _, e := range entries {
		data := e.GetData()
		if len(data) == 0 {
			data = m.opening(e)
		}
		h, err := metalog.ReadHeader(data)
		if err == nil && (h.BaseOffset != s.end || h.SizeBytes != len(data) || uint64(h.Epoch) != e.GetTerm() || e.GetIndex() != s.lastIndex()+1) {
			err = fmt.Errorf("a batch of epoch %d at offset %d where the log ends at %d", h.Epoch, h.BaseOffset, s.end)
		}
		if err != nil {
			m.must(fmt.Errorf("entry %d of term %d: %w", e.GetIndex(), e.GetTerm(), err))
			return
		}
		s.note(h)
		if h.Control && len(e.GetData()) > 0 {
			s.changed = h.EndOffset
		}
		raw = append(raw, data...)
		batches = append(batches, raft.Batch{BaseOffset: h.BaseOffset, LastOffset: h.EndOffset - 1, Epoch: h.Epoch})
	}
	m.eff.Log = append(m.eff.Log, raft.LogAppend{Batches: batches, Records: raw})
}

// opening is the batch of the entry by which a leader opens its term. Every node
// writes the same bytes, so it knows no time and no leader.
func (m *Machine) opening(e *pb.Entry) []byte {
	b := metalog.Batch{
		BaseOffset: m.storage.end, Epoch: kafka.LeaderEpoch(e.GetTerm()), Control: true,
		Records: []metalog.Record{metalog.LeaderChange{Leader: raft.None}.Record()},
	}
	if st := m.node.BasicStatus(); st.RaftState == etcd.StateLeader && st.HardState.GetTerm() == e.GetTerm() && m.opened != b.Epoch {
		m.opened, m.start = b.Epoch, b.BaseOffset
	}
	raw, err := b.Append(nil)
	m.must(err)
	return raw
}

// install begins to replace the log by a snapshot.
func (m *Machine) install(snap *pb.Snapshot, responses []*pb.Message) {
	if len(snap.GetData()) < 8 {
		m.must(fmt.Errorf("a snapshot of %d bytes", len(snap.GetData())))
		return
	}
	in := &install{
		id: raft.SnapshotID{
			EndOffset: kafka.Offset(binary.BigEndian.Uint64(snap.GetData())),
			Epoch:     kafka.LeaderEpoch(snap.GetMetadata().GetTerm()),
		},
		index: snap.GetMetadata().GetIndex(), voters: snap.GetMetadata().GetConfState().GetVoters(), responses: responses,
	}
	m.must(m.storage.anchors.add(anchor{in.id.EndOffset, in.index}))
	m.installing = in
	m.eff.Snapshot = &raft.Snapshot{ID: in.id, Data: snap.GetData()[8:], Done: true}
}

// handleInstalled goes on behind a snapshot. The voters are the sender's, which
// the library uses already: a node that was added after the snapshot would
// refuse it otherwise.
func (m *Machine) handleInstalled(id raft.SnapshotID, level int16) {
	in := m.installing
	if in == nil || in.id != id {
		m.must(fmt.Errorf("snapshot %d-%d was installed that the machine did not ask for", id.EndOffset, id.Epoch))
		return
	}
	m.installing = nil
	m.storage.restart(id, in.index)
	m.hw = max(m.hw, id.EndOffset)
	m.quorum = raft.Quorum{KRaftVersion: level}
	for _, v := range m.cfg.Voters {
		if slices.Contains(in.voters, idOf(v.ID)) {
			m.quorum.Voters = append(m.quorum.Voters, v)
		}
	}
	m.release(in.responses)
}

// handleSnapshotTaken notes the index of a snapshot's end before the log goes
// that it covers.
func (m *Machine) handleSnapshotTaken(id raft.SnapshotID) {
	s := m.storage
	i, ok := s.entriesTo(id.EndOffset)
	if !ok || id.EndOffset > m.hw {
		m.must(fmt.Errorf("snapshot %d-%d was taken outside of the committed log [%d, %d)", id.EndOffset, id.Epoch, s.start, m.hw))
		return
	}
	if id.EndOffset <= s.snapshot.EndOffset {
		return
	}
	s.snapshot = id
	m.must(s.anchors.add(anchor{id.EndOffset, s.first + uint64(i) - 1}))
}
