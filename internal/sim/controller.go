package sim

import (
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// controller is the metadata machine of a node and what the shell around it
// does: it hands on what is committed, claims and renounces, appends what was
// decided and answers.
type controller struct {
	n       *node
	m       *machine.Machine
	claimed kafka.LeaderEpoch
	due     time.Duration // the machine's deadline, on the node's clock
	queue   []machine.Request
	askers  map[uint64]asker
	lastID  uint64
	late    map[uint64]lateness // of requests that wait for their answer
	busy    bool
	// takes asks for a snapshot at the end of the next batch that can have one.
	takes bool
	// heard is when each broker was last heard of in this epoch, as the judge
	// saw it, on the node's clock.
	heard map[kafka.BrokerID]time.Duration
	// reports are the offsets that brokers said they have, and began the ends of
	// the shutdowns begun, both in this epoch.
	reports map[kafka.BrokerID]kafka.Offset
	began   map[registration]kafka.Offset
}

// asker is a broker that waits for an answer.
type asker struct {
	node, boot int
	id         uint64
	body       kmsg.Request
}

// maxRecords is the least limit of a batch that the operations of a run need
// to meet often.
const maxRecords = 8

// maxAtOnce bounds what a controller can have to do at one instant: a log that
// is replayed, and the requests of all brokers.
const maxAtOnce = 20_000

func (n *node) newController() {
	m, err := machine.New(machine.Config{
		NodeID: kafka.BrokerID(n.id), ClusterID: "sim", SessionTimeout: n.w.p.session, NoOpInterval: n.w.p.noOp,
		LeaderBalanceInterval: n.w.p.session * 5, UncleanElectionInterval: n.w.p.session * 4,
		MaxRecords: maxRecords, MetadataVersion: n.w.p.level, Bootstrap: n.w.p.bootstrap(n.id),
		TokenSecret: tokenSecret, StartMs: n.w.now.Milliseconds(),
		Rand: rand.New(rand.NewPCG(n.w.rng.Uint64(), n.w.rng.Uint64())),
	})
	if err != nil {
		n.w.judge.fail("NoFatal", n.id, "%v", err)
		return
	}
	n.ctl = &controller{n: n, m: m, claimed: kafka.NoEpoch, due: machine.Never, askers: map[uint64]asker{}, late: map[uint64]lateness{}}
}

// heed does all that can be done now.
func (c *controller) heed() {
	if c.busy {
		return
	}
	c.busy = true
	n := 0
	for c.alive() && c.one() {
		if n++; n > maxAtOnce {
			c.n.w.judge.fail("Liveness", c.n.id, "its controller does one thing after the other and no time passes")
		}
	}
	c.busy = false
}

func (c *controller) alive() bool {
	return c.n.up && c.n.ctl == c && c.n.w.judge.violation == nil
}

// one does one thing, what the quorum tells first, and reports whether there
// may be more.
func (c *controller) one() bool {
	switch {
	case c.n.deliver(c, 1):
	case len(c.queue) > 0:
		q := c.queue[0]
		c.queue = c.queue[1:]
		c.step(q)
	case c.n.clock() >= c.due:
		c.due = machine.Never
		c.step(machine.Tick{})
	default:
		return false
	}
	return true
}

func (c *controller) leaderChanged(l raft.LeaderAndEpoch) {
	if l.Leader == c.n.cfg.NodeID {
		c.claim(c.n.machine.Role())
	} else {
		c.step(machine.Renounce{})
	}
}

func (c *controller) claim(r raft.Role) {
	c.claimed = r.Epoch
	c.heard = map[kafka.BrokerID]time.Duration{}
	c.reports, c.began = map[kafka.BrokerID]kafka.Offset{}, map[registration]kafka.Offset{}
	c.n.w.cov.Claims++
	c.n.w.judge.claims(c, r)
	if p := &c.n.w.p; c.m.Image().FeatureLevel(metadata.MetadataVersionFeature) == 0 && c.n.w.rng.IntN(4) == 0 {
		// While the transaction of the bootstrap records is on its way.
		c.n.w.after(time.Duration(c.n.w.rng.Int64N(int64(8*p.delay+2*p.fsync))), event{kind: evCrash, node: c.n.id, boot: c.n.boot})
	}
	c.step(machine.Claim{Epoch: r.Epoch, NextOffset: c.n.disk.end()})
	for b := range c.m.Working().Brokers() {
		c.heard[b.ID] = c.n.clock()
	}
}

// committed steps one batch.
func (c *controller) committed(batches []metalog.Batch) {
	b := &batches[0]
	in := machine.Committed{BaseOffset: b.BaseOffset, Epoch: b.Epoch, Control: b.Control}
	for i := range b.Records {
		in.Values = append(in.Values, b.Records[i].Value)
	}
	c.step(in)
	if c.alive() && c.takes && !b.Control && c.m.Image().Offset() == b.EndOffset()-1 {
		c.takes = false
		c.n.snapshotAt(b.EndOffset())
	}
}

func (c *controller) loads(id raft.SnapshotID, image *metadata.Image) {
	c.step(machine.Snapshot{EndOffset: id.EndOffset, Epoch: id.Epoch, Values: snapshotValues(image)})
}

// step steps the machine and carries out its effects, as the shell does.
func (c *controller) step(in machine.Input) {
	w := c.n.w
	active, _ := c.m.Active()
	if active {
		if _, err := c.m.Step(c.n.clock(), machine.Skip{NextOffset: c.n.disk.end()}); err != nil {
			w.judge.fail("NoFatal", c.n.id, "%v", err)
			return
		}
	}
	leaver := w.judge.arrives(c, in)
	fx, err := c.m.Step(c.n.clock(), in)
	if err != nil {
		w.judge.fail("K12", c.n.id, "%T: %v", in, err)
		return
	}
	c.due = fx.Deadline
	w.judge.decided(c, in, fx, leaver)
	if _, ok := in.(machine.Claim); ok && aborts(fx.Appends) {
		w.cov.TxnsAborted++
	}
	switch in.(type) {
	case machine.Committed, machine.Snapshot:
		w.judge.applied(c) // before answers tell of it
	}
	refused := false
	for _, a := range fx.Appends {
		if refused = !c.append(a); refused || !c.alive() {
			break
		}
	}
	if !c.alive() {
		return
	}
	for _, r := range fx.Responses {
		c.answer(r)
	}
	if still, _ := c.m.Active(); active && !still && len(fx.Appends) == 0 {
		w.cov.Renounced++
	}
	if refused {
		c.step(machine.Renounce{})
		if c.alive() {
			c.n.step(raft.Resign{Epoch: c.claimed})
		}
	}
}

// aborts reports whether what a claim decides begins with the end of a metadata
// transaction that another controller left open.
func aborts(as []machine.Append) bool {
	if len(as) == 0 {
		return false
	}
	r, _, err := metadata.ReadRecord(as[0].Values[0])
	_, ok := r.(*metadata.AbortTransactionRecord)
	return err == nil && ok
}

// append hands a batch to the log; false where it was refused.
func (c *controller) append(a machine.Append) bool {
	w := c.n.w
	if len(a.Values) > maxRecords {
		w.judge.fail("K12", c.n.id, "a batch of %d records, %d are allowed", len(a.Values), maxRecords)
		return false
	}
	if a.BaseOffset != c.n.disk.end() {
		w.judge.fail("NoFatal", c.n.id, "records for offset %d, the log ends at %d", a.BaseOffset, c.n.disk.end())
		return false
	}
	records := make([]record, len(a.Values))
	for i, v := range a.Values {
		w.value++
		w.values[w.value] = v
		records[i].value = w.value
	}
	c.n.appendErr = kafka.None
	c.n.step(raft.Append{Token: w.value, Epoch: c.claimed, Count: int32(len(records)), Records: records})
	return c.n.appendErr == kafka.None
}

// ask takes a request that has arrived.
func (c *controller) ask(from asker) {
	c.lastID++
	c.askers[c.lastID] = from
	c.queue = append(c.queue, machine.Request{ID: c.lastID, Body: from.body, Principal: principal(from.node)})
}

func (c *controller) answer(r machine.Response) {
	to, ok := c.askers[r.ID]
	if !ok {
		c.n.w.judge.fail("K15", c.n.id, "request %d is answered twice, or was never asked", r.ID)
		return
	}
	delete(c.askers, r.ID)
	c.n.w.judge.answers(c, r.ID, to.body, r.Body)
	c.n.w.transmit(event{kind: evAnswer, node: to.node, boot: to.boot, peer: c.n.id, id: to.id, answer: r.Body})
}
