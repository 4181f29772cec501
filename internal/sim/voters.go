package sim

import (
	"math/bits"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// voterSet is a set of voters by id, comparable as records must be.
type voterSet uint64

func (s voterSet) has(id int) bool { return s>>id&1 == 1 }
func (s voterSet) size() int       { return bits.OnesCount64(uint64(s)) }

// majority reports whether n of the set are more than half of it.
func (s voterSet) majority(n int) bool { return n*2 > s.size() }

// directory is the id of the directory of a node, in every life of it.
func directory(id int) kafka.UUID { return kafka.UUID{1, byte(id)} }

func endpoints(id int) []kafka.Endpoint {
	return []kafka.Endpoint{{Listener: raft.DefaultListener, Host: "n", Port: uint16(id + 1)}}
}

func voterOf(id int) raft.Voter {
	return raft.Voter{
		ReplicaKey: raft.ReplicaKey{ID: kafka.BrokerID(id), DirectoryID: directory(id)},
		Endpoints:  endpoints(id), KRaftVersions: raft.SupportedKRaft,
	}
}

// voters gives the members as the machines know them.
func (s voterSet) voters() []raft.Voter {
	var out []raft.Voter
	for id := range 64 {
		if s.has(id) {
			out = append(out, voterOf(id))
		}
	}
	return out
}

func setOf(voters []raft.Voter) voterSet {
	var s voterSet
	for _, v := range voters {
		s |= 1 << v.ID
	}
	return s
}

// quorum is what a log or a snapshot says of the quorum.
type quorum struct {
	level  int16
	voters voterSet
}

// raft is what a machine is told of it: of static voters nothing, they are in its
// configuration.
func (q quorum) raft() raft.Quorum {
	if q.level == 0 {
		return raft.Quorum{}
	}
	return raft.Quorum{KRaftVersion: q.level, Voters: q.voters.voters()}
}

// with is the quorum behind a record.
func (q quorum) with(r record) quorum {
	if r.level > 0 {
		q.level = r.level
	}
	if r.voters != 0 {
		q.voters = r.voters
	}
	return q
}

// changes are the records that carry out changes.
func changeRecords(epoch kafka.LeaderEpoch, base kafka.Offset, changes []raft.QuorumChange) []record {
	var out []record
	for _, c := range changes {
		r := record{epoch: epoch, base: base, voters: setOf(c.Voters)}
		if c.KRaftVersion != raft.Unchanged {
			r.level = c.KRaftVersion
		}
		out = append(out, r)
	}
	return out
}

// change is what a record changes, at its offset; false for most.
func (r record) change(at kafka.Offset) (raft.QuorumChange, bool) {
	if r.level == 0 && r.voters == 0 {
		return raft.QuorumChange{}, false
	}
	c := raft.QuorumChange{Offset: at, KRaftVersion: raft.Unchanged}
	if r.level > 0 {
		c.KRaftVersion = r.level
	}
	if r.voters != 0 {
		c.Voters = r.voters.voters()
	}
	return c, true
}

// changeVoters asks the leader to add or remove a node.
func (w *world) changeVoters() {
	n := w.leader()
	if n == nil || n.paused {
		return
	}
	v := voterOf(w.rng.IntN(w.p.controllers()))
	n.lastReq++
	n.inbound[n.lastReq] = caller{node: operator}
	var m raft.Message = raft.RemoveVoterRequest{Voter: v.ReplicaKey}
	if !n.disk.quorum().voters.has(int(v.ID)) {
		m = raft.AddVoterRequest{Voter: v, AckWhenCommitted: w.rng.IntN(2) == 0}
	}
	w.trace.note("ask node %d: %T %d", n.id, m, v.ID)
	w.trace.Add(uint64(v.ID))
	n.step(raft.Request{ID: n.lastReq, Message: m})
}

// operator is the caller that asks for changes of the voters.
const operator = -1

// answersOperator looks at the answer to one.
func (j *judge) answersOperator(m raft.Message) {
	var code kafka.ErrorCode
	switch m := m.(type) {
	case raft.AddVoterResponse:
		code = m.Error
	case raft.RemoveVoterResponse:
		code = m.Error
	}
	if code == kafka.None {
		j.w.cov.VoterChanges++
	} else {
		j.w.cov.VotersRefused++
	}
}

// changesVoters looks at a voter set that leader n appends at offset o, where
// before was the one that counted.
func (j *judge) changesVoters(n *node, o kafka.Offset, before, after voterSet) {
	if before == after {
		return // written anew at the start of an epoch
	}
	s := &j.states[n.id]
	known := kafka.Offset(len(j.committed))
	last := n.disk.lastChange(o)
	switch {
	case bits.OnesCount64(uint64(before^after)) > 1:
		j.fail("OneVoterChange", n.id, "at offset %d it replaces the voters %b by %b, more than one at once", o, before, after)
	case last >= known:
		j.fail("OneVoterChange", n.id, "at offset %d it changes the voters while the change at %d is not committed", o, last)
	case s.role.State == raft.Leader && s.role.EpochStart >= known:
		j.fail("OneVoterChange", n.id, "at offset %d it changes the voters before its epoch's first record, at %d, is committed", o, s.role.EpochStart)
	}
}
