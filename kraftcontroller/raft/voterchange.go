package raft

import (
	"fmt"
	"slices"
	"time"

	"kbench/kafka"
)

// voterChange is the operation on the voter set that a leader works on; there
// is one at a time.
type voterChange struct {
	request uint64
	remove  bool
	voter   Voter
	until   time.Duration // answered REQUEST_TIMED_OUT then; the records stay
	offset  kafka.Offset  // of its Voters record, NoOffset until it is appended
	acked   bool          // answered already, as the request asked for
}

// caughtUpWithin is how long ago a new voter may have had the whole log.
const caughtUpWithin = time.Hour

// handleAddVoter answers AddRaftVoter, at once or when the change is committed:
// INCONSISTENT_CLUSTER_ID, NOT_LEADER_OR_FOLLOWER, INVALID_REQUEST,
// REQUEST_TIMED_OUT, UNSUPPORTED_VERSION, DUPLICATE_VOTER. The new voter is
// asked for its versions first.
func (m *Machine) handleAddVoter(id uint64, r AddVoterRequest) {
	if code, text := m.mayChangeVoters(r.ClusterID, r.Voter, true); code != kafka.None {
		m.reply(id, AddVoterResponse{code, text})
		return
	}
	switch {
	case slices.ContainsFunc(m.voters, func(v Voter) bool { return v.ID == r.Voter.ID }):
		m.reply(id, AddVoterResponse{kafka.DuplicateVoter, fmt.Sprintf("The voter id for %s is already part of the set of voters", r.Voter.ReplicaKey)})
		return
	case !m.canSend(r.Voter.ID):
		m.reply(id, AddVoterResponse{kafka.RequestTimedOut, fmt.Sprintf("New voter %s is not ready to receive requests", r.Voter.ReplicaKey)})
		return
	}
	m.lead.change = &voterChange{
		request: id, voter: r.Voter, until: m.now + m.cfg.RequestTimeout, offset: kafka.NoOffset, acked: !r.AckWhenCommitted,
	}
	m.send(r.Voter.ID, APIVersionsRequest{Endpoints: r.Voter.Endpoints})
}

// mayChangeVoters checks what every change of the voter set needs.
func (m *Machine) mayChangeVoters(cluster *string, v Voter, add bool) (kafka.ErrorCode, string) {
	name := "removing"
	if add {
		name = "adding"
	}
	switch {
	case !m.sameCluster(cluster):
		return kafka.InconsistentClusterID, fmt.Sprintf("The given cluster id does not match the cluster id %q", m.cfg.ClusterID)
	case m.state != Leader:
		return kafka.NotLeaderOrFollower, ""
	case v.ID < 0 || v.DirectoryID.IsZero():
		return kafka.InvalidRequest, "The request didn't include a valid voter"
	case add && !m.hasListener(v.Endpoints):
		return kafka.InvalidRequest, fmt.Sprintf("Add voter request didn't include the endpoint for the default listener %s", m.cfg.Listener)
	case m.lead.change != nil:
		return kafka.RequestTimedOut, "Request timed out waiting for leader to handle previous voter change request"
	case m.lead.hw == kafka.NoOffset:
		return kafka.RequestTimedOut, "Request timed out waiting for leader to establish HWM and fence previous voter changes"
	case m.kraftVersion < 1:
		return kafka.UnsupportedVersion, fmt.Sprintf("Cluster doesn't support %s voter because the kraft.version feature is %d", name, m.kraftVersion)
	case m.changeUncommitted():
		return kafka.RequestTimedOut, fmt.Sprintf("Request timed out waiting for voters to commit the latest voter change with HWM %d", m.lead.hw)
	}
	return kafka.None, ""
}

func (m *Machine) hasListener(endpoints []kafka.Endpoint) bool {
	return slices.ContainsFunc(endpoints, func(e kafka.Endpoint) bool { return e.Listener == m.cfg.Listener })
}

// changeUncommitted reports whether the last change of the quorum is not
// committed yet. A second one must wait: two that overlap could give two
// majorities without a common voter.
func (m *Machine) changeUncommitted() bool { return m.history[len(m.history)-1].offset >= m.lead.hw }

