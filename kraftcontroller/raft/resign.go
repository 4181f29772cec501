package raft

import (
	"cmp"
	"slices"
	"time"

	"kbench/kafka"
)

// resignation is the state of a Resigned.
type resignation struct {
	successors []ReplicaKey
	acked      []bool // as voters
}

// resign ends the leadership and asks the voter that fetched furthest to
// follow.
func (m *Machine) resign() {
	others := make([]progress, 0, len(m.voters))
	for i := range m.otherVoters {
		others = append(others, m.lead.voters[i])
	}
	slices.SortStableFunc(others, func(a, b progress) int { return cmp.Compare(b.end, a.end) })
	successors := make([]ReplicaKey, len(others))
	for i, p := range others {
		successors[i] = p.key
	}
	m.enterResigned(successors)
}

func (m *Machine) enterResigned(successors []ReplicaKey) {
	m.resigned = resignation{successors: successors, acked: make([]bool, len(m.voters))}
	m.electionAt = m.now + m.randomElectionTimeout()
	m.changeRole(Resigned)
}

func (m *Machine) pollResigned() {
	if m.now >= m.electionAt && m.mayLeaveResigned() {
		// Nobody took over. This node must not lead or vote in this epoch again.
		if m.cfg.DisablePreVote && m.isVoter {
			m.campaign()
		} else {
			m.becomeUnattached(m.epoch + 1)
		}
		return
	}
	for i, v := range m.otherVoters {
		if !m.resigned.acked[i] && m.canSend(v.ID) {
			m.send(v.ID, EndQuorumEpochRequest{ClusterID: m.clusterID(), LeaderID: m.cfg.NodeID, LeaderEpoch: m.epoch, PreferredSuccessors: m.resigned.successors})
		}
	}
}

// mayLeaveResigned reports whether the election timeout ends the resignation: a
// node that was removed from the voters goes on as an observer.
func (m *Machine) mayLeaveResigned() bool { return !m.leaving && m.installing == SnapshotID{} }

func (m *Machine) handleEndResponse(from kafka.BrokerID, r EndQuorumEpochResponse) bool {
	if handled, ok := m.handleCommon(r.Error, r.PartitionError, r.LeaderID, r.LeaderEpoch); handled {
		return ok
	}
	if m.state == Resigned {
		for i, v := range m.otherVoters {
			if v.ID == from {
				m.resigned.acked[i] = true
			}
		}
	}
	return true
}

// handleEnd answers EndQuorumEpoch: INCONSISTENT_CLUSTER_ID,
// FENCED_LEADER_EPOCH, INVALID_REQUEST. The first successor campaigns at once,
// the others later the further back they stand. The answer carries the old
// leader and epoch.
func (m *Machine) handleEnd(r EndQuorumEpochRequest) EndQuorumEpochResponse {
	if !m.sameCluster(r.ClusterID) {
		return EndQuorumEpochResponse{Error: kafka.InconsistentClusterID, LeaderID: None}
	}
	code := m.validateLeader(r.LeaderID, r.LeaderEpoch)
	if code == kafka.None {
		m.observe(r.LeaderID, r.LeaderEpoch)
		if m.state == Follower && m.leaderID == r.LeaderID {
			m.follow.awaitsFlush = false
			m.follow.fetchBy = m.now + m.successorBackoff(r.PreferredSuccessors)
			// The leader itself wants another: nothing speaks against a pre-vote.
			// In a quorum of five it would find no majority else.
			m.follow.fetched = false
		}
	}
	return EndQuorumEpochResponse{PartitionError: code, LeaderID: m.leaderID, LeaderEpoch: m.epoch}
}

// successorBackoff is how long this node waits before it campaigns after
// EndQuorumEpoch, by its place among the successors: 0 for the first, or where
// none is named; then ElectionBackoffMax/2^(n-1), doubled for every place; all
// of it where others are named.
func (m *Machine) successorBackoff(successors []ReplicaKey) time.Duration {
	limit := m.cfg.ElectionBackoffMax
	place := slices.IndexFunc(successors, func(k ReplicaKey) bool { return k.includes(m.self()) })
	switch {
	case place == 0 || len(successors) == 0:
		return 0
	case place < 0:
		return limit
	}
	step := limit >> min(len(successors)-1, 62)
	return min(limit, step<<min(place-1, 20))
}

// handleShutdown starts to leave: a leader hands over first.
func (m *Machine) handleShutdown(timeout time.Duration) {
	if m.leaving {
		return
	}
	m.leaving, m.leaveBy = true, m.now+max(timeout, 0)
	m.handsOver = m.state == Leader || m.state == Resigned
	if m.state == Leader {
		m.resign()
	}
}

// pollShutdown says when a node that leaves may stop: when it knows the next
// leader, has nobody to hand over to, or has waited long enough.
func (m *Machine) pollShutdown() {
	if !m.leaving {
		return
	}
	if !m.handsOver || m.state == Follower || m.isOnlyVoter() || m.now >= m.leaveBy {
		m.eff.ShutdownDone = true
		m.leaveBy = Never
	}
}
