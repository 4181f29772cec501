package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"kbench/internal/sim/seeded"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/raft"
)

// world is one run.
type world struct {
	opt   Options
	rng   *rand.Rand
	p     profile
	now   time.Duration
	queue seeded.Queue[event]
	net   network
	nodes []*node
	judge judge
	trace trace
	cov   Coverage
	value uint64                     // of the last record a client appended
	taken map[raft.SnapshotID]quorum // what each snapshot says of the quorum
	// Of a world with metadata: what each record holds, and each snapshot.
	values map[uint64][]byte
	images map[raft.SnapshotID]*metadata.Image
}

// Run simulates the world of a seed until an invariant breaks or the events are
// used up; then it heals the world and sees whether the quorum agrees again.
func Run(opt Options) Result {
	if opt.Events == 0 {
		opt.Events = 5000
	}
	w := newWorld(opt)
	for w.cov.Events < int64(opt.Events) && w.judge.violation == nil {
		w.step()
	}
	if w.judge.violation == nil {
		w.settle()
	}
	w.cov.Seeds = 1
	return Result{Violation: w.judge.violation, Trace: uint64(w.trace.Hash), Coverage: w.cov}
}

func newWorld(opt Options) *world {
	w := &world{opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 0x6b62656e6368)), trace: trace{Hash: seeded.NewHash, log: opt.Log}, taken: map[raft.SnapshotID]quorum{}}
	w.p = newProfile(w.rng)
	if opt.Metadata {
		w.p.withMetadata(w.rng)
		w.values, w.images = map[uint64][]byte{}, map[raft.SnapshotID]*metadata.Image{}
	}
	n := w.p.controllers() + w.p.brokers
	w.net = network{rng: w.rng, p: &w.p, n: n, cut: make([]bool, n*n), cov: &w.cov}
	w.judge = newJudge(w)
	var voters []raft.Voter
	for i := range w.p.voters {
		voters = append(voters, raft.Voter{ReplicaKey: raft.ReplicaKey{ID: kafka.BrokerID(i)}, Endpoints: endpoints(i)})
	}
	for i := range n {
		w.nodes = append(w.nodes, newNode(w, i, voters))
		w.after(time.Duration(w.rng.Int64N(int64(w.p.electionTimeout))), event{kind: evStart, node: i, boot: w.nodes[i].boot})
	}
	w.after(w.p.electionTimeout, event{kind: evClient})
	w.after(w.p.electionTimeout*4, event{kind: evFault})
	return w
}

// after makes e happen d from now.
func (w *world) after(d time.Duration, e event) {
	w.queue.Push(w.now+d, e)
}

// step lets the next thing happen: an event of the queue, or the deadline of a
// node.
func (w *world) step() {
	at, ok := w.queue.Next()
	tick := -1
	for i, n := range w.nodes {
		if due := n.due(); n.up && !n.paused && due < raft.Never {
			if d := max(due, w.now); !ok || d < at {
				at, ok, tick = d, true, i
			}
		}
	}
	if !ok {
		w.judge.fail("Liveness", 0, "nothing will ever happen again")
		return
	}
	w.cov.Events++
	w.now = max(w.now, at)
	var e event
	if tick >= 0 {
		e = event{kind: evTick, node: tick, boot: w.nodes[tick].boot}
	} else {
		e = w.queue.Pop().What
	}
	w.trace.event(w.now, e)
	w.happen(e)
	w.judge.afterEvent()
}

func (w *world) happen(e event) {
	switch e.kind {
	case evClient:
		w.client()
		return
	case evFault:
		w.fault()
		return
	case evHeal:
		w.net.heal()
		w.net.storm = false
		return
	}
	n := w.nodes[e.node]
	if e.kind == evCalm {
		n.slow = 0
		return
	}
	if e.boot != n.boot {
		return // for an earlier life
	}
	if e.kind == evStart {
		n.start()
		return
	}
	if !n.up {
		return
	}
	if e.kind == evResume {
		n.paused = false
		return
	}
	if n.paused {
		n.held = append(n.held, e)
		return
	}
	n.receive(e)
}

// client appends to a node that leads, or believes so; now and then to one
// that does not.
func (w *world) client() {
	if !w.net.whole {
		w.after(time.Duration(w.rng.Int64N(int64(2*w.p.append)))+1, event{kind: evClient})
	}
	n := w.leader()
	if n == nil || w.rng.IntN(20) == 0 {
		n = w.nodes[w.rng.IntN(len(w.nodes))]
	}
	if !n.up || n.paused || w.opt.Metadata {
		return
	}
	count := 1 + w.rng.IntN(4)
	records := make([]record, count)
	for i := range records {
		w.value++
		records[i].value = w.value
	}
	epoch := n.machine.Role().Epoch
	if w.rng.IntN(50) == 0 {
		epoch--
	}
	n.step(raft.Append{Token: w.value, Epoch: epoch, Count: int32(count), Records: records})
}

