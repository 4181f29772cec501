package raft

import (
	"time"

	"kbench/kafka"
)

// changeRole ends the present role and starts the next: epoch, leader and vote
// are persisted if they changed, requests that are out are forgotten, and
// parked fetches are refused in the name of the new state.
func (m *Machine) changeRole(s State) {
	was := m.state
	m.passed = append(m.passed, transition{was, s, m.gen == 0})
	m.state = s
	m.gen++
	if q := (QuorumState{m.leaderID, m.epoch, m.voted}); q != m.durable {
		m.durable = q
		m.eff.Persist = &q
	}
	m.resetPeers()
	if was == Leader {
		m.refuseParked()
		m.endChange(kafka.NotLeaderOrFollower, "")
	}
}

func (m *Machine) setEpoch(epoch kafka.LeaderEpoch, leader kafka.BrokerID) {
	if epoch != m.epoch {
		m.epoch, m.voted = epoch, ReplicaKey{ID: None}
	}
	m.leaderID = leader
}

// becomeUnattached moves to a higher epoch whose leader is not known.
func (m *Machine) becomeUnattached(epoch kafka.LeaderEpoch) {
	timeout := m.randomElectionTimeout()
	switch m.state {
	case Unattached, Prospective, Candidate, Resigned:
		timeout = max(m.electionAt-m.now, 0)
	}
	m.setEpoch(epoch, None)
	m.enterUnattached(timeout)
}

func (m *Machine) enterUnattached(timeout time.Duration) {
	m.electionAt = m.now + timeout
	m.changeRole(Unattached)
}

// becomeFollower follows a leader of this or a higher epoch.
func (m *Machine) becomeFollower(epoch kafka.LeaderEpoch, leader kafka.BrokerID) {
	m.setEpoch(epoch, leader)
	m.enterFollower()
}

func (m *Machine) enterFollower() {
	m.retries = 0
	m.follow = following{fetchBy: m.now + m.cfg.FetchTimeout, updateAt: m.now + m.updatePeriod()}
	m.changeRole(Follower)
}

// observe acts on the leader and epoch that a message tells of. It reports
// whether they agree with what this node knows.
func (m *Machine) observe(leader kafka.BrokerID, epoch kafka.LeaderEpoch) bool {
	if !m.agrees(leader, epoch) {
		return false
	}
	switch {
	case epoch > m.epoch && leader != None:
		m.becomeFollower(epoch, leader)
	case epoch > m.epoch:
		m.becomeUnattached(epoch)
	case epoch < m.epoch || leader == None || leader == m.cfg.NodeID:
	case m.leaderID == None || m.state == Prospective || m.state == Unattached:
		m.becomeFollower(epoch, leader)
	}
	return true
}

// agrees reports whether a message about epoch can be true: an epoch has one
// leader, and this node knows where it led itself.
func (m *Machine) agrees(leader kafka.BrokerID, epoch kafka.LeaderEpoch) bool {
	if leader == m.cfg.NodeID && epoch >= m.epoch {
		return epoch == m.epoch && m.leaderID == leader
	}
	return epoch != m.epoch || leader == None || m.leaderID == None || leader == m.leaderID
}

// updatePeriod is how often a follower looks whether the voter set is right
// about it.
func (m *Machine) updatePeriod() time.Duration { return 3 * m.cfg.FetchTimeout }

func (m *Machine) randomElectionTimeout() time.Duration {
	t := m.cfg.ElectionTimeout
	return t + time.Duration(m.rng.Int64N(int64(t)))
}

// mayCampaign reports whether this node may ask for votes: not an observer,
// not on its way out, and not while a snapshot replaces its log.
func (m *Machine) mayCampaign() bool {
	return m.isVoter && !m.leaving && m.installing == SnapshotID{}
}

func (m *Machine) pollUnattached() {
	if m.mayCampaign() && m.now >= m.electionAt {
		m.campaign()
		return
	}
	m.fetchFromBootstrap()
}
