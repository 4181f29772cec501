package etcdraft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	etcd "go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
	"kbench/kraftcontroller/raftclient"
)

const (
	// electionTicks and heartbeatTicks are the library's way to say how often a
	// leader shows a sign of life: ten times in the least election timeout, as in
	// etcd.
	electionTicks  = 20
	heartbeatTicks = 2
	// maxMessageBytes is what the library gathers in one MsgApp, at least one
	// batch: etcd's value.
	maxMessageBytes = 1 << 20
	// maxInflight is how many of them it sends without an answer: etcd's value.
	maxInflight = 512
)

// Machine is one voter, with the library's RawNode inside. It is stepped as a
// raft.Machine is; unlike that one it reads the log and hands messages to its
// transport itself.
type Machine struct {
	cfg     raft.Config
	quorum  raft.Quorum // that counts: what was committed here last
	node    *etcd.RawNode
	storage *storage
	encode  func(raft.Batch, any) ([]byte, error)
	push    func(to kafka.BrokerID, m []byte)

	encodeChanges func(raft.Batch, []raft.QuorumChange) ([]byte, error)

	now      time.Duration
	tick     time.Duration // length
	tickAt   time.Duration // of the next; 0 before the first step
	durable  raft.QuorumState
	hw       kafka.Offset // committed and held here
	lastRole raft.Role
	opened   kafka.LeaderEpoch // the epoch whose first offset is epochStart
	start    kafka.Offset      // of the epoch that this node leads

	waiting    []waiting // for an fsync, in order
	flushSeq   uint64
	flushing   int // how many of waiting the fsync that is out covers
	flushOut   bool
	installing *install
	leavingAt  time.Duration // when a leader that resigns gives up on a successor, 0 where it does not
	shutdown   bool
	change     *voterChange // nil where there is none

	parked    []parked
	observers map[raft.ReplicaKey]raft.ReplicaState

	eff raft.Effects
}

// waiting are messages of the library that promise what an fsync makes true.
type waiting struct{ responses []*pb.Message }

// install is a snapshot on its way to the disk.
type install struct {
	id        raft.SnapshotID
	index     uint64
	voters    []uint64 // of its sender, in the library's ids
	responses []*pb.Message
}

func newMachine(p raftclient.Parts, push func(kafka.BrokerID, []byte)) (*Machine, error) {
	st, at, err := newStorage(p)
	if err != nil {
		return nil, err
	}
	m := &Machine{
		cfg: p.Config, quorum: at.quorum, storage: st, encode: p.Encode, encodeChanges: p.EncodeChanges, push: push,
		hw: at.offset, durable: p.Persisted.QuorumState, start: kafka.NoOffset, observers: map[raft.ReplicaKey]raft.ReplicaState{},
	}
	if m.cfg.FetchTimeout == 0 {
		m.cfg.FetchTimeout = raft.DefaultFetchTimeout
	}
	m.tick = m.cfg.FetchTimeout / electionTicks
	if m.tick <= 0 {
		return nil, fmt.Errorf("fetch timeout %v is too short for %d ticks", m.cfg.FetchTimeout, electionTicks)
	}
	m.node, err = etcd.NewRawNode(&etcd.Config{
		ID: idOf(m.cfg.NodeID), ElectionTick: electionTicks, HeartbeatTick: heartbeatTicks,
		Storage: st, Applied: at.index, AsyncStorageWrites: true,
		MaxSizePerMsg: maxMessageBytes, MaxInflightMsgs: maxInflight,
		CheckQuorum: !m.cfg.DisablePreVote, PreVote: !m.cfg.DisablePreVote,
		DisableProposalForwarding: true, StepDownOnRemoval: true, Logger: discard(),
	})
	if err != nil {
		return nil, err
	}
	m.lastRole = m.Role()
	return m, nil
}

