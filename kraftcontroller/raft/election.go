package raft

import (
	"time"

	"kbench/kafka"
)

// nominee is the state of a Prospective or Candidate.
type nominee struct {
	ballots  []ballot // as voters
	lost     bool     // backs off until electionAt
	prospect bool     // ballots are pre-votes
}

type ballot uint8

const (
	unanswered ballot = iota
	granted
	rejected
)

func (n *nominee) count(b ballot) int {
	c := 0
	for _, x := range n.ballots {
		if x == b {
			c++
		}
	}
	return c
}

func (m *Machine) majority() int { return len(m.voters)/2 + 1 }

// campaign starts an election: with pre-vote, by asking whether it could be
// won (KIP-996), else by starting the next epoch.
func (m *Machine) campaign() {
	if m.cfg.DisablePreVote {
		m.becomeCandidate()
		return
	}
	m.enterNominee(Prospective)
}

// becomeCandidate starts the next epoch with a vote for this node.
func (m *Machine) becomeCandidate() {
	m.retries++
	m.setEpoch(m.epoch+1, None)
	m.voted = m.self()
	m.enterNominee(Candidate)
}

func (m *Machine) enterNominee(s State) {
	m.nominee = nominee{ballots: m.nominee.ballots[:0], prospect: s == Prospective}
	for _, v := range m.voters {
		b := unanswered
		if v.ID == m.cfg.NodeID {
			b = granted
		}
		m.nominee.ballots = append(m.nominee.ballots, b)
	}
	m.electionAt = m.now + m.randomElectionTimeout()
	m.changeRole(s)
}

func (m *Machine) pollNominee() {
	n := &m.nominee
	switch {
	case n.count(granted) >= m.majority():
		if n.prospect {
			m.becomeCandidate()
		} else {
			m.becomeLeader()
		}
		return
	case n.lost:
		if m.now >= m.electionAt && m.mayCampaign() {
			m.campaign()
		}
		return
	case n.count(rejected) > len(m.voters)-m.majority(), m.now >= m.electionAt && m.mayCampaign():
		m.loseElection()
		return
	}
	for i, v := range m.otherVoters {
		if n.ballots[i] == unanswered && m.canSend(v.ID) {
			m.send(v.ID, VoteRequest{
				ClusterID: m.clusterID(), Voter: v.ReplicaKey, Epoch: m.epoch, Candidate: m.self(),
				LastEpoch: m.log.lastEpoch(), LastOffset: m.log.end, PreVote: n.prospect,
			})
		}
	}
}

// loseElection returns a Prospective to where it was, in the same epoch, and
// makes a Candidate wait before the next try: for the rest of its election
// timeout, as Kafka does since 4.0, or for a back-off as before. A Prospective
// that got too few answers tries again at once, one that was refused does not.
func (m *Machine) loseElection() {
	timedOut := m.now >= m.electionAt
	switch {
	case !m.nominee.prospect && m.cfg.DisablePreVote:
		m.nominee.lost = true
		m.electionAt = m.now + m.electionBackoff()
	case !m.nominee.prospect && timedOut:
		m.campaign()
	case !m.nominee.prospect:
		m.nominee.lost = true
	case m.leaderID != None && m.leaderID != m.cfg.NodeID:
		m.enterFollower()
	case timedOut:
		m.leaderID = None
		m.enterUnattached(0)
	default:
		m.leaderID = None
		m.enterUnattached(m.randomElectionTimeout())
	}
}

// electionBackoff is 100 ms times a random number from 1 up to a limit that
// doubles with every lost election, at most ElectionBackoffMax and a random part
// of 100 ms more. Without that part, which Kafka lacked before 4.1, two
// candidates that both came to the maximum would collide for ever.
func (m *Machine) electionBackoff() time.Duration {
	const base = 100 * time.Millisecond
	limit := int64(2) << min(10, max(m.retries, 1)-1)
	backoff := base * time.Duration(1+m.rng.Int64N(limit-1))
	return min(backoff, m.cfg.ElectionBackoffMax+time.Duration(m.rng.Int64N(int64(base))))
}

// handleVote answers Vote: INCONSISTENT_CLUSTER_ID, INVALID_REQUEST,
// FENCED_LEADER_EPOCH, INVALID_VOTER_KEY, else granted or not.
func (m *Machine) handleVote(r VoteRequest) VoteResponse {
	if !m.sameCluster(r.ClusterID) {
		return VoteResponse{Error: kafka.InconsistentClusterID, LeaderID: None}
	}
	code, ok := m.vote(r)
	return VoteResponse{PartitionError: code, LeaderID: m.leaderID, LeaderEpoch: m.epoch, Granted: ok}
}

func (m *Machine) vote(r VoteRequest) (kafka.ErrorCode, bool) {
	if r.LastOffset < 0 || r.LastEpoch < 0 || r.LastEpoch > r.Epoch || (r.LastEpoch == r.Epoch && !r.PreVote) || r.Candidate.ID < 0 {
		return kafka.InvalidRequest, false
	}
	if r.Epoch < m.epoch {
		return kafka.FencedLeaderEpoch, false
	}
	if r.Epoch > m.epoch {
		m.becomeUnattached(r.Epoch)
	}
	if !m.isAddressed(r.Voter) {
		return kafka.InvalidVoterKey, false
	}
	if r.LastEpoch < m.log.lastEpoch() || (r.LastEpoch == m.log.lastEpoch() && r.LastOffset < m.log.end) {
		return kafka.None, false
	}
	if r.PreVote {
		return kafka.None, m.grantsPreVote()
	}
	return kafka.None, m.grantsVote(r.Candidate)
}

// grantsPreVote says whether this node would like another leader; it binds to
// nothing. A follower would if it has never fetched from its leader. One that is
// no voter by its own log never campaigns when its leader is gone, but may be a
// voter by the candidate's, which needs its vote: it would once it has not
// fetched for a fetch timeout. Kafka's would not any more, and such a quorum
// stays without a leader.
func (m *Machine) grantsPreVote() bool {
	switch m.state {
	case Leader:
		return false
	case Follower:
		return !m.follow.fetched || !m.isVoter && m.now >= m.follow.fetchBy
	}
	return true
}

// grantsVote gives the one vote of this epoch, if it is still free or was given
// to the same candidate before.
func (m *Machine) grantsVote(candidate ReplicaKey) bool {
	if m.state != Unattached && m.state != Prospective {
		return false
	}
	if m.voted.ID != None {
		return m.voted.includes(candidate)
	}
	if m.leaderID != None {
		return false
	}
	m.voted = candidate
	if m.state == Prospective {
		m.enterNominee(Prospective) // persists the vote; the pre-vote begins anew
		return true
	}
	m.enterUnattached(m.randomElectionTimeout())
	return true
}

func (m *Machine) handleVoteResponse(from kafka.BrokerID, r VoteResponse) bool {
	if handled, ok := m.handleCommon(r.Error, r.PartitionError, r.LeaderID, r.LeaderEpoch); handled {
		return ok
	}
	if m.state != Candidate && m.state != Prospective {
		return true
	}
	for i, v := range m.otherVoters {
		if v.ID != from {
			continue
		}
		m.nominee.ballots[i] = rejected
		if r.Granted {
			m.nominee.ballots[i] = granted
		}
	}
	return true
}
