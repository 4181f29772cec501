package etcdraft

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	etcd "go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
	"kbench/kraftcontroller/raftclient"
)

// voterChange is the change of the voters that a leader works on.
type voterChange struct {
	request uint64
	answer  voterAnswer
	end     kafka.Offset  // of its batch
	until   time.Duration // answered REQUEST_TIMED_OUT then; the records stay
}

// voterAnswer makes the answer to a request that changes the voters.
type voterAnswer func(kafka.ErrorCode, string) raft.Message

func addAnswer(c kafka.ErrorCode, text string) raft.Message {
	return raft.AddVoterResponse{Error: c, Text: text}
}

func removeAnswer(c kafka.ErrorCode, text string) raft.Message {
	return raft.RemoveVoterResponse{Error: c, Text: text}
}

func upgradeAnswer(c kafka.ErrorCode, text string) raft.Message {
	return raft.UpgradeResponse{Error: c, Text: text}
}

// mayChange checks what every change of the quorum needs: a leader that has
// committed an entry of its term, and every change before.
func (m *Machine) mayChange(cluster *string) (kafka.ErrorCode, string) {
	role := m.Role()
	switch hw := m.leaderHW(role); {
	case cluster != nil && *cluster != m.cfg.ClusterID:
		return kafka.InconsistentClusterID, fmt.Sprintf("the cluster id is %q", m.cfg.ClusterID)
	case role.State != raft.Leader:
		return kafka.NotLeaderOrFollower, ""
	case m.change != nil || hw == kafka.NoOffset || m.storage.changed > hw:
		return kafka.RequestTimedOut, "the change of the quorum before is not committed yet"
	}
	return kafka.None, ""
}

// mayChangeVoters is mayChange for the voters, which are fixed as long as
// kraft.version is 0.
func (m *Machine) mayChangeVoters(cluster *string) (kafka.ErrorCode, string) {
	code, text := m.mayChange(cluster)
	if code == kafka.None && m.quorum.KRaftVersion < 1 {
		return kafka.UnsupportedVersion, "kraft.version is 0: raise it to 1 before voters change"
	}
	return code, text
}

// handleAddVoter answers AddRaftVoter, at once or when the change is committed. A
// new voter is one of the configuration, which says where it listens; its
// directory is not looked at.
func (m *Machine) handleAddVoter(id uint64, r raft.AddVoterRequest) {
	code, text := m.mayChangeVoters(r.ClusterID)
	switch {
	case code != kafka.None:
	case hasVoter(m.quorum.Voters, r.Voter.ID):
		code, text = kafka.DuplicateVoter, fmt.Sprintf("node %d is a voter", r.Voter.ID)
	case !hasVoter(m.cfg.Voters, r.Voter.ID):
		code, text = kafka.InvalidRequest, fmt.Sprintf("node %d is not among the voters of the configuration, which alone say where one listens", r.Voter.ID)
	default:
		m.propose(id, addAnswer, m.votersIf(func(v kafka.BrokerID) bool { return v == r.Voter.ID || hasVoter(m.quorum.Voters, v) }))
		if !r.AckWhenCommitted {
			m.endChange(kafka.None, "")
		}
		return
	}
	m.reply(id, addAnswer(code, text))
}

// handleRemoveVoter answers RemoveRaftVoter when the change is committed. The
// last voter cannot go.
func (m *Machine) handleRemoveVoter(id uint64, r raft.RemoveVoterRequest) {
	code, text := m.mayChangeVoters(r.ClusterID)
	switch {
	case code != kafka.None:
	case !hasVoter(m.quorum.Voters, r.Voter.ID) || len(m.quorum.Voters) == 1:
		code, text = kafka.VoterNotFound, fmt.Sprintf("node %d cannot be taken from the voters", r.Voter.ID)
	default:
		m.propose(id, removeAnswer, m.votersIf(func(v kafka.BrokerID) bool { return v != r.Voter.ID && hasVoter(m.quorum.Voters, v) }))
		return
	}
	m.reply(id, removeAnswer(code, text))
}

// handleUpgrade raises kraft.version, from which on voters may change.
func (m *Machine) handleUpgrade(id uint64, r raft.UpgradeRequest) {
	code, text := m.mayChange(nil)
	switch {
	case code != kafka.None || r.KRaftVersion == m.quorum.KRaftVersion:
	case r.Epoch != m.Role().Epoch:
		code = kafka.NotLeaderOrFollower
	case r.KRaftVersion != 1:
		code, text = kafka.InvalidUpdateVersion, fmt.Sprintf("kraft.version cannot go from %d to %d", m.quorum.KRaftVersion, r.KRaftVersion)
	case !r.ValidateOnly:
		all := m.votersIf(func(v kafka.BrokerID) bool { return hasVoter(m.quorum.Voters, v) })
		m.propose(id, upgradeAnswer, raft.QuorumChange{KRaftVersion: 1}, all)
		return
	}
	m.reply(id, upgradeAnswer(code, text))
}