// discard keeps the library from standard error: the Client logs the roles.
func discard() etcd.Logger {
	return &etcd.DefaultLogger{Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
}

// Step hands one input to the machine, as raft.Machine's Step does.
func (m *Machine) Step(now time.Duration, in raft.Input) (raft.Effects, time.Duration) {
	m.now = max(now, m.now)
	m.eff = raft.Effects{HighWatermark: kafka.NoOffset}
	hw := m.hw
	m.passTime()
	m.handle(in)
	m.drain()
	m.leave()
	m.pollChange()
	if m.needsFlush() {
		m.flushSeq++
		m.flushOut, m.flushing = true, len(m.waiting)
		m.eff.Flush = &raft.Flush{Seq: m.flushSeq}
	}
	if r := m.Role(); r != m.lastRole {
		m.lastRole = r
		m.eff.Role = &r
	}
	if m.hw != hw {
		m.eff.HighWatermark = m.hw
	}
	m.answerParked()
	return m.eff, m.deadline()
}

// passTime turns the time that has passed into ticks. After a pause of the
// process it gives what ends an election timeout and no more.
func (m *Machine) passTime() {
	if m.tickAt == 0 {
		m.tickAt = m.now + m.tick
		if len(m.quorum.Voters) == 1 && hasVoter(m.quorum.Voters, m.cfg.NodeID) { // nobody else could lead
			m.must(m.node.Campaign())
		}
		return
	}
	for range 2 * electionTicks {
		if m.now < m.tickAt {
			return
		}
		m.node.Tick()
		m.tickAt += m.tick
	}
	m.tickAt = max(m.tickAt, m.now+m.tick)
}

func (m *Machine) handle(in raft.Input) {
	switch in := in.(type) {
	case raft.Tick, raft.Response, raft.RequestFailed:
	case raft.Foreign:
		m.handleForeign(in)
	case raft.Request:
		m.handleRequest(in.ID, in.Message)
	case raft.Cancel:
		m.parked = slices.DeleteFunc(m.parked, func(p parked) bool { return p.id == in.ID })
	case raft.Append:
		m.handleAppend(in)
	case raft.FlushDone:
		m.handleFlushDone(in.Seq)
	case raft.Resign:
		if r := m.Role(); r.State == raft.Leader && in.Epoch == r.Epoch {
			m.resign(m.cfg.FetchTimeout)
		}
	case raft.Shutdown:
		m.shutdown = true
		if m.Role().State == raft.Leader {
			m.resign(in.Timeout)
		}
	case raft.SnapshotTaken:
		m.handleSnapshotTaken(in.ID)
	case raft.LogStartMoved:
		m.storage.moveStart(in.Offset)
	case raft.SnapshotInstalled:
		m.handleInstalled(in.ID, in.Quorum.KRaftVersion)
	default:
		m.must(fmt.Errorf("input %T is unknown to the machine", in))
	}
}

// must notes what may not be; the driver stops.
func (m *Machine) must(err error) {
	if err != nil && m.eff.Fatal == nil {
		m.eff.Fatal = err
	}
}

func (m *Machine) handleForeign(in raft.Foreign) {
	if in.Payload == nil {
		m.node.ReportUnreachable(idOf(in.From))
		m.node.ReportSnapshot(idOf(in.From), etcd.SnapshotFailure)
		return
	}
	if msg := decodeMessage(in, m.cfg.NodeID); msg != nil {
		// The library refuses messages of strangers, and those it never sends.
		_ = m.node.Step(msg)
	}
}

// decodeMessage reads a peer's message to this node. It gives nil where it is
// none: a peer's fault is no reason to stop, and the library asks again for what
// it misses.
func decodeMessage(in raft.Foreign, to kafka.BrokerID) *pb.Message {
	msg := new(pb.Message)
	err := proto.Unmarshal(in.Payload, msg)
	if err != nil || msg.GetFrom() != idOf(in.From) || msg.GetTo() != idOf(to) || msg.GetTerm() > math.MaxInt32 {
		return nil
	}
	return msg
}

func (m *Machine) handleAppend(a raft.Append) {
	res := raft.AppendResult{Token: a.Token, Err: kafka.NotLeaderOrFollower, BaseOffset: kafka.NoOffset, LastOffset: kafka.NoOffset}
	if r := m.Role(); r.State == raft.Leader && r.Epoch == a.Epoch {
		b := raft.Batch{BaseOffset: m.storage.end, LastOffset: m.storage.end + kafka.Offset(a.Count) - 1, Epoch: a.Epoch}
		raw, err := m.encode(b, a.Records)
		m.must(err)
		if err == nil && m.node.Propose(raw) == nil {
			res.Err, res.BaseOffset, res.LastOffset = kafka.None, b.BaseOffset, b.LastOffset
		}
	}
	m.eff.Appended = append(m.eff.Appended, res)
}

// needsFlush reports whether messages wait for an fsync and none is out.
func (m *Machine) needsFlush() bool { return !m.flushOut && len(m.waiting) > 0 }

func (m *Machine) handleFlushDone(seq uint64) {
	if !m.flushOut || seq != m.flushSeq {
		return
	}
	done := m.waiting[:m.flushing]
	m.waiting, m.flushOut, m.flushing = m.waiting[m.flushing:], false, 0
	for _, w := range done {
		m.release(w.responses)
	}
}

// release sends what was held back, and steps what is the node's own.
func (m *Machine) release(responses []*pb.Message) {
	for _, r := range responses {
		if r.GetTo() == idOf(m.cfg.NodeID) {
			if err := m.node.Step(r); err != nil && !errors.Is(err, etcd.ErrProposalDropped) {
				m.must(err)
			}
			continue
		}
		m.send(r)
	}
}

func (m *Machine) send(msg *pb.Message) {
	b, err := proto.Marshal(msg)
	m.must(err)
	if err == nil {
		m.push(nodeOf(msg.GetTo()), b)
	}
}

// deadline is when time can act next.
func (m *Machine) deadline() time.Duration {
	d := m.tickAt
	for i := range m.parked {
		d = min(d, m.parked[i].until)
	}
	if m.leavingAt > 0 {
		d = min(d, m.leavingAt)
	}
	if m.change != nil {
		d = min(d, m.change.until)
	}
	return d
}

// Push is the Algorithm of one voter. Make it with New.
type Push struct{ transport *transport }

// New makes the algorithm of one raftclient.Client.
func New() *Push { return &Push{transport: newTransport()} }

// Machine implements raftclient.Algorithm.
func (p *Push) Machine(parts raftclient.Parts) (raftclient.Machine, error) {
	p.transport.configure(parts)
	return newMachine(parts, p.transport.send)
}

// Run implements raftclient.Algorithm.
func (p *Push) Run(ctx context.Context, deliver func(context.Context, raft.Foreign) error) {
	p.transport.run(ctx, deliver)
}
