package raft

import "kbench/kafka"

// handleRequest answers a request, or parks it.
func (m *Machine) handleRequest(id uint64, msg Message) {
	switch r := msg.(type) {
	case VoteRequest:
		m.reply(id, m.handleVote(r))
	case BeginQuorumEpochRequest:
		m.reply(id, m.handleBegin(r))
	case EndQuorumEpochRequest:
		m.reply(id, m.handleEnd(r))
	case FetchRequest:
		m.handleFetch(id, r)
	case FetchSnapshotRequest:
		m.reply(id, m.handleFetchSnapshot(r))
	case DescribeQuorumRequest:
		m.reply(id, m.describe())
	case AddVoterRequest:
		m.handleAddVoter(id, r)
	case RemoveVoterRequest:
		m.handleRemoveVoter(id, r)
	case UpdateVoterRequest:
		m.reply(id, m.handleUpdateVoter(r))
	case UpgradeRequest:
		m.reply(id, m.handleUpgrade(r))
	default:
		m.fatal("request %d: %T is not a request", id, msg)
	}
}

func (m *Machine) reply(id uint64, msg Message) {
	m.eff.Reply = append(m.eff.Reply, Reply{id, msg})
}

// handleResponse takes the answer to a request of ours, if it still matters.
func (m *Machine) handleResponse(id uint64, msg Message) {
	p := m.answered(id)
	if p == nil {
		return
	}
	gen, to := m.gen, p.id
	var ok bool
	switch r := msg.(type) {
	case VoteResponse:
		ok = m.handleVoteResponse(to, r)
	case BeginQuorumEpochResponse:
		_, ok = m.handleCommon(r.Error, r.PartitionError, r.LeaderID, r.LeaderEpoch)
	case EndQuorumEpochResponse:
		ok = m.handleEndResponse(to, r)
	case FetchResponse:
		ok = m.handleFetchResponse(r)
	case FetchSnapshotResponse:
		ok = m.handleFetchSnapshotResponse(r)
	case APIVersionsResponse:
		ok = m.handleAPIVersions(to, r)
	case UpdateVoterResponse:
		ok = m.handleUpdateVoterResponse(r)
	case AddVoterResponse:
		ok = m.handleJoinResponse(r.Error)
	case RemoveVoterResponse:
		ok = m.handleJoinResponse(r.Error)
	default:
		m.fatal("response %d from node %d: %T is not a response", id, to, msg)
	}
	if !ok && m.gen == gen {
		m.fail(m.peerOf(to))
	}
}

// handleCommon does what every response asks for: it notices other epochs and
// leaders and errors. Handled says that nothing is left to do, and ok whether
// the peer may be asked again at once.
//
// Kafka asks again at once after NOT_LEADER_OR_FOLLOWER and UNKNOWN_LEADER_EPOCH
// too; this machine waits RetryBackoff if they told it nothing new, else two
// nodes that both know no leader keep a processor busy.
func (m *Machine) handleCommon(top, code kafka.ErrorCode, leader kafka.BrokerID, epoch kafka.LeaderEpoch) (handled, ok bool) {
	switch {
	case top != kafka.None:
		return true, false
	case epoch < m.epoch || code == kafka.UnknownLeaderEpoch:
		return true, false
	case epoch > m.epoch || code == kafka.FencedLeaderEpoch || code == kafka.NotLeaderOrFollower:
		m.observe(leader, epoch)
		return true, false
	case !m.agrees(leader, epoch):
		return true, false
	case leader != None && (m.leaderID == None || m.state == Unattached):
		// A node that looks for the leader may take records from the answer that
		// names it.
		m.becomeFollower(epoch, leader)
	}
	return code != kafka.None, code == kafka.None
}

// validateLeader checks a request that a leader sends; None means that nothing
// is wrong.
func (m *Machine) validateLeader(leader kafka.BrokerID, epoch kafka.LeaderEpoch) kafka.ErrorCode {
	switch {
	case epoch < m.epoch:
		return kafka.FencedLeaderEpoch
	case leader < 0 || !m.agrees(leader, epoch):
		return kafka.InvalidRequest
	}
	return kafka.None
}

// validateFollower checks what only a leader can answer.
func (m *Machine) validateFollower(epoch kafka.LeaderEpoch) kafka.ErrorCode {
	switch {
	case epoch < m.epoch:
		return kafka.FencedLeaderEpoch
	case epoch > m.epoch:
		return kafka.UnknownLeaderEpoch
	case m.state != Leader:
		return kafka.NotLeaderOrFollower
	}
	return kafka.None
}

func (m *Machine) sameCluster(id *string) bool { return id == nil || *id == m.cfg.ClusterID }

func (m *Machine) clusterID() *string {
	if m.cfg.ClusterID == "" {
		return nil
	}
	return &m.cfg.ClusterID
}

// isAddressed reports whether a request for voter is for this node; version 0
// names none.
func (m *Machine) isAddressed(voter ReplicaKey) bool {
	return voter.ID == None || voter.includes(m.self())
}

// handleBegin answers BeginQuorumEpoch: INCONSISTENT_CLUSTER_ID,
// FENCED_LEADER_EPOCH, INVALID_REQUEST, INVALID_VOTER_KEY.
func (m *Machine) handleBegin(r BeginQuorumEpochRequest) BeginQuorumEpochResponse {
	if !m.sameCluster(r.ClusterID) {
		return BeginQuorumEpochResponse{Error: kafka.InconsistentClusterID, LeaderID: None}
	}
	code := m.validateLeader(r.LeaderID, r.LeaderEpoch)
	if code == kafka.None {
		m.observe(r.LeaderID, r.LeaderEpoch)
		switch {
		case !m.isAddressed(r.Voter):
			code = kafka.InvalidVoterKey
		case m.state == Follower && !m.follow.awaitsFlush:
			m.follow.fetchBy = max(m.follow.fetchBy, m.now+m.cfg.FetchTimeout)
		}
	}
	return BeginQuorumEpochResponse{PartitionError: code, LeaderID: m.leaderID, LeaderEpoch: m.epoch}
}
