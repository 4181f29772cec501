package sim

import (
	"time"

	"kbench/kafka"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/raft"
)

// node is a machine with its disk, and its driver.
type node struct {
	w       *world
	id      int
	cfg     raft.Config
	disk    disk
	machine *raft.Machine
	rate    int64 // of its clock: ticks in 1,000 of the world's

	boot     int // counts lives
	bootAt   time.Duration
	up       bool
	stopped  bool // shut down in good order
	paused   bool
	held     []event // arrived while paused
	deadline time.Duration
	slow     time.Duration // what an fsync takes more
	crashAt  int           // stage of the next step to crash before, 0 for none
	failSync bool          // the next fsync fails

	hw       kafka.Offset // as of its machine
	lastReq  uint64
	inbound  map[uint64]caller
	receives snapshotInFlight

	// Of a world with metadata; a node is a controller or a broker, and neither
	// while it is down.
	delivery  raft.Delivery
	ctl       *controller
	broker    *broker
	lives     int               // of the broker
	clean     kafka.BrokerEpoch // that it left in good order with, NoBrokerEpoch while it lives or after a crash
	appendErr kafka.ErrorCode   // of the last append
}

// caller is who waits for the answer to a request.
type caller struct {
	node, boot int
	id         uint64
	epoch      kafka.LeaderEpoch // of a fetch
	preVote    bool              // of a vote
}

type snapshotInFlight struct {
	id    raft.SnapshotID
	bytes int64
}

// snapshotBytes is the size of every snapshot, in chunks of snapshotChunk.
const (
	snapshotBytes = 100
	snapshotChunk = 40
)

func newNode(w *world, id int, voters []raft.Voter) *node {
	n := &node{w: w, id: id, hw: kafka.NoOffset, deadline: raft.Never, rate: 1000, clean: kafka.NoBrokerEpoch}
	if ms := int64(w.p.skew / time.Millisecond); ms > 0 {
		n.rate += w.rng.Int64N(2*ms+1) - ms
	}
	n.disk.state = raft.EmptyQuorumState()
	n.disk.base = quorum{voters: setOf(voters)}
	n.cfg = raft.Config{
		NodeID: kafka.BrokerID(id), ClusterID: "sim", Voters: voters,
		ElectionTimeout: w.p.electionTimeout, FetchTimeout: w.p.fetchTimeout, ElectionBackoffMax: w.p.electionTimeout,
		RequestTimeout: w.p.fetchTimeout, FetchMaxWait: w.p.fetchTimeout / 4, RetryBackoff: 5 * time.Millisecond,
		FetchMaxBytes: int32(1 + w.rng.IntN(20)), SnapshotMaxBytes: snapshotChunk,
		DisablePreVote: w.p.noPreVote, DisableHWPush: !w.p.hwPush,
		NoFlush:   w.rng.IntN(2) == 0,
		Endpoints: endpoints(id),
	}
	if w.p.dynamic {
		n.formatDynamic(voters)
	}
	return n
}

// formatDynamic makes n a controller of a dynamic quorum, of whose first voters
// only they themselves know.
func (n *node) formatDynamic(voters []raft.Voter) {
	n.cfg.Voters, n.cfg.DirectoryID, n.cfg.NoFlush = nil, directory(n.id), false
	n.disk.base.level = 1
	if n.id >= len(voters) {
		n.disk.base.voters = 0
	}
	for i := range n.w.p.voters + n.w.p.observers {
		if i != n.id {
			n.cfg.Bootstrap = append(n.cfg.Bootstrap, kafka.BrokerID(i))
		}
	}
}

// clock is the node's own time since it started.
func (n *node) clock() time.Duration { return (n.w.now - n.bootAt) * time.Duration(n.rate) / 1000 }

// worldTime is when the node's clock shows d.
func (n *node) worldTime(d time.Duration) time.Duration {
	return n.bootAt + (d*1000+time.Duration(n.rate)-1)/time.Duration(n.rate)
}

