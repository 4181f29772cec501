package etcdraft

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"

	etcd "go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// parked is a fetch of an observer that waits at the leader for news.
type parked struct {
	id      uint64
	request raft.FetchRequest
	until   time.Duration
	end, hw kafka.Offset // of the leader when it came
}

func (m *Machine) reply(id uint64, msg raft.Message) {
	m.eff.Reply = append(m.eff.Reply, raft.Reply{ID: id, Message: msg})
}

// handleRequest answers the requests of KRaft: those of observers and of who
// changes the voters as KRaft does, those by which its voters agree by
// UNSUPPORTED_VERSION.
func (m *Machine) handleRequest(id uint64, msg raft.Message) {
	const no = kafka.UnsupportedVersion
	switch r := msg.(type) {
	case raft.FetchRequest:
		m.handleFetch(id, r)
	case raft.FetchSnapshotRequest:
		m.reply(id, m.answerSnapshot(r))
	case raft.DescribeQuorumRequest:
		m.reply(id, m.describe())
	case raft.VoteRequest:
		m.reply(id, raft.VoteResponse{Error: no, LeaderID: raft.None})
	case raft.BeginQuorumEpochRequest:
		m.reply(id, raft.BeginQuorumEpochResponse{Error: no, LeaderID: raft.None})
	case raft.EndQuorumEpochRequest:
		m.reply(id, raft.EndQuorumEpochResponse{Error: no, LeaderID: raft.None})
	case raft.AddVoterRequest:
		m.handleAddVoter(id, r)
	case raft.RemoveVoterRequest:
		m.handleRemoveVoter(id, r)
	case raft.UpdateVoterRequest:
		m.reply(id, raft.UpdateVoterResponse{Error: no, LeaderID: raft.None})
	case raft.UpgradeRequest:
		m.handleUpgrade(id, r)
	}
}

func (m *Machine) handleFetch(id uint64, r raft.FetchRequest) {
	role := m.Role()
	if r.ClusterID != nil && *r.ClusterID != m.cfg.ClusterID {
		m.reply(id, raft.FetchResponse{Error: kafka.InconsistentClusterID, LeaderID: raft.None, HighWatermark: kafka.NoOffset})
		return
	}
	if r.MaxWait < 0 || r.FetchOffset < 0 || r.LastFetchedEpoch < 0 || r.LastFetchedEpoch > r.CurrentLeaderEpoch || r.MaxBytes < 0 {
		m.reply(id, m.fetchError(kafka.InvalidRequest, role))
		return
	}
	if code := validateFollower(role, r.CurrentLeaderEpoch); code != kafka.None {
		m.reply(id, m.fetchError(code, role))
		return
	}
	a := m.fetchAnswer(r, role)
	if a.Diverging == nil && a.Snapshot == nil {
		m.observe(r.Replica, r.FetchOffset)
	}
	known := m.cfg.DisableHWPush || a.HighWatermark <= r.HighWatermark
	if a.Read != nil || a.Diverging != nil || a.Snapshot != nil || r.MaxWait == 0 || !known || len(m.parked) >= cmp.Or(m.cfg.MaxParked, raft.DefaultMaxParked) {
		m.reply(id, a)
		return
	}
	m.parked = append(m.parked, parked{id: id, request: r, until: m.now + r.MaxWait, end: m.storage.end, hw: a.HighWatermark})
}

// validateFollower checks the epoch of a request to a leader.
func validateFollower(role raft.Role, epoch kafka.LeaderEpoch) kafka.ErrorCode {
	switch {
	case epoch < role.Epoch:
		return kafka.FencedLeaderEpoch
	case epoch > role.Epoch:
		return kafka.UnknownLeaderEpoch
	case role.State != raft.Leader:
		return kafka.NotLeaderOrFollower
	}
	return kafka.None
}

func (m *Machine) fetchError(code kafka.ErrorCode, role raft.Role) raft.FetchResponse {
	return raft.FetchResponse{
		PartitionError: code, LeaderID: role.LeaderID, LeaderEpoch: role.Epoch,
		HighWatermark: kafka.NoOffset, LogStartOffset: m.storage.start,
	}
}

func (m *Machine) fetchAnswer(r raft.FetchRequest, role raft.Role) raft.FetchResponse {
	a := raft.FetchResponse{
		LeaderID: m.cfg.NodeID, LeaderEpoch: role.Epoch, LogStartOffset: m.storage.start, HighWatermark: m.leaderHW(role),
	}
	a.Diverging, a.Snapshot = m.storage.check(r.FetchOffset, r.LastFetchedEpoch)
	if a.Diverging == nil && a.Snapshot == nil && r.FetchOffset < m.storage.end {
		a.Read = &raft.Read{From: r.FetchOffset, MaxBytes: r.MaxBytes}
	}
	return a
}

// leaderHW is the high watermark that a leader tells: none before an entry of
// its own term is committed.
func (m *Machine) leaderHW(role raft.Role) kafka.Offset {
	if m.hw <= role.EpochStart {
		return kafka.NoOffset
	}
	return m.hw
}