// leader is a node that leads, at random if several believe so; nil if none.
func (w *world) leader() *node {
	var found *node
	k := 0
	for _, n := range w.nodes {
		if n.up && n.machine.Role().State == raft.Leader {
			k++
			if w.rng.IntN(k) == 0 {
				found = n
			}
		}
	}
	return found
}

// settle ends all faults and gives the quorum time to elect, commit and agree.
func (w *world) settle() {
	w.net.heal()
	w.net.whole, w.net.storm = true, false
	w.trace.note("the world is healed")
	for _, n := range w.nodes {
		n.slow, n.paused, n.crashAt, n.failSync = 0, false, 0, false
		for _, e := range n.held {
			w.after(0, e)
		}
		n.held = nil
		if n.stopped || !n.up {
			n.up, n.stopped = false, false
			n.boot++
			w.after(0, event{kind: evStart, node: n.id, boot: n.boot})
		}
	}
	// An election takes two election timeouts, split votes and back-off of at
	// most a second more; ten tries must do.
	limit := w.now + 10*(2*w.p.electionTimeout+w.p.fetchTimeout*2+time.Second)
	if w.opt.Metadata {
		w.settleMetadata(limit)
		return
	}
	appended := false
	for w.judge.violation == nil {
		if n := w.leader(); n != nil && n.hw == n.disk.end() && n.hw > 0 {
			if appended && w.agreed(n) {
				return
			}
			if !appended {
				w.client()
				appended = true
			}
		}
		if w.now > limit && w.stuck() {
			w.cov.Stuck++
			return
		}
		if w.now > limit {
			w.judge.fail("Liveness", 0, "no agreement after all faults have ended")
			return
		}
		w.step()
	}
}

// settleMetadata gives brokers time to come back, catch up and get their
// replicas in sync.
func (w *world) settleMetadata(limit time.Duration) {
	for _, n := range w.nodes {
		if n.broker != nil && n.broker.offline { // a directory comes back with its broker
			n.crash()
		}
	}
	// Sessions end, brokers register, and each change takes a heartbeat or two.
	limit += 30 * w.p.session
	for w.judge.violation == nil {
		invariant, why := w.judge.unsettled()
		if invariant == "" {
			return
		}
		if w.now > limit && w.stuck() {
			w.cov.Stuck++
			return
		}
		if w.now > limit {
			w.judge.fail(invariant, 0, "%s, long after all faults have ended", why)
			return
		}
		w.step()
	}
}

// stuck reports whether the quorum waits for a node that removed itself as the
// leader, in its own log only, and stopped before anybody had that: it does not
// campaign, and those who must have its vote have shorter logs. Kafka's rule
// that only a voter of its own log campaigns (KIP-853) allows that; Raft, where
// such a server campaigns until its removal is committed, does not.
func (w *world) stuck() bool {
	return slices.ContainsFunc(w.nodes, w.removedItself) && !slices.ContainsFunc(w.nodes, w.electable)
}

func (w *world) removedItself(n *node) bool {
	last := n.disk.lastChange(n.disk.end())
	return last >= kafka.Offset(len(w.judge.committed)) && !n.disk.quorum().voters.has(n.id) && n.disk.quorumAt(last).voters.has(n.id)
}

// electable reports whether a majority of the voters would vote for n, a voter
// itself by its own log.
func (w *world) electable(n *node) bool {
	set, votes := n.disk.quorum().voters, 0
	last := func(n *node) kafka.LeaderEpoch { return n.disk.epochBefore(n.disk.end()) }
	for id, v := range w.nodes {
		if set.has(id) && (last(n) > last(v) || last(n) == last(v) && n.disk.end() >= v.disk.end()) {
			votes++
		}
	}
	return set.has(n.id) && set.majority(votes)
}

// agreed reports whether every node holds what leader n holds.
func (w *world) agreed(n *node) bool {
	for _, o := range w.nodes {
		if !o.up || o.disk.end() != n.disk.end() || o.hw != n.hw || o.disk.epochBefore(o.disk.end()) != n.disk.epochBefore(n.disk.end()) {
			return false
		}
	}
	return true
}
