package sim

import (
	"fmt"
	"time"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// judge knows all that ever happened in a world and says which invariant
// breaks:
//
//   - ElectionSafety: an epoch has one leader, in one of its lives.
//   - LogMatching: two records of the same offset and epoch are the same, and
//     so are the epochs of the records before them; by induction the prefixes.
//   - LeaderCompleteness: the log of a leader holds all that was committed in
//     epochs before its own.
//   - StateMachineSafety: what two nodes hold as committed at an offset is the
//     same.
//   - HighWatermarkMonotonic: the high watermark of a node does not move back
//     while it lives, is not above its log, and is not below what was committed
//     when a leader that tells it was elected.
//   - CommittedNeverTruncated: no node drops a committed record, nor any below
//     its high watermark.
//   - VoteOncePerEpoch: a voter votes for one candidate in an epoch, whatever
//     crashes lie between.
//   - AckedDurable: what a voter acknowledges by a fetch is on its disk, and
//     what is committed is on the disks of a majority.
//   - NoStaleLeaderAnswer: only the leader of an epoch answers fetches and
//     takes appends of that epoch.
//   - CheckQuorum: a leader that hears no majority resigns.
//   - VotersOnly: nobody campaigns but a voter, as its own log has it, and nobody
//     leads whom not a majority of the voters of its log voted for.
//   - RemovedLeaderResigns: a leader whose removal from the voters is committed
//     does not lead on.
//   - OneVoterChange: the voters change by one at a time, and only once the change
//     before and a record of the leader's epoch are committed.
//   - SnapshotIsPrefix: two snapshots of one id say the same of the quorum.
//   - NoFatal: no machine gives up, and its effects make sense.
//   - Liveness: once all faults have ended, the quorum agrees on a new record.
type judge struct {
	w         *world
	violation *Violation

	leaders   map[kafka.LeaderEpoch]tenure
	committed []record            // by offset
	epochs    []kafka.LeaderEpoch // by offset: of the leader that committed it
	seen      [][]version
	votes     map[ballot]kafka.BrokerID
	states    []standing // by node
	ledger    *ledger    // of a world with metadata, else nil
}

// tenure is who led an epoch, and in which life.
type tenure struct{ node, boot int }

// version is a record that some log held at an offset, at any time.
type version struct {
	record
	before kafka.LeaderEpoch // epoch of the record before it
}

type ballot struct {
	voter int
	epoch kafka.LeaderEpoch
}

// standing is where a node stands, as far as it has said so.
type standing struct {
	role      raft.Role
	committed kafka.Offset    // how far the log was committed when it was elected
	heard     []time.Duration // when it last got a fetch of its epoch, by node
	removed   bool            // it led when this step began, committed its own removal, and resigned
}

func newJudge(w *world) judge {
	n := w.p.controllers() + w.p.brokers
	return judge{
		w: w, ledger: newLedger(), leaders: map[kafka.LeaderEpoch]tenure{}, votes: map[ballot]kafka.BrokerID{},
		states: make([]standing, n),
	}
}

func (j *judge) fail(invariant string, node int, format string, a ...any) {
	if j.violation != nil {
		return
	}
	j.violation = &Violation{
		Invariant: invariant, Seed: j.w.opt.Seed, Event: int(j.w.cov.Events), At: j.w.now,
		Node: node, Detail: fmt.Sprintf(format, a...),
	}
	j.w.trace.note("VIOLATION %v", j.violation)
}

// String tells the violation and how to see it again.
func (v *Violation) String() string {
	return fmt.Sprintf("%s broken at node %d, event %d (%v): %s; see it again with seed %d", v.Invariant, v.Node, v.Event, v.At, v.Detail, v.Seed)
}

func (j *judge) started(n *node) { j.states[n.id] = standing{role: n.machine.Role()} }
func (j *judge) stopped(n *node) { j.states[n.id] = standing{} }

// role takes note of a new role, before the log changes with it.
func (j *judge) role(n *node, r *raft.Role) {
	if r == nil {
		return
	}
	s := &j.states[n.id]
	was := s.role
	s.role = *r
	j.w.trace.note("node %d is %v of epoch %d, leader %d", n.id, r.State, r.Epoch, r.LeaderID)
	j.w.trace.Add(uint64(r.State), uint64(r.Epoch), uint64(r.LeaderID))
	if was.State == raft.Leader && r.State == raft.Resigned && r.Observer {
		j.w.cov.SelfRemovals++
		s.removed = true
	}
	if r.State == was.State && r.Epoch == was.Epoch {
		return
	}
	if campaigns := r.State == raft.Prospective || r.State == raft.Candidate || r.State == raft.Leader; campaigns && !n.disk.quorum().voters.has(n.id) {
		j.fail("VotersOnly", n.id, "it is %v of epoch %d, but the voters of its log are %b", r.State, r.Epoch, n.disk.quorum().voters)
		return
	}
	switch r.State {
	case raft.Prospective:
		j.w.cov.PreVotes++
	case raft.Candidate:
		j.w.cov.Candidacies++
		j.casts(n.id, r.Epoch, kafka.BrokerID(n.id))
	case raft.Resigned:
		j.w.cov.Resignations++
	case raft.Leader:
		if was.State != raft.Candidate || was.Epoch != r.Epoch {
			j.w.cov.Candidacies++ // an only voter's, within one step
			j.casts(n.id, r.Epoch, kafka.BrokerID(n.id))
		}
		j.elected(n, s)
	}
}

func (j *judge) elected(n *node, s *standing) {
	j.w.cov.Elections++
	t := tenure{n.id, n.boot}
	if o, ok := j.leaders[s.role.Epoch]; ok {
		j.fail("ElectionSafety", n.id, "it leads epoch %d, which node %d led before", s.role.Epoch, o.node)
		return
	}
	j.leaders[s.role.Epoch] = t
	set, votes := n.disk.quorum().voters, 0
	for v := range j.w.nodes {
		if o, ok := j.votes[ballot{v, s.role.Epoch}]; ok && o == kafka.BrokerID(n.id) && set.has(v) {
			votes++
		}
	}
	if !set.majority(votes) {
		j.fail("VotersOnly", n.id, "it leads epoch %d by %d votes of the voters %b", s.role.Epoch, votes, set)
		return
	}
	s.committed = j.committedBefore(s.role.Epoch)
	s.heard = make([]time.Duration, len(j.w.nodes))
	for i := range s.heard {
		s.heard[i] = j.w.now
	}
	j.complete(n, 0)
}

// committedBefore is how many records were committed in epochs below epoch. A
// candidate may win an old epoch late, when newer ones have long committed.
func (j *judge) committedBefore(epoch kafka.LeaderEpoch) kafka.Offset {
	n := len(j.epochs)
	for n > 0 && j.epochs[n-1] >= epoch {
		n--
	}
	return kafka.Offset(n)
}

// complete checks that leader n holds the records from offset on that were
// committed before its epoch.
func (j *judge) complete(n *node, from kafka.Offset) {
	epoch := j.states[n.id].role.Epoch
	to := j.committedBefore(epoch)
	if n.disk.end() < to {
		j.fail("LeaderCompleteness", n.id, "its log ends at %d when it leads epoch %d, but %d records were committed before", n.disk.end(), epoch, to)
		return
	}
	for o := max(from, n.disk.start); o < to; o++ {
		if n.disk.at(o) != j.committed[o] {
			j.fail("LeaderCompleteness", n.id, "as leader of epoch %d it holds %v at offset %d, but %v was committed before", epoch, n.disk.at(o), o, j.committed[o])
			return
		}
	}
}

// casts takes note of a vote.
func (j *judge) casts(voter int, epoch kafka.LeaderEpoch, candidate kafka.BrokerID) {
	b := ballot{voter, epoch}
	if o, ok := j.votes[b]; ok && o != candidate {
		j.fail("VoteOncePerEpoch", voter, "in epoch %d it votes for node %d after it voted for node %d", epoch, candidate, o)
		return
	}
	j.votes[b] = candidate
}

func (j *judge) answersVote(n *node, to caller, m raft.VoteResponse) {
	if m.Granted && !to.preVote {
		j.casts(n.id, m.LeaderEpoch, kafka.BrokerID(to.node))
	}
}

// appendedRecords looks at the records from offset on, new in n's log.
func (j *judge) appendedRecords(n *node, from kafka.Offset) {
	before := n.disk.epochBefore(from)
	for o := from; o < n.disk.end(); o++ {
		if r := n.disk.at(o); r.voters != 0 && j.states[n.id].role.State == raft.Leader {
			j.changesVoters(n, o, n.disk.quorumAt(o).voters, r.voters)
			for i := range j.states[n.id].heard { // another majority has its time to show itself
				j.states[n.id].heard[i] = j.w.now
			}
		}
		v := version{n.disk.at(o), before}
		before = v.epoch
		for len(j.seen) <= int(o) {
			j.seen = append(j.seen, nil)
		}
		known := false
		for _, k := range j.seen[o] {
			if k.epoch != v.epoch {
				continue
			}
			if k != v {
				j.fail("LogMatching", n.id, "it holds %v at offset %d, but another log held %v", v, o, k)
				return
			}
			known = true
		}
		if !known {
			j.seen[o] = append(j.seen[o], v)
		}
	}
}

// truncates looks at a truncation before it is done.
func (j *judge) truncates(n *node, to kafka.Offset) {
	if to < n.hw {
		j.fail("CommittedNeverTruncated", n.id, "it truncates to %d, below its high watermark %d", to, n.hw)
		return
	}
	if to < n.disk.end() {
		j.w.cov.Truncations++
		j.w.cov.RecordsTruncated += int64(n.disk.end() - to)
	}
	for o := max(to, n.disk.start); o < min(n.disk.end(), kafka.Offset(len(j.committed))); o++ {
		if n.disk.at(o) == j.committed[o] {
			j.fail("CommittedNeverTruncated", n.id, "it truncates to %d and drops the committed record %v at %d", to, n.disk.at(o), o)
			return
		}
	}
}

// highWatermark looks at the high watermark that n tells of.
func (j *judge) highWatermark(n *node, hw kafka.Offset) {
	s := &j.states[n.id]
	leads := s.role.State == raft.Leader || s.removed
	known := kafka.Offset(len(j.committed))
	switch {
	case hw < n.hw:
		j.fail("HighWatermarkMonotonic", n.id, "it moves back from %d to %d", n.hw, hw)
	case hw > n.disk.end():
		j.fail("HighWatermarkMonotonic", n.id, "%d is above the log end %d", hw, n.disk.end())
	case hw > known && !leads:
		j.fail("HighWatermarkMonotonic", n.id, "%d is above %d, which the leaders told", hw, known)
	case leads && hw < s.committed:
		j.fail("HighWatermarkMonotonic", n.id, "as leader of epoch %d it tells %d, but %d was told before", s.role.Epoch, hw, s.committed)
	}
	if j.violation != nil {
		return
	}
	for o := max(n.hw, n.disk.start, 0); o < min(hw, known); o++ {
		if n.disk.at(o) != j.committed[o] {
			j.fail("StateMachineSafety", n.id, "it holds %v at offset %d as committed, but %v was committed", n.disk.at(o), o, j.committed[o])
			return
		}
	}
	if hw > known {
		j.commit(n, known, hw)
	}
}

// commit takes note that leader n committed [from, to).
func (j *judge) commit(n *node, from, to kafka.Offset) {
	for o := from; o < to; o++ {
		j.committed = append(j.committed, n.disk.at(o))
		j.epochs = append(j.epochs, j.states[n.id].role.Epoch)
	}
	j.w.cov.Commits += int64(to - from)
	durable := 0
	last := n.disk.at(to - 1)
	set := n.disk.quorum().voters
	for id, v := range j.w.nodes {
		d := &v.disk
		if set.has(id) && (d.start >= to || d.safe >= to && d.at(to-1) == last) {
			durable++
		}
	}
	if !set.majority(durable) {
		j.fail("AckedDurable", n.id, "it commits [%d,%d), which is durable on %d of the voters %b", from, to, durable, set)
		return
	}
	for i, s := range j.states {
		o := j.w.nodes[i]
		if o.up && s.role.State == raft.Leader && s.role.Epoch > j.states[n.id].role.Epoch {
			j.complete(o, from)
		}
	}
}

// snapshot looks at a snapshot that n takes.
func (j *judge) snapshot(n *node, id raft.SnapshotID, q quorum) {
	if o, ok := j.w.taken[id]; ok && o != q {
		j.fail("SnapshotIsPrefix", n.id, "its snapshot %d-%d says %v of the quorum, another says %v", id.EndOffset, id.Epoch, q, o)
	}
	j.w.taken[id] = q
}

// sends looks at a request before it leaves.
func (j *judge) sends(n *node, m raft.Message) {
	switch m := m.(type) {
	case raft.FetchRequest:
		if !j.states[n.id].role.Observer && m.FetchOffset > n.disk.safe {
			j.fail("AckedDurable", n.id, "it acknowledges the log below %d, but only %d is on its disk", m.FetchOffset, n.disk.safe)
		}
	case raft.VoteRequest:
		if !m.PreVote {
			j.casts(n.id, m.Epoch, m.Candidate.ID)
		}
	}
}

// answersFetch looks at the answer to a fetch before it leaves.
func (j *judge) answersFetch(n *node, to caller, m raft.FetchResponse) {
	if m.Error != kafka.None || m.PartitionError != kafka.None {
		return
	}
	if len(m.Batches) == 0 && m.Diverging == nil && m.Snapshot == nil {
		j.w.cov.ParkedExpired++
	}
	s := &j.states[n.id]
	if s.role.State != raft.Leader && !s.removed || s.role.Epoch != to.epoch || m.LeaderEpoch != to.epoch || m.LeaderID != kafka.BrokerID(n.id) {
		j.fail("NoStaleLeaderAnswer", n.id, "it answers a fetch of epoch %d as leader %d of epoch %d, but is %v of epoch %d", to.epoch, m.LeaderID, m.LeaderEpoch, s.role.State, s.role.Epoch)
		return
	}
	if m.HighWatermark != kafka.NoOffset && m.HighWatermark < s.committed {
		j.fail("HighWatermarkMonotonic", n.id, "as leader of epoch %d it tells %d, but %d was told before", s.role.Epoch, m.HighWatermark, s.committed)
	}
}

// appended looks at the answer to a client.
func (j *judge) appended(n *node, a raft.AppendResult) {
	if a.Err != kafka.None {
		j.w.cov.Refused++
		return
	}
	j.w.cov.Appends++
	s := &j.states[n.id]
	if s.role.State != raft.Leader || n.disk.at(a.LastOffset).epoch != s.role.Epoch || n.disk.at(a.LastOffset).value != a.Token {
		j.fail("NoStaleLeaderAnswer", n.id, "as %v of epoch %d it takes an append", s.role.State, s.role.Epoch)
	}
}

// heard takes note of a fetch that arrives.
func (j *judge) heard(n *node, replica kafka.BrokerID, epoch kafka.LeaderEpoch) {
	s := &j.states[n.id]
	if s.role.State == raft.Leader && epoch == s.role.Epoch && int(replica) < len(s.heard) {
		s.heard[replica] = j.w.now
	}
}

// afterEvent checks what time alone can break: a leader without a majority for
// more than 1.5 fetch timeouts.
func (j *judge) afterEvent() {
	for i := range j.states {
		s := &j.states[i]
		s.removed = false
		n := j.w.nodes[i]
		if n.up && !n.paused && n.due() > j.w.now {
			j.overdue(n.ctl)
		}
		if s.role.State != raft.Leader || !n.up || n.paused || j.violation != nil {
			continue
		}
		if q := n.disk.quorum(); q.voters != 0 && !q.voters.has(i) && n.disk.lastChange(n.disk.end()) < n.hw {
			j.fail("RemovedLeaderResigns", i, "it leads epoch %d, but the voters %b are committed", s.role.Epoch, q.voters)
			continue
		}
		limit := j.w.now - j.w.p.fetchTimeout*3/2*1000/time.Duration(n.rate) - time.Microsecond
		recent := 0
		set := voterSet(0)
		for _, v := range n.machine.Quorum().Voters {
			set |= 1 << v.ID
		}
		for v, at := range s.heard {
			if set.has(v) && (v == i || at >= limit) {
				recent++
			}
		}
		if !set.majority(recent) && n.deadline > j.w.now {
			j.fail("CheckQuorum", i, "it leads epoch %d, but only %d of the voters %b fetched in the last 1.5 fetch timeouts", s.role.Epoch, recent, set)
		}
	}
}