func hasVoter(voters []raft.Voter, id kafka.BrokerID) bool {
	return slices.ContainsFunc(voters, func(v raft.Voter) bool { return v.ID == id })
}

// votersIf is the record by which those of the configuration that stay are the
// voters.
func (m *Machine) votersIf(stay func(kafka.BrokerID) bool) raft.QuorumChange {
	c := raft.QuorumChange{KRaftVersion: raft.Unchanged}
	for _, v := range m.cfg.Voters {
		if stay(v.ID) {
			v.KRaftVersions = raft.SupportedKRaft
			c.Voters = append(c.Voters, v)
		}
	}
	return c
}

// propose appends the records of a change as one batch, an ordinary entry of the
// library's, and answers the request when it is committed.
func (m *Machine) propose(id uint64, answer voterAnswer, changes ...raft.QuorumChange) {
	b := raft.Batch{
		BaseOffset: m.storage.end, LastOffset: m.storage.end + kafka.Offset(len(changes)) - 1, Epoch: m.Role().Epoch,
	}
	raw, err := m.encodeChanges(b, changes)
	m.must(err)
	if err != nil || m.node.Propose(raw) != nil {
		m.reply(id, answer(kafka.NotLeaderOrFollower, ""))
		return
	}
	m.change = &voterChange{
		request: id, answer: answer, end: b.LastOffset + 1, until: m.now + cmp.Or(m.cfg.RequestTimeout, raft.DefaultRequestTimeout),
	}
}

// pollChange ends a change that is committed, cannot be any more, or takes too
// long.
func (m *Machine) pollChange() {
	switch c := m.change; {
	case c == nil:
	case c.end <= m.hw:
		m.endChange(kafka.None, "")
	case m.node.BasicStatus().RaftState != etcd.StateLeader:
		m.endChange(kafka.NotLeaderOrFollower, "")
	case m.now >= c.until:
		m.endChange(kafka.RequestTimedOut, "the change is not committed yet")
	}
}

func (m *Machine) endChange(code kafka.ErrorCode, text string) {
	m.reply(m.change.request, m.change.answer(code, text))
	m.change = nil
}

// applied does what the library leaves to its user for an entry that is
// committed: a change of the voters takes effect. That it is committed is made
// durable first, since a node that forgot it would count votes by voters of
// the past.
func (m *Machine) applied(e *pb.Entry) {
	if len(e.GetData()) == 0 {
		return
	}
	h, err := metalog.ReadHeader(e.GetData())
	if err != nil || !h.Control {
		m.must(err)
		return
	}
	changes, err := raftclient.QuorumChanges(e.GetData())
	m.must(err)
	if err != nil || len(changes) == 0 {
		return
	}
	at := anchor{h.EndOffset, e.GetIndex()}
	if err := writeAnchors(m.storage.anchors.fs, filepath.Join(filepath.Dir(m.storage.anchors.path), appliedFile), at); err != nil {
		m.must(err)
		return
	}
	q := m.quorum
	for _, c := range changes {
		q = changed(q, c)
	}
	m.useQuorum(q)
}

// changed is the quorum after a record.
func changed(q raft.Quorum, c raft.QuorumChange) raft.Quorum {
	if c.KRaftVersion != raft.Unchanged {
		q.KRaftVersion = c.KRaftVersion
	}
	if c.Voters != nil {
		q.Voters = c.Voters
	}
	return q
}

// useQuorum makes a quorum the one that counts. A leader that is none of its
// voters tells another to campaign before it steps down.
func (m *Machine) useQuorum(q raft.Quorum) {
	old := m.quorum
	m.quorum = q
	if m.node.BasicStatus().RaftState == etcd.StateLeader && !hasVoter(q.Voters, m.cfg.NodeID) {
		if best := m.successor(); best != 0 {
			m.node.TransferLeader(best)
		}
	}
	for _, v := range q.Voters {
		if !hasVoter(old.Voters, v.ID) {
			m.storage.conf = m.node.ApplyConfChange(&pb.ConfChange{Type: pb.ConfChangeAddNode.Enum(), NodeId: new(idOf(v.ID))})
		}
	}
	for _, v := range old.Voters {
		if !hasVoter(q.Voters, v.ID) {
			m.storage.conf = m.node.ApplyConfChange(&pb.ConfChange{Type: pb.ConfChangeRemoveNode.Enum(), NodeId: new(idOf(v.ID))})
		}
	}
}

// confState is the library's form of the voters.
func confState(voters []raft.Voter) *pb.ConfState {
	c := &pb.ConfState{}
	for _, v := range voters {
		c.Voters = append(c.Voters, idOf(v.ID))
	}
	return c
}
