package raft

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"kbench/kafka"
)

// Machine is one node of the quorum. Make it with New.
//
// The legal transitions of a voter, and what causes them:
//
//	Unattached  => Unattached   a higher epoch is seen, or a vote is given
//	               Prospective  the election timeout passed (Candidate without pre-vote)
//	               Follower     a leader of this or a higher epoch is seen
//	Prospective => Unattached   a higher epoch is seen, or the pre-vote is lost and no leader is known
//	               Follower     a leader is seen, or the pre-vote is lost and a leader is known
//	               Candidate    a majority would vote for this node
//	Candidate   => Unattached   a higher epoch is seen
//	               Follower     a leader of this or a higher epoch is seen
//	               Leader       a majority voted for this node
//	               Prospective  the election is lost or timed out and the back-off passed (Candidate without pre-vote)
//	Leader      => Unattached   a higher epoch is seen
//	               Follower     a leader of a higher epoch is seen
//	               Resigned     Resign, Shutdown, no majority fetched for 1.5 fetch timeouts, or
//	                            the removal of this node from the voters is committed
//	Resigned    => Unattached   a higher epoch is seen, or the election timeout passed
//	               Prospective  at once, where it is the only voter (Candidate without pre-vote,
//	                            which also follows the election timeout then)
//	               Follower     a leader of a higher epoch is seen
//	Follower    => Unattached   a higher epoch is seen
//	               Follower     a leader of a higher epoch is seen
//	               Prospective  the fetch timeout passed, at once on EndQuorumEpoch (Candidate without pre-vote)
//
// An observer is Unattached or Follower only. A node that was leader when it
// stopped starts as Resigned, so that it neither votes nor appends again in
// that epoch; one that was candidate starts as Candidate of the same epoch.
type Machine struct {
	cfg          Config
	rng          *rand.Rand
	history      []membership // never empty; the last one counts
	voters       []Voter      // by id
	kraftVersion int16
	isVoter      bool

	now     time.Duration
	started bool
	gen     uint64 // counts changes of role

	epoch    kafka.LeaderEpoch
	leaderID kafka.BrokerID // this node's id in Leader and Resigned
	voted    ReplicaKey
	durable  QuorumState // as last persisted
	state    State

	log     epochLog
	flushed kafka.Offset // the log below it is durable
	flush   pendingFlush
	hw      kafka.Offset // NoOffset where unknown

	electionAt time.Duration // election timeout of Unattached, Prospective, Candidate, Resigned
	nominee    nominee       // of Prospective and Candidate
	retries    int           // elections lost in a row
	lead       leadership    // of Leader
	resigned   resignation   // of Resigned
	follow     following     // of Follower

	installing SnapshotID // handed to the driver to install, zero if none
	leaving    bool       // Shutdown was asked for
	handsOver  bool       // and this node led then
	leaveBy    time.Duration

	peers      []peer
	lastID     uint64
	scratchIDs []kafka.BrokerID
	scratchEnd []kafka.Offset
	scratchAt  []time.Duration

	eff      Effects
	lastRole Role
	passed   []transition // of this Step, in order; Effects tell the last role alone
}

// transition is one change of role.
type transition struct {
	from, to State
	start    bool // the machine had none before
}

type pendingFlush struct {
	seq uint64
	out bool
	end kafka.Offset // what it makes durable
}

// New makes the machine of a node that starts with what its disk holds. The
// first Step starts its timers. The error names what is wrong with the
// configuration or the persisted state.
func New(cfg Config, p Persisted) (*Machine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	log, err := newEpochLog(p)
	if err != nil {
		return nil, fmt.Errorf("persisted log: %w", err)
	}
	if q := p.QuorumState; q.LeaderEpoch < 0 || q.LeaderID < None || q.VotedKey.ID < None {
		return nil, fmt.Errorf("quorum state: epoch %d, leader %d, vote %d: an id below -1 or an epoch below 0", q.LeaderEpoch, q.LeaderID, q.VotedKey.ID)
	}
	m := &Machine{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed[0], cfg.Seed[1])),
		log: log, flushed: log.end, hw: kafka.NoOffset,
		epoch: p.QuorumState.LeaderEpoch, leaderID: p.QuorumState.LeaderID, voted: p.QuorumState.VotedKey,
		durable: p.QuorumState,
	}
	m.history = newMembership(cfg.Voters, p)
	m.useQuorum()
	if err := m.checkQuorum(); err != nil {
		return nil, err
	}
	if !log.snapshot.IsBootstrap() {
		m.hw = log.snapshot.EndOffset // what a snapshot holds is committed
	}
	if m.epoch < log.lastEpoch() {
		m.epoch, m.leaderID, m.voted = log.lastEpoch(), None, ReplicaKey{ID: None}
	}
	m.lastRole = m.Role()
	return m, nil
}

