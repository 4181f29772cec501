package raft

import "kbench/kafka"

// fetchingSnapshot is a snapshot on its way from the leader.
type fetchingSnapshot struct {
	id       SnapshotID
	position int64 // bytes that came
}

// startSnapshot begins to fetch a snapshot instead of records (KIP-630).
func (m *Machine) startSnapshot(id SnapshotID) bool {
	if id.EndOffset < 0 || id.Epoch < 0 || id.IsBootstrap() {
		return false
	}
	if id.EndOffset < m.hw {
		m.fatal("leader %d of epoch %d asks to replace the log by a snapshot that ends at offset %d, below the high watermark %d", m.leaderID, m.epoch, id.EndOffset, m.hw)
		return false
	}
	m.follow.snapshot = &fetchingSnapshot{id: id}
	return true
}

func (m *Machine) pollSnapshot() {
	if m.leaving || m.installing != (SnapshotID{}) || !m.canSend(m.leaderID) {
		return
	}
	s := m.follow.snapshot
	m.send(m.leaderID, FetchSnapshotRequest{
		ClusterID: m.clusterID(), Replica: m.self(), CurrentLeaderEpoch: m.epoch,
		Snapshot: s.id, Position: s.position, MaxBytes: m.cfg.SnapshotMaxBytes,
	})
}

// handleFetchSnapshotResponse takes the next bytes of a snapshot. An answer
// that does not fit, or an error, drops the snapshot: the next fetch starts
// afresh.
func (m *Machine) handleFetchSnapshotResponse(r FetchSnapshotResponse) bool {
	s := m.follow.snapshot
	wrong := m.state != Follower || s == nil
	if !wrong && r.Error == kafka.None && (r.PartitionError == kafka.SnapshotNotFound || r.PartitionError == kafka.PositionOutOfRange) && r.LeaderEpoch == m.epoch {
		m.follow.snapshot = nil
		m.resetFetchTimeout()
		return false
	}
	if handled, ok := m.handleCommon(r.Error, r.PartitionError, r.LeaderID, r.LeaderEpoch); handled {
		return ok
	}
	end := r.Position + int64(len(r.Data))
	if wrong || r.Snapshot != s.id || r.Position != s.position || end > r.Size || (len(r.Data) == 0 && end < r.Size) {
		m.follow.snapshot = nil
		return false
	}
	s.position = end
	m.eff.Snapshot = &Snapshot{ID: s.id, Position: r.Position, Data: r.Data, Done: end == r.Size}
	if end == r.Size {
		m.follow.snapshot = nil
		m.installing = s.id
	}
	m.resetFetchTimeout()
	return true
}

func (m *Machine) handleSnapshotInstalled(id SnapshotID, q Quorum) {
	if id != m.installing || id == (SnapshotID{}) {
		m.fatal("snapshot %d-%d was installed, but the machine asked for %d-%d", id.EndOffset, id.Epoch, m.installing.EndOffset, m.installing.Epoch)
		return
	}
	m.installing = SnapshotID{}
	m.log.reset(id)
	m.history = newMembership(m.cfg.Voters, Persisted{Snapshot: id, Quorum: q})
	m.useQuorum()
	m.flushed, m.flush.end = id.EndOffset, id.EndOffset
	m.hw = max(m.hw, id.EndOffset)
	if m.state == Follower {
		m.resetFetchTimeout()
	}
}

func (m *Machine) handleSnapshotTaken(id SnapshotID) {
	if id.EndOffset > m.hw || id.EndOffset < m.log.start {
		m.fatal("snapshot %d-%d was taken outside of the committed log [%d, %d)", id.EndOffset, id.Epoch, m.log.start, m.hw)
		return
	}
	if e := m.log.epochBefore(id.EndOffset); id.EndOffset > m.log.start && id.Epoch != e {
		m.fatal("snapshot %d-%d was taken where the log has epoch %d", id.EndOffset, id.Epoch, e)
		return
	}
	if id.EndOffset > m.log.snapshot.EndOffset {
		m.log.snapshot = id
		m.forgetQuorums(id.EndOffset)
	}
}

func (m *Machine) handleLogStartMoved(to kafka.Offset) {
	if to > m.log.snapshot.EndOffset || to > m.log.end {
		m.fatal("log start moved to offset %d, above the latest snapshot's end %d", to, m.log.snapshot.EndOffset)
		return
	}
	if to > m.log.start {
		m.log.moveStart(to)
	}
}

// handleFetchSnapshot answers FetchSnapshot as the leader:
// INCONSISTENT_CLUSTER_ID, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
// NOT_LEADER_OR_FOLLOWER, SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE,
// INVALID_REQUEST; whether an older snapshot is still there and how long it is,
// the driver finds out.
func (m *Machine) handleFetchSnapshot(r FetchSnapshotRequest) FetchSnapshotResponse {
	if !m.sameCluster(r.ClusterID) {
		return FetchSnapshotResponse{Error: kafka.InconsistentClusterID, LeaderID: None}
	}
	a := FetchSnapshotResponse{LeaderID: m.leaderID, LeaderEpoch: m.epoch, Snapshot: r.Snapshot, Position: r.Position}
	switch code := m.validateFollower(r.CurrentLeaderEpoch); {
	case code != kafka.None:
		a.PartitionError = code
	case r.Snapshot.IsBootstrap() || r.Snapshot.EndOffset > m.log.snapshot.EndOffset:
		a.PartitionError = kafka.SnapshotNotFound
	case r.Position < 0:
		a.PartitionError = kafka.PositionOutOfRange
	case r.MaxBytes <= 0:
		a.PartitionError = kafka.InvalidRequest
	default:
		a.ReadChunk, a.MaxBytes = true, r.MaxBytes
		m.signOfLife(r.Replica)
	}
	return a
}

// signOfLife counts a voter that fetches a snapshot as one that fetches.
func (m *Machine) signOfLife(k ReplicaKey) {
	for i, v := range m.voters {
		if v.includes(k) && v.ID != m.cfg.NodeID {
			m.lead.voters[i].fetchedAt = m.now
		}
	}
}
