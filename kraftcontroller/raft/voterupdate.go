package raft

import (
	"fmt"

	"kbench/kafka"
)

// handleUpdateVoter answers UpdateRaftVoter, by which a voter tells where it
// listens and what it supports. With static voters the leader keeps that in
// memory for an upgrade of kraft.version; else it appends the new voter set and
// does not wait until it is committed. INCONSISTENT_CLUSTER_ID,
// FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER,
// INVALID_REQUEST, REQUEST_TIMED_OUT, VOTER_NOT_FOUND.
func (m *Machine) handleUpdateVoter(r UpdateVoterRequest) UpdateVoterResponse {
	code := kafka.InconsistentClusterID
	if m.sameCluster(r.ClusterID) {
		if code = m.validateFollower(r.CurrentLeaderEpoch); code == kafka.None {
			code = m.updateVoter(r.Voter)
		}
	}
	return UpdateVoterResponse{Error: code, LeaderID: m.leaderID, LeaderEpoch: m.epoch}
}

func (m *Machine) updateVoter(v Voter) kafka.ErrorCode {
	versions := v.KRaftVersions
	switch {
	case v.ID < 0 || v.DirectoryID.IsZero() || v.ID == m.cfg.NodeID:
		return kafka.InvalidRequest
	case !m.hasListener(v.Endpoints) || versions.Min < 0 || versions.Max < versions.Min:
		return kafka.InvalidRequest
	case m.lead.change != nil || m.lead.hw == kafka.NoOffset:
		return kafka.RequestTimedOut
	case m.kraftVersion > 0 && m.changeUncommitted():
		return kafka.RequestTimedOut
	case !versions.has(m.kraftVersion):
		return kafka.InvalidRequest
	}
	voters := m.voters
	if m.kraftVersion == 0 {
		voters = m.lead.updated
	}
	voters, ok := replaceVoter(voters, v, m.kraftVersion > 0)
	if !ok {
		return kafka.VoterNotFound
	}
	if m.kraftVersion == 0 {
		m.lead.updated = voters
	} else {
		m.appendChanges(QuorumChange{KRaftVersion: Unchanged, Voters: voters})
		m.advanceHighWatermark()
	}
	m.signOfLife(v.ReplicaKey)
	return kafka.None
}

// handleUpgrade raises kraft.version, which makes the voters of the
// configuration those of the log. Every voter must have told with
// UpdateRaftVoter that it supports the level, else INVALID_UPDATE_VERSION; so
// is a downgrade. The level that is finalized already is no error.
func (m *Machine) handleUpgrade(r UpgradeRequest) UpgradeResponse {
	invalid := func(format string, a ...any) UpgradeResponse {
		return UpgradeResponse{kafka.InvalidUpdateVersion, fmt.Sprintf("Invalid upgrade of kraft.version from version %d to %d: ", m.kraftVersion, r.KRaftVersion) + fmt.Sprintf(format, a...)}
	}
	switch {
	case m.state != Leader || r.Epoch != m.epoch:
		return UpgradeResponse{Error: kafka.NotLeaderOrFollower}
	case r.KRaftVersion == m.kraftVersion:
		return UpgradeResponse{}
	case r.KRaftVersion < m.kraftVersion:
		return invalid("the new version is a downgrade")
	case m.lead.hw == kafka.NoOffset:
		return UpgradeResponse{kafka.RequestTimedOut, "the leader has not committed a record of its epoch yet"}
	}
	for _, v := range m.lead.updated {
		switch {
		case !v.KRaftVersions.has(r.KRaftVersion):
			return invalid("not all of the voters support it; voter %d does not, or has not said so yet", v.ID)
		case v.DirectoryID.IsZero():
			return invalid("the directory id of voter %d is not known yet", v.ID)
		}
	}
	if r.ValidateOnly {
		return UpgradeResponse{}
	}
	m.appendChanges(QuorumChange{KRaftVersion: r.KRaftVersion}, QuorumChange{KRaftVersion: Unchanged, Voters: byID(m.lead.updated)})
	m.advanceHighWatermark()
	return UpgradeResponse{}
}

// pollVoterSet sends, once in three fetch timeouts, what the voter set lacks of
// this node: a voter its endpoints and versions, an observer that joins by
// itself that it wants to be a voter. It reports whether the connection to the
// leader is to be left to that.
func (m *Machine) pollVoterSet() bool {
	if m.leaving || m.now < m.follow.updateAt {
		return false
	}
	msg := m.voterSetMessage()
	if msg == nil {
		m.follow.updateAt = m.now + m.updatePeriod()
		return false
	}
	if !m.canSend(m.leaderID) {
		return m.peerOf(m.leaderID).sent != 0
	}
	m.follow.updateAt = m.now + m.updatePeriod()
	m.send(m.leaderID, msg)
	return true
}

// voterSetMessage is what pollVoterSet sends, nil for nothing.
func (m *Machine) voterSetMessage() Message {
	switch {
	case m.isVoter && (m.kraftVersion == 0 && !m.follow.updated && !m.cfg.DirectoryID.IsZero() || m.kraftVersion > 0 && m.needsUpdate()):
		return UpdateVoterRequest{ClusterID: m.clusterID(), CurrentLeaderEpoch: m.epoch, Voter: m.selfVoter()}
	case m.isVoter || !m.cfg.AutoJoin || m.kraftVersion == 0:
		return nil
	}
	for _, v := range m.voters {
		if v.ID == m.cfg.NodeID { // an incarnation of this node whose directory is gone
			return RemoveVoterRequest{ClusterID: m.clusterID(), Voter: v.ReplicaKey}
		}
	}
	return AddVoterRequest{ClusterID: m.clusterID(), Timeout: m.cfg.RequestTimeout, Voter: m.selfVoter()}
}

// handleUpdateVoterResponse notes that the leader knows this voter, or never
// will: a leader before Kafka 3.9 has no such request.
func (m *Machine) handleUpdateVoterResponse(r UpdateVoterResponse) bool {
	if r.Error != kafka.UnsupportedVersion {
		if handled, ok := m.handleCommon(kafka.None, r.Error, r.LeaderID, r.LeaderEpoch); handled {
			return ok
		}
	}
	if m.state == Follower {
		m.follow.updated = true
		m.resetFetchTimeout()
	}
	return true
}

// handleJoinResponse takes the answer to the request of an observer that joins
// by itself. These codes are no failure: it tries again a period later if it is
// no voter then.
func (m *Machine) handleJoinResponse(code kafka.ErrorCode) bool {
	switch code {
	case kafka.None, kafka.RequestTimedOut, kafka.DuplicateVoter, kafka.VoterNotFound:
		if m.state == Follower {
			m.follow.updateAt = m.now + m.updatePeriod()
		}
		return true
	}
	return false
}
