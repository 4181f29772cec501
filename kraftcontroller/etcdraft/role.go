package etcdraft

import (
	"time"

	etcd "go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// Role gives the current role in KRaft's words: a follower without a leader is
// Unattached, a pre-candidate Prospective, and a leader that transfers its
// leadership Resigned.
func (m *Machine) Role() raft.Role {
	st := m.node.BasicStatus()
	r := raft.Role{
		Observer: !hasVoter(m.quorum.Voters, m.cfg.NodeID), Epoch: kafka.LeaderEpoch(st.HardState.GetTerm()),
		LeaderID: nodeOf(st.Lead), EpochStart: kafka.NoOffset,
	}
	switch st.RaftState {
	case etcd.StateLeader:
		r.State, r.EpochStart = raft.Leader, m.start
		if m.opened != r.Epoch { // its first entry is still on the way into the log
			r.State, r.LeaderID, r.EpochStart = raft.Candidate, raft.None, kafka.NoOffset
		}
		if m.leavingAt > 0 {
			r.State, r.LeaderID, r.EpochStart = raft.Resigned, raft.None, kafka.NoOffset
		}
	case etcd.StateCandidate:
		r.State = raft.Candidate
	case etcd.StatePreCandidate:
		r.State = raft.Prospective
	default:
		r.State = raft.Follower
		if r.LeaderID == raft.None {
			r.State = raft.Unattached
		}
	}
	return r
}

// Voted gives whom this node voted for in this epoch, id None for nobody.
func (m *Machine) Voted() raft.ReplicaKey {
	return raft.ReplicaKey{ID: nodeOf(m.node.BasicStatus().HardState.GetVote())}
}

// Quorum gives the quorum that counts. The caller must not write to it.
func (m *Machine) Quorum() raft.Quorum { return m.quorum }

// HighWatermark gives the end of what is committed and held here.
func (m *Machine) HighWatermark() kafka.Offset { return m.hw }

// LogStart gives the first offset of the log.
func (m *Machine) LogStart() kafka.Offset { return m.storage.start }

// LogEnd gives the log end offset.
func (m *Machine) LogEnd() kafka.Offset { return m.storage.end }

// resign transfers the leadership to the voter that holds most, and gives up
// without a successor when the timeout has passed.
func (m *Machine) resign(timeout time.Duration) {
	m.leavingAt = m.now + max(timeout, 1)
	best := m.successor()
	if best == 0 {
		m.leavingAt = m.now
		return
	}
	m.node.TransferLeader(best)
}

// successor is the voter that is there and holds most, 0 for none.
func (m *Machine) successor() (best uint64) {
	var match uint64
	m.node.WithProgress(func(id uint64, _ etcd.ProgressType, pr tracker.Progress) {
		if id != idOf(m.cfg.NodeID) && pr.RecentActive && (best == 0 || pr.Match > match) {
			best, match = id, pr.Match
		}
	})
	return best
}

// leave ends what resign began, and says when a node that shuts down may stop.
func (m *Machine) leave() {
	leads := m.node.BasicStatus().RaftState == etcd.StateLeader
	if leads && m.leavingAt > 0 && m.now >= m.leavingAt {
		m.stepDown()
		leads = false
	}
	if !leads {
		m.leavingAt = 0
		m.eff.ShutdownDone = m.shutdown
	}
}

// stepDown makes a leader a follower of the next term, which is what it would
// become by any message of a higher term: the library has no other way.
func (m *Machine) stepDown() {
	st := m.node.BasicStatus()
	for _, v := range m.quorum.Voters {
		if v.ID != m.cfg.NodeID {
			_ = m.node.Step(&pb.Message{
				Type: pb.MsgAppResp.Enum(), From: new(idOf(v.ID)), To: new(idOf(m.cfg.NodeID)),
				Term: new(st.HardState.GetTerm() + 1), Reject: new(true),
			})
			break
		}
	}
	m.drain()
}