// check says whether an observer whose log ends at offset, with a last record of
// epoch, holds a prefix of this log, as KIP-595 and KIP-630 have it.
func (s *storage) check(offset kafka.Offset, epoch kafka.LeaderEpoch) (*raft.EpochEndOffset, *raft.SnapshotID) {
	switch {
	case offset == 0 && !s.snapshot.IsBootstrap(),
		s.start > 0 && (offset < s.start || offset == s.start && epoch != s.before || epoch < s.before):
		id := s.snapshot
		return nil, &id
	case offset == 0 && s.start == 0:
		return nil, nil
	}
	if end := s.endOfEpoch(epoch); end.Epoch != epoch || end.EndOffset < offset {
		return &end, nil
	}
	return nil, nil
}

// endOfEpoch gives the largest epoch at most epoch that the log has, and its end.
func (s *storage) endOfEpoch(epoch kafka.LeaderEpoch) raft.EpochEndOffset {
	i := sort.Search(len(s.entries), func(i int) bool { return s.entries[i].epoch > epoch })
	e := raft.EpochEndOffset{Epoch: s.before, EndOffset: s.end}
	if i > 0 {
		e.Epoch = s.entries[i-1].epoch
	}
	if i < len(s.entries) {
		e.EndOffset = s.entries[i].base
	}
	return e
}

// answerParked answers the fetches for which there is news, or whose time is
// over, and refuses all where this node leads no more.
func (m *Machine) answerParked() {
	if len(m.parked) == 0 {
		return
	}
	role := m.Role()
	m.parked = slices.DeleteFunc(m.parked, func(p parked) bool {
		switch hw := m.leaderHW(role); {
		case role.State != raft.Leader || role.Epoch != p.request.CurrentLeaderEpoch:
			m.reply(p.id, m.fetchError(kafka.NotLeaderOrFollower, role))
		case m.storage.end > p.end, !m.cfg.DisableHWPush && hw > p.hw, m.now >= p.until:
			m.reply(p.id, m.fetchAnswer(p.request, role))
		default:
			return false
		}
		return true
	})
}

func (m *Machine) answerSnapshot(r raft.FetchSnapshotRequest) raft.FetchSnapshotResponse {
	role := m.Role()
	if r.ClusterID != nil && *r.ClusterID != m.cfg.ClusterID {
		return raft.FetchSnapshotResponse{Error: kafka.InconsistentClusterID, LeaderID: raft.None}
	}
	a := raft.FetchSnapshotResponse{LeaderID: role.LeaderID, LeaderEpoch: role.Epoch, Snapshot: r.Snapshot, Position: r.Position}
	switch code := validateFollower(role, r.CurrentLeaderEpoch); {
	case code != kafka.None:
		a.PartitionError = code
	case r.Snapshot.IsBootstrap() || r.Snapshot.EndOffset > m.storage.snapshot.EndOffset:
		a.PartitionError = kafka.SnapshotNotFound
	case r.Position < 0:
		a.PartitionError = kafka.PositionOutOfRange
	case r.MaxBytes <= 0:
		a.PartitionError = kafka.InvalidRequest
	default:
		a.ReadChunk, a.MaxBytes = true, r.MaxBytes
	}
	return a
}

// observe notes how far an observer has come.
func (m *Machine) observe(k raft.ReplicaKey, end kafka.Offset) {
	if k.ID < 0 {
		return
	}
	st, known := m.observers[k]
	if !known {
		maps.DeleteFunc(m.observers, func(_ raft.ReplicaKey, o raft.ReplicaState) bool { return m.expired(o) })
		if len(m.observers) >= cmp.Or(m.cfg.MaxObservers, raft.DefaultMaxObservers) {
			return
		}
		st.LastCaughtUp = -1
	}
	st.ReplicaKey, st.LogEndOffset, st.LastFetch = k, end, m.now
	if end >= m.storage.end {
		st.LastCaughtUp = m.now
	}
	m.observers[k] = st
}

func (m *Machine) expired(o raft.ReplicaState) bool {
	return m.now-o.LastFetch >= cmp.Or(m.cfg.ObserverExpiry, raft.DefaultObserverExpiry)
}

// describe answers DescribeQuorum. The library does not say when a follower
// answered last.
func (m *Machine) describe() raft.DescribeQuorumResponse {
	role := m.Role()
	r := raft.DescribeQuorumResponse{LeaderID: role.LeaderID, LeaderEpoch: role.Epoch, HighWatermark: kafka.NoOffset}
	if role.State != raft.Leader {
		r.PartitionError = kafka.NotLeaderOrFollower
		return r
	}
	r.HighWatermark = m.leaderHW(role)
	m.node.WithProgress(func(id uint64, _ etcd.ProgressType, pr tracker.Progress) {
		v := raft.ReplicaState{ReplicaKey: raft.ReplicaKey{ID: nodeOf(id)}, LogEndOffset: m.storage.endOf(pr.Match), LastFetch: -1, LastCaughtUp: -1}
		if v.ID == m.cfg.NodeID {
			v.LogEndOffset, v.LastFetch, v.LastCaughtUp = m.storage.end, m.now, m.now
		}
		r.Voters = append(r.Voters, v)
	})
	for _, o := range m.observers {
		if !m.expired(o) {
			r.Observers = append(r.Observers, o)
		}
	}
	byID := func(a, b raft.ReplicaState) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), slices.Compare(a.DirectoryID[:], b.DirectoryID[:]))
	}
	slices.SortFunc(r.Voters, byID)
	slices.SortFunc(r.Observers, byID)
	return r
}