func (n *node) start() {
	n.cfg.Seed = [2]uint64{n.w.rng.Uint64(), n.w.rng.Uint64()}
	m, err := raft.New(n.cfg, n.disk.persisted())
	if err != nil {
		n.w.judge.fail("NoFatal", n.id, "start: %v", err)
		return
	}
	n.w.trace.note("node %d starts, log [%d,%d)", n.id, n.disk.start, n.disk.end())
	n.machine, n.up, n.stopped, n.paused, n.held = m, true, false, false, nil
	n.bootAt, n.hw, n.inbound, n.receives = n.w.now, m.HighWatermark(), map[uint64]caller{}, snapshotInFlight{}
	if n.rate != 1000 {
		n.w.cov.Skewed++
	}
	n.w.judge.started(n)
	if n.w.opt.Metadata {
		n.delivery = raft.NewDelivery()
		if n.w.isBroker(n.id) {
			n.newBroker()
		} else {
			n.newController()
		}
	}
	n.step(raft.Tick{})
}

// due is when the node's next deadline is, that of its controller among them.
func (n *node) due() time.Duration {
	if n.ctl == nil || n.ctl.due == machine.Never {
		return n.deadline
	}
	return min(n.deadline, n.worldTime(n.ctl.due))
}

// crash ends this life of the node and lets the next begin later.
func (n *node) crash() {
	if !n.up {
		return
	}
	n.w.cov.Crashes++
	n.w.cov.RecordsLost += int64(n.disk.crash(n.w.rng))
	n.w.trace.note("node %d crashes, log ends at %d", n.id, n.disk.end())
	n.leave()
}

func (n *node) leave() {
	n.up, n.crashAt, n.deadline = false, 0, raft.Never
	n.ctl, n.broker = nil, nil
	n.boot++
	n.w.judge.stopped(n)
	n.w.after(time.Duration(n.w.rng.Int64N(int64(3*n.w.p.fetchTimeout))), event{kind: evStart, node: n.id, boot: n.boot})
}

// receive hands an event to the machine.
func (n *node) receive(e event) {
	switch e.kind {
	case evRequest:
		if _, ok := e.msg.(raft.APIVersionsRequest); ok { // answered by the driver
			n.w.transmit(event{kind: evResponse, node: e.peer, boot: e.peerBoot, peer: n.id, id: e.id, msg: raft.APIVersionsResponse{KRaftVersions: raft.SupportedKRaft}})
			return
		}
		n.lastReq++
		c := caller{node: e.peer, boot: e.peerBoot, id: e.id}
		switch m := e.msg.(type) {
		case raft.FetchRequest:
			c.epoch = m.CurrentLeaderEpoch
			n.w.judge.heard(n, m.Replica.ID, m.CurrentLeaderEpoch)
		case raft.FetchSnapshotRequest:
			n.w.judge.heard(n, m.Replica.ID, m.CurrentLeaderEpoch)
		case raft.VoteRequest:
			c.preVote = m.PreVote
		}
		n.inbound[n.lastReq] = c
		n.step(raft.Request{ID: n.lastReq, Message: e.msg})
	case evResponse:
		n.step(raft.Response{ID: e.id, Message: e.msg})
	case evFailed:
		n.step(raft.RequestFailed{ID: e.id})
	case evFlushed:
		if n.failSync { // what is on the disk now nobody knows: the node must stop
			n.failSync = false
			n.w.cov.DiskErrors++
			n.crash()
			return
		}
		n.disk.sync(e.mark)
		n.step(raft.FlushDone{Seq: e.id})
	case evInstalled:
		n.step(raft.SnapshotInstalled{ID: n.disk.snapshot, Quorum: n.disk.base.raft()})
	case evTick:
		n.step(raft.Tick{})
	case evAsk:
		n.ctl.ask(asker{node: e.peer, boot: e.peerBoot, id: e.id, body: e.ask})
		n.ctl.heed()
	case evAnswer:
		n.broker.answer(e.id, e.answer)
	case evBeat:
		n.broker.beat()
	case evCrash:
		n.crash()
	}
	if held := n.held; len(held) > 0 && !n.paused && n.up {
		n.held = nil
		for _, e := range held {
			n.w.after(0, e)
		}
	}
}

// The stages of a step at which a node can crash.
const stages = 5

