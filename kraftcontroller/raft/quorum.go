package raft

import (
	"cmp"
	"fmt"
	"slices"

	"kbench/kafka"
)

// VersionRange is the range of levels of kraft.version that a node supports.
type VersionRange struct{ Min, Max int16 }

// SupportedKRaft is what this machine supports.
var SupportedKRaft = VersionRange{0, 1}

func (r VersionRange) has(level int16) bool { return r.Min <= level && level <= r.Max }

// Unchanged is the KRaftVersion of a QuorumChange that has none.
const Unchanged int16 = -1

// QuorumChange is a control record of the log that changes the quorum: the
// level of kraft.version, or the voter set (KIP-853). It takes effect when it
// is appended, committed or not, and a truncation takes it back.
type QuorumChange struct {
	Offset       kafka.Offset
	KRaftVersion int16   // Unchanged, or the new level
	Voters       []Voter // nil, or the new voter set
}

// Quorum is the level of kraft.version and the voters. At level 0 the voters
// are those of the configuration, and never change.
type Quorum struct {
	KRaftVersion int16
	Voters       []Voter // by id
}

// membership is a Quorum and the offset of the record that made it so; the
// offset before the log or the snapshot where none did.
type membership struct {
	Quorum
	offset kafka.Offset
}

// newMembership is what a node begins with: the quorum of its configuration, or
// of its snapshot, and what the log says behind that.
func newMembership(static []Voter, p Persisted) []membership {
	base := membership{Quorum: p.Quorum, offset: p.Snapshot.EndOffset - 1}
	if base.KRaftVersion == 0 && len(base.Voters) == 0 {
		base.Voters = static
	}
	base.Voters = byID(base.Voters)
	h := []membership{base}
	for _, c := range p.Changes {
		if c.Offset > base.offset {
			h = append(h, h[len(h)-1].with(c))
		}
	}
	return h
}

func (q membership) with(c QuorumChange) membership {
	q.offset = c.Offset
	if c.KRaftVersion != Unchanged {
		q.KRaftVersion = c.KRaftVersion
	}
	if c.Voters != nil {
		q.Voters = byID(c.Voters)
	}
	return q
}

func byID(voters []Voter) []Voter {
	return slices.SortedFunc(slices.Values(voters), func(a, b Voter) int { return cmp.Compare(a.ID, b.ID) })
}

// changeQuorum applies control records that were appended to the log.
func (m *Machine) changeQuorum(changes []QuorumChange) {
	if len(changes) == 0 {
		return
	}
	for _, c := range changes {
		m.history = append(m.history, m.history[len(m.history)-1].with(c))
	}
	m.useQuorum()
}

// truncateQuorum takes back what was appended at to and above.
func (m *Machine) truncateQuorum(to kafka.Offset) {
	n := len(m.history)
	for n > 1 && m.history[n-1].offset >= to {
		n--
	}
	if n < len(m.history) {
		m.history = m.history[:n]
		m.useQuorum()
	}
}

// forgetQuorums drops the memberships before the one at the end of a snapshot.
func (m *Machine) forgetQuorums(end kafka.Offset) {
	for len(m.history) > 1 && m.history[1].offset < end {
		m.history = slices.Delete(m.history, 0, 1)
	}
}

// useQuorum makes the last membership the one that counts.
func (m *Machine) useQuorum() {
	last := m.history[len(m.history)-1]
	m.voters, m.kraftVersion = last.Voters, last.KRaftVersion
	m.isVoter = slices.ContainsFunc(m.voters, func(v Voter) bool { return v.includes(m.self()) })
	if m.state == Leader {
		m.adoptVoters()
	}
}

// Quorum gives the quorum that counts now. The caller must not write to it.
func (m *Machine) Quorum() Quorum { return m.history[len(m.history)-1].Quorum }

// includes reports whether o is the replica that k names. A voter without a
// directory id, as static ones are, is every incarnation of its node.
func (k ReplicaKey) includes(o ReplicaKey) bool {
	return k.ID == o.ID && (k.DirectoryID.IsZero() || k.DirectoryID == o.DirectoryID)
}

// selfVoter is this node as the voter set should have it.
func (m *Machine) selfVoter() Voter {
	return Voter{ReplicaKey: m.self(), Endpoints: m.cfg.Endpoints, KRaftVersions: SupportedKRaft}
}

// needsUpdate reports whether the voter set has this node with other endpoints
// or versions than it has now.
func (m *Machine) needsUpdate() bool {
	for _, v := range m.voters {
		if v.includes(m.self()) {
			return !sameVoter(v, m.selfVoter())
		}
	}
	return false
}

func sameVoter(a, b Voter) bool {
	order := func(a, b kafka.Endpoint) int { return cmp.Compare(a.Listener, b.Listener) }
	return a.ReplicaKey == b.ReplicaKey && a.KRaftVersions == b.KRaftVersions && slices.Equal(
		slices.SortedFunc(slices.Values(a.Endpoints), order), slices.SortedFunc(slices.Values(b.Endpoints), order))
}

// replaceVoter gives the voter set with v in the place of the voter of its id;
// false where there is none, or where exact is set and its directory differs.
func replaceVoter(voters []Voter, v Voter, exact bool) ([]Voter, bool) {
	i := slices.IndexFunc(voters, func(o Voter) bool { return o.ID == v.ID })
	if i < 0 || exact && !voters[i].includes(v.ReplicaKey) {
		return nil, false
	}
	out := slices.Clone(voters)
	out[i] = v
	return out, true
}

// checkQuorum names what is wrong with the quorum that a node starts with.
func (m *Machine) checkQuorum() error {
	q := m.Quorum()
	switch {
	case q.KRaftVersion < 0 || !SupportedKRaft.has(q.KRaftVersion):
		return fmt.Errorf("the log finalizes kraft.version %d, %d to %d are supported: run a version that knows it on this directory", q.KRaftVersion, SupportedKRaft.Min, SupportedKRaft.Max)
	case len(q.Voters) > MaxVoters:
		return fmt.Errorf("%d voters: at most %d", len(q.Voters), MaxVoters)
	case !m.isVoter && len(m.cfg.Bootstrap) == 0 && len(q.Voters) == 0:
		return fmt.Errorf("node %d is no voter and has no voter or bootstrap server to fetch from", m.cfg.NodeID)
	}
	return nil
}