// Step hands one input to the machine. Now must not go back; its origin is the
// driver's choice. The deadline is when the driver must Step again (with Tick)
// if no other input comes, and may have passed already; Never if there is
// nothing to wait for.
func (m *Machine) Step(now time.Duration, in Input) (Effects, time.Duration) {
	m.now = max(now, m.now)
	m.eff = Effects{
		Log: m.eff.Log[:0], Send: m.eff.Send[:0], Reply: m.eff.Reply[:0], Appended: m.eff.Appended[:0],
		HighWatermark: kafka.NoOffset,
	}
	m.passed = m.passed[:0]
	hw := m.hw
	if !m.started {
		m.started = true
		m.start()
	}
	if m.state == Leader && m.now >= m.quorumBy() {
		m.resign() // before it can answer, after a pause, as the leader that it should not be
	}
	m.handle(in)
	m.poll()
	m.requestFlush()
	if r := m.Role(); r != m.lastRole {
		m.lastRole = r
		m.eff.Role = &r
	}
	if m.hw != hw {
		m.eff.HighWatermark = m.hw
	}
	return m.eff, m.deadline()
}

// start enters the state that the persisted quorum state asks for.
func (m *Machine) start() {
	switch {
	case m.leaderID == m.cfg.NodeID && m.isVoter:
		m.enterResigned(nil)
	case m.leaderID != None && m.leaderID != m.cfg.NodeID && slices.ContainsFunc(m.voters, func(v Voter) bool { return v.ID == m.leaderID }):
		m.enterFollower()
	case m.leaderID != None && m.leaderID != m.cfg.NodeID:
		m.enterUnattached(m.randomElectionTimeout()) // of which nothing is known, not where it listens
	case m.voted.includes(m.self()) && m.isVoter:
		m.enterNominee(Candidate)
	default:
		m.leaderID = None
		m.enterUnattached(m.randomElectionTimeout())
	}
	if m.isOnlyVoter() && m.state != Candidate {
		m.campaign()
	}
}

func (m *Machine) handle(in Input) {
	switch in := in.(type) {
	case Tick:
	case Request:
		m.handleRequest(in.ID, in.Message)
	case Cancel:
		m.cancelParked(in.ID)
	case Response:
		m.handleResponse(in.ID, in.Message)
	case RequestFailed:
		if p := m.answered(in.ID); p != nil {
			m.fail(p)
			m.handleAPIVersions(p.id, APIVersionsResponse{Error: kafka.BrokerNotAvailable})
		}
	case Append:
		m.handleAppend(in)
	case FlushDone:
		m.handleFlushDone(in.Seq)
	case Resign:
		if m.state == Leader && in.Epoch == m.epoch {
			m.resign()
		}
	case Shutdown:
		m.handleShutdown(in.Timeout)
	case SnapshotTaken:
		m.handleSnapshotTaken(in.ID)
	case LogStartMoved:
		m.handleLogStartMoved(in.Offset)
	case SnapshotInstalled:
		m.handleSnapshotInstalled(in.ID, in.Quorum)
	default:
		m.fatal("input %T is unknown to the machine", in)
	}
}