// step steps the machine and carries out its effects in their order.
func (n *node) step(in raft.Input) {
	fx, deadline := n.machine.Step(n.clock(), in)
	n.deadline = raft.Never
	if deadline < raft.Never {
		n.deadline = n.worldTime(deadline)
	}
	crashAt := n.crashAt
	n.crashAt = 0
	if fx.Fatal != nil {
		n.w.judge.fail("NoFatal", n.id, "%v", fx.Fatal)
		return
	}
	for stage := 1; stage <= stages; stage++ {
		if stage == crashAt {
			n.w.cov.MidStepCrashes++
			n.crash()
			return
		}
		switch stage {
		case 1:
			if fx.Persist != nil {
				n.disk.state = *fx.Persist
				n.w.trace.Add(uint64(fx.Persist.LeaderEpoch), uint64(fx.Persist.LeaderID), uint64(fx.Persist.VotedKey.ID))
			}
		case 2:
			n.w.judge.role(n, fx.Role) // durable now, and the log is still as it was elected with
			n.changeLog(fx.Log)
		case 3:
			n.snapshot(fx.Snapshot)
			if fx.Flush != nil {
				n.flush(fx.Flush.Seq)
			}
			if fx.HighWatermark != kafka.NoOffset {
				n.w.judge.highWatermark(n, fx.HighWatermark)
				n.hw = fx.HighWatermark
				n.w.trace.Add(uint64(n.hw))
			}
		case 4:
			for _, s := range fx.Send {
				n.w.judge.sends(n, s.Message)
				n.w.transmit(event{kind: evRequest, node: int(s.To), peer: n.id, peerBoot: n.boot, id: s.ID, msg: s.Message})
			}
		case 5:
			for _, r := range fx.Reply {
				n.reply(r)
			}
		}
		if n.w.judge.violation != nil {
			return
		}
	}
	for _, a := range fx.Appended {
		n.w.judge.appended(n, a)
		n.appendErr = a.Err
	}
	if fx.ShutdownDone {
		n.stopped = true
		n.w.cov.RecordsLost += int64(n.disk.crash(n.w.rng))
		n.leave()
		return
	}
	n.heed()
}

// reply sends an answer, with the records or the chunk that it asks for.
func (n *node) reply(r raft.Reply) {
	to, ok := n.inbound[r.ID]
	if !ok {
		n.w.judge.fail("NoFatal", n.id, "answers request %d twice, or nobody's", r.ID)
		return
	}
	delete(n.inbound, r.ID)
	if to.node == operator {
		n.w.judge.answersOperator(r.Message)
		return
	}
	msg := r.Message
	switch m := msg.(type) {
	case raft.FetchResponse:
		if m.Read != nil {
			limit := int(m.Read.MaxBytes)
			if n.w.net.whole {
				limit = 1000 // let those far behind catch up before the time is over
			}
			m.Batches, m.Records = n.disk.read(m.Read.From, limit)
			m.Read = nil
			msg = m
		}
		n.w.judge.answersFetch(n, to, m)
	case raft.FetchSnapshotResponse:
		if m.ReadChunk {
			msg = n.chunk(m)
		}
	case raft.VoteResponse:
		n.w.judge.answersVote(n, to, m)
	}
	n.w.transmit(event{kind: evResponse, node: to.node, boot: to.boot, peer: n.id, id: to.id, msg: msg})
}

func (n *node) chunk(m raft.FetchSnapshotResponse) raft.FetchSnapshotResponse {
	if m.Snapshot != n.disk.snapshot {
		m.PartitionError = kafka.SnapshotNotFound
		return m
	}
	m.Size = snapshotBytes
	if m.Position >= m.Size {
		m.PartitionError = kafka.PositionOutOfRange
		return m
	}
	m.Data = make([]byte, min(int64(m.MaxBytes), m.Size-m.Position))
	return m
}

// transmit puts a message on the network. Who sends a request that is lost
// sometimes learns of it, as when a connection is refused.
func (w *world) transmit(e event) {
	var delays [2]time.Duration
	if e.kind == evRequest || e.kind == evAsk {
		e.boot = w.nodes[e.node].boot
	}
	n := w.net.deliveries(e.peer, e.node, &delays)
	for _, d := range delays[:n] {
		w.after(d, e)
	}
	if n == 0 && e.kind == evRequest && w.rng.IntN(2) == 0 {
		w.after(w.net.delay(), event{kind: evFailed, node: e.peer, boot: e.peerBoot, peer: e.node, id: e.id})
	}
}