// handleAPIVersions goes on with an AddRaftVoter when the new voter has said
// what it supports.
func (m *Machine) handleAPIVersions(from kafka.BrokerID, r APIVersionsResponse) bool {
	if m.state != Leader || m.lead.change == nil {
		return true
	}
	c := m.lead.change
	if c.remove || c.offset != kafka.NoOffset || c.voter.ID != from {
		return true
	}
	switch {
	case r.Error != kafka.None:
		m.endChange(kafka.RequestTimedOut, fmt.Sprintf("Aborted add voter operation since API_VERSIONS returned an error %s", r.Error))
		return false
	case !r.KRaftVersions.has(m.kraftVersion):
		m.endChange(kafka.InvalidRequest, fmt.Sprintf("Aborted add voter operation for %s since the kraft.version range (min: %d, max: %d) doesn't support the finalized version %d", c.voter.ReplicaKey, r.KRaftVersions.Min, r.KRaftVersions.Max, m.kraftVersion))
		return true
	case !m.isCaughtUp(c.voter.ReplicaKey):
		m.endChange(kafka.RequestTimedOut, fmt.Sprintf("Aborted add voter operation for %s since it is lagging behind", c.voter.ReplicaKey))
		return true
	}
	c.voter.KRaftVersions = r.KRaftVersions
	voters := append(slices.Clone(m.voters), c.voter)
	c.offset = m.appendChanges(QuorumChange{KRaftVersion: Unchanged, Voters: byID(voters)})
	if c.acked {
		m.reply(c.request, AddVoterResponse{})
	}
	m.advanceHighWatermark()
	return true
}

// isCaughtUp reports whether an observer had the whole log within the last hour
// that it fetched in.
func (m *Machine) isCaughtUp(k ReplicaKey) bool {
	for _, p := range m.lead.observers {
		if p.key == k {
			return p.caughtUp >= 0 && p.fetchedAt >= 0 && m.now-p.fetchedAt < caughtUpWithin
		}
	}
	return false
}

// handleRemoveVoter answers RemoveRaftVoter: as AddRaftVoter, and
// VOTER_NOT_FOUND. The last voter cannot go.
func (m *Machine) handleRemoveVoter(id uint64, r RemoveVoterRequest) {
	code, text := m.mayChangeVoters(r.ClusterID, Voter{ReplicaKey: r.Voter}, false)
	if code != kafka.None {
		m.reply(id, RemoveVoterResponse{code, text})
		return
	}
	voters := slices.DeleteFunc(slices.Clone(m.voters), func(v Voter) bool { return v.ReplicaKey == r.Voter })
	if len(voters) == len(m.voters) || len(voters) == 0 {
		m.reply(id, RemoveVoterResponse{kafka.VoterNotFound, fmt.Sprintf("Cannot remove voter %s from the set of voters", r.Voter)})
		return
	}
	m.lead.change = &voterChange{
		request: id, remove: true, voter: Voter{ReplicaKey: r.Voter}, until: m.now + m.cfg.RequestTimeout,
	}
	m.lead.change.offset = m.appendChanges(QuorumChange{KRaftVersion: Unchanged, Voters: voters})
	m.advanceHighWatermark()
}

// appendChanges appends control records of this leader as one batch, and gives
// the offset of the last.
func (m *Machine) appendChanges(changes ...QuorumChange) kafka.Offset {
	last := m.log.end + kafka.Offset(len(changes)) - 1
	b := Batch{BaseOffset: m.log.end, LastOffset: last, Epoch: m.epoch}
	for i := range changes {
		changes[i].Offset = m.log.end + kafka.Offset(i)
	}
	b.Changes = changes
	m.appendBatch(b, LogAppend{Changes: changes})
	return last
}

// changeCommitted ends the operation whose record is committed now. A leader
// that is no voter any more has served to commit just that, and resigns, even
// if the operation was answered before.
func (m *Machine) changeCommitted() {
	if c := m.lead.change; c != nil && c.offset != kafka.NoOffset && m.lead.hw > c.offset {
		m.endChange(kafka.None, "")
	}
	if !m.isVoter && m.lead.hw > m.history[len(m.history)-1].offset {
		m.lead.mustResign = true
	}
}

// endChange answers the operation, if it was not answered before.
func (m *Machine) endChange(code kafka.ErrorCode, text string) {
	c := m.lead.change
	m.lead.change = nil
	switch {
	case c == nil || c.acked && c.offset != kafka.NoOffset:
	case c.remove:
		m.reply(c.request, RemoveVoterResponse{code, text})
	default:
		m.reply(c.request, AddVoterResponse{code, text})
	}
}

// String gives the node and the directory.
func (k ReplicaKey) String() string {
	if k.DirectoryID.IsZero() {
		return fmt.Sprintf("%d", k.ID)
	}
	return fmt.Sprintf("%d-%s", k.ID, k.DirectoryID)
}