// poll lets time act until nothing changes any more.
func (m *Machine) poll() {
	m.expirePeers()
	// A voter can go from Unattached over Prospective and Candidate to Leader at
	// one instant; eight rounds are more than any chain has.
	for range 8 {
		gen := m.gen
		switch m.state {
		case Unattached:
			m.pollUnattached()
		case Prospective, Candidate:
			m.pollNominee()
		case Leader:
			m.pollLeader()
		case Resigned:
			m.pollResigned()
		case Follower:
			m.pollFollower()
		}
		if m.gen == gen {
			break
		}
	}
	m.pollShutdown()
}

// deadline is when time can act next.
func (m *Machine) deadline() time.Duration {
	d := m.peerDeadline()
	switch m.state {
	case Unattached, Prospective, Candidate, Resigned:
		if m.mayCampaign() || m.state == Resigned && m.mayLeaveResigned() {
			d = min(d, m.electionAt)
		}
	case Leader:
		d = min(d, m.leaderDeadline())
	case Follower:
		if m.mayCampaign() || (!m.isVoter && m.follow.fetchBy > m.now) {
			d = min(d, m.follow.fetchBy)
		}
		if m.follow.updateAt > m.now && m.voterSetMessage() != nil {
			d = min(d, m.follow.updateAt)
		}
	}
	if m.leaving {
		d = min(d, m.leaveBy)
	}
	return d
}

// requestFlush asks for an fsync if records wait for one and none is out.
func (m *Machine) requestFlush() {
	if m.mustFlush() && !m.flush.out && m.flushed < m.log.end {
		m.flush = pendingFlush{seq: m.flush.seq + 1, out: true, end: m.log.end}
		m.eff.Flush = &Flush{m.flush.seq}
	}
}

func (m *Machine) handleFlushDone(seq uint64) {
	if !m.flush.out || seq != m.flush.seq {
		return
	}
	m.flush.out = false
	m.flushed = max(m.flushed, m.flush.end)
	switch m.state {
	case Leader:
		m.advanceHighWatermark()
	case Follower:
		if m.follow.awaitsFlush && m.flushed >= m.log.end {
			m.resetFetchTimeout()
		}
	}
}

func (m *Machine) truncate(to kafka.Offset) {
	m.log.truncate(to)
	m.truncateQuorum(to)
	m.flushed = min(m.flushed, to)
	m.flush.end = min(m.flush.end, to)
	m.eff.Log = append(m.eff.Log, LogTruncate{to})
}

// mustFlush says whether records must be durable before this node
// acknowledges them.
func (m *Machine) mustFlush() bool { return m.isVoter || !m.cfg.NoFlush }

func (m *Machine) fatal(format string, a ...any) {
	if m.eff.Fatal == nil {
		m.eff.Fatal = fmt.Errorf(format, a...)
	}
}

// Role gives the current role.
func (m *Machine) Role() Role {
	r := Role{State: m.state, Observer: !m.isVoter, Epoch: m.epoch, LeaderID: m.leaderID, EpochStart: kafka.NoOffset}
	switch {
	case m.state == Leader:
		r.EpochStart = m.lead.epochStart
	case m.leaderID == m.cfg.NodeID: // Resigned, or not started yet with the quorum state of a leader
		r.LeaderID = None
	}
	return r
}

// HighWatermark gives the high watermark this node knows, NoOffset where none.
// That of a new leader is what it knew before, until it has committed a record
// of its own epoch; it tells others none until then (KAFKA-12619).
func (m *Machine) HighWatermark() kafka.Offset { return m.hw }

// Voted gives whom this node voted for in this epoch, id None for nobody.
func (m *Machine) Voted() ReplicaKey { return m.voted }

// LogStart gives the first offset of the log.
func (m *Machine) LogStart() kafka.Offset { return m.log.start }

// LogEnd gives the log end offset.
func (m *Machine) LogEnd() kafka.Offset { return m.log.end }

func (m *Machine) isOnlyVoter() bool { return m.isVoter && len(m.voters) == 1 }

func (m *Machine) self() ReplicaKey { return ReplicaKey{m.cfg.NodeID, m.cfg.DirectoryID} }

// otherVoters yields the voters but this node, by id.
func (m *Machine) otherVoters(yield func(int, Voter) bool) {
	for i, v := range m.voters {
		if v.ID != m.cfg.NodeID && !yield(i, v) {
			return
		}
	}
}
