package raft

import (
	"time"

	"kbench/kafka"
)

// following is the state of a Follower.
type following struct {
	fetchBy time.Duration // campaigns then, if no fetch was good
	fetched bool          // a fetch from this leader was good
	// awaitsFlush says that the fetch timeout stands still until what was
	// fetched is durable: a slow disk of ours is not a dead leader.
	awaitsFlush bool
	snapshot    *fetchingSnapshot
	updateAt    time.Duration // when to look whether the voter set is right about this node
	updated     bool          // the leader of static voters knows what this one supports
}

func (m *Machine) resetFetchTimeout() {
	m.follow.awaitsFlush = m.mustFlush() && m.flushed < m.log.end
	m.follow.fetchBy = m.now + m.cfg.FetchTimeout
	if m.follow.awaitsFlush {
		m.follow.fetchBy = Never
	}
}

func (m *Machine) pollFollower() {
	late := m.now >= m.follow.fetchBy
	switch {
	case m.mayCampaign() && late:
		m.campaign()
	case m.pollVoterSet():
	case m.follow.snapshot != nil:
		m.pollSnapshot()
	case !m.isVoter && (late || m.peerOf(m.leaderID).retryAt > m.now):
		// The leader may be gone; any voter can tell who leads now.
		if m.peerOf(m.leaderID).sent == 0 {
			m.fetchFromBootstrap()
		}
	default:
		m.fetchFrom(m.leaderID)
	}
}

// fetchFromBootstrap asks any voter, in the hope that it leads or knows who
// does.
func (m *Machine) fetchFromBootstrap() {
	if !m.mayFetch() {
		return
	}
	if id, ok := m.anyBootstrap(); ok {
		m.sendFetch(id)
	}
}

func (m *Machine) fetchFrom(id kafka.BrokerID) {
	if m.mayFetch() && m.canSend(id) {
		m.sendFetch(id)
	}
}

// mayFetch reports whether this node holds durably what its next fetch
// acknowledges.
func (m *Machine) mayFetch() bool {
	return !m.leaving && m.installing == SnapshotID{} && (!m.mustFlush() || m.flushed >= m.log.end)
}

func (m *Machine) sendFetch(id kafka.BrokerID) {
	m.send(id, FetchRequest{
		ClusterID: m.clusterID(), Replica: m.self(), CurrentLeaderEpoch: m.epoch,
		FetchOffset: m.log.end, LastFetchedEpoch: m.log.lastEpoch(),
		MaxWait: m.cfg.FetchMaxWait, MaxBytes: m.cfg.FetchMaxBytes, HighWatermark: m.hw,
	})
}

// handleFetchResponse takes records, the order to truncate, or the order to
// fetch a snapshot.
func (m *Machine) handleFetchResponse(r FetchResponse) bool {
	if handled, ok := m.handleCommon(r.Error, r.PartitionError, r.LeaderID, r.LeaderEpoch); handled {
		return ok
	}
	if m.state != Follower {
		return false
	}
	switch {
	case r.Diverging != nil:
		if !m.truncateTo(*r.Diverging) {
			return false
		}
	case r.Snapshot != nil:
		if !m.startSnapshot(*r.Snapshot) {
			return false
		}
	default:
		if m.log.accepts(r.Batches, m.epoch) != nil {
			return false
		}
		if len(r.Batches) > 0 {
			m.appendFetched(r)
		}
		m.followHighWatermark(r.HighWatermark)
	}
	m.follow.fetched = true
	m.resetFetchTimeout()
	return true
}

func (m *Machine) appendFetched(r FetchResponse) {
	for _, b := range r.Batches {
		m.log.append(b)
		m.changeQuorum(b.Changes)
	}
	m.eff.Log = append(m.eff.Log, LogAppend{Batches: r.Batches, Records: r.Records})
}

// truncateTo drops what the leader does not have (KIP-595). Below the high
// watermark that would lose committed records, so it is fatal.
func (m *Machine) truncateTo(end EpochEndOffset) bool {
	if end.Epoch < 0 || end.EndOffset < 0 {
		return false
	}
	to := m.log.divergesAt(end)
	if to < m.hw || to < m.log.start {
		m.fatal("leader %d of epoch %d asks to truncate to offset %d (its epoch %d ends at %d), below the high watermark %d: committed records would be lost",
			m.leaderID, m.epoch, to, end.Epoch, end.EndOffset, m.hw)
		return false
	}
	m.truncate(to)
	return true
}

func (m *Machine) followHighWatermark(hw kafka.Offset) {
	m.hw = max(m.hw, min(hw, m.log.end))
}
