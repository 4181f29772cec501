package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kbench/kafka"
	"kbench/kafka/ibp"
)

// cache is a broker as the controller's requests make it, with the checks that
// a broker does.
type cache struct {
	t      *testing.T
	id     kafka.BrokerID
	epoch  kafka.BrokerEpoch
	meta   map[kafka.TopicPartition]MetadataPartition
	roles  map[kafka.TopicPartition]LeaderISR
	live   map[kafka.BrokerID]bool // as told last
	stops  []StopReplicaDone
	leader map[kafka.TopicPartition]map[kafka.LeaderEpoch]kafka.BrokerID // shared: C1
}

func (c *cache) apply(e Effect) {
	switch e := e.(type) {
	case *LeaderAndISR:
		for _, p := range e.Partitions {
			tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
			if p.State.Leader >= 0 && c.live != nil && !c.live[p.State.Leader] && slices.ContainsFunc(e.Leaders, func(b *Broker) bool { return b.ID == p.State.Leader }) {
				c.t.Fatalf("broker %d is told of leader %d of %v before it was told that it lives (KAFKA-4443)", c.id, p.State.Leader, tp)
			}
			if !slices.Contains(p.Assignment.Replicas, c.id) {
				c.t.Fatalf("broker %d is told to host %v, replicas %v", c.id, tp, p.Assignment.Replicas)
			}
			if old, ok := c.roles[tp]; !ok || old.LeaderEpoch < p.State.LeaderEpoch || old.LeaderEpoch == p.State.LeaderEpoch && old.Version <= p.State.Version {
				c.roles[tp] = p.State
			}
			c.claim(tp, p.State)
		}
	case *UpdateMetadata:
		c.live = map[kafka.BrokerID]bool{}
		for _, b := range e.Live {
			c.live[b.ID] = true
		}
		for _, p := range e.Partitions {
			tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
			if p.State.Leader == LeaderDuringDelete {
				delete(c.meta, tp)
				continue
			}
			c.claim(tp, p.State)
			c.meta[tp] = p
		}
	case *StopReplica:
		done := StopReplicaDone{Broker: c.id, Epoch: c.epoch}
		for _, p := range e.Partitions {
			tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
			if old, ok := c.roles[tp]; ok && p.LeaderEpoch >= 0 && p.LeaderEpoch < old.LeaderEpoch {
				c.t.Fatalf("stale StopReplica of %v: epoch %d, broker %d has %d", tp, p.LeaderEpoch, c.id, old.LeaderEpoch)
			}
			delete(c.roles, tp)
			if p.Delete {
				done.Deleted = append(done.Deleted, tp)
			}
		}
		if len(done.Deleted) > 0 {
			c.stops = append(c.stops, done)
		}
	}
}

// claim checks that no leader epoch has two leaders.
func (c *cache) claim(tp kafka.TopicPartition, s LeaderISR) {
	if s.Leader < 0 {
		return
	}
	if c.leader[tp] == nil {
		c.leader[tp] = map[kafka.LeaderEpoch]kafka.BrokerID{}
	}
	if old, ok := c.leader[tp][s.LeaderEpoch]; ok && old != s.Leader {
		c.t.Fatalf("%v has leaders %d and %d in leader epoch %d", tp, old, s.Leader, s.LeaderEpoch)
	}
	c.leader[tp][s.LeaderEpoch] = s.Leader
}

type world struct {
	t        *testing.T
	rng      *rand.Rand
	m        *Machine
	zk       *model
	caches   map[kafka.BrokerID]*cache
	claims   map[kafka.TopicPartition]map[kafka.LeaderEpoch]kafka.BrokerID
	seen     map[kafka.TopicPartition]LeaderISR
	hosts    map[kafka.TopicPartition][]kafka.BrokerID // replicas since the last rest
	call     CallID
	answered map[CallID]bool
	topics   int
	growing  bool
	count    map[string]int // coverage
}

func (w *world) step(in Input) {
	effects := w.m.Step(in)
	for {
		for _, e := range effects {
			switch e := e.(type) {
			case *LeaderAndISR:
				w.to(e.Broker, e.BrokerEpoch, e)
			case *UpdateMetadata:
				w.to(e.Broker, e.BrokerEpoch, e)
			case *StopReplica:
				w.to(e.Broker, e.BrokerEpoch, e)
				if e.Partitions[0].Delete && e.Partitions[0].LeaderEpoch >= 0 {
					w.count["replicas dropped"]++
				}
			case *Reply:
				if e.Final {
					if w.answered[e.Call] {
						w.t.Fatalf("call %d has two final replies", e.Call)
					}
					w.answered[e.Call] = true
				}
			case *GiveUp:
				w.count["give up"]++
			case *WatchState:
				w.zk.watching[e.Partition] = e.On
			case *Queue:
				w.zk.events = append(w.zk.events, e.Event)
			}
		}
		if !w.m.Waiting() {
			return
		}
		if w.rng.IntN(400) == 0 { // another process takes over while this one waits
			w.count["taken over mid-flow"]++
			w.takeOver()
			return
		}
		_, err := w.zk.run(effects[len(effects)-1].(Batch))
		w.invariants()
		effects = w.m.Step(Done{Err: err})
	}
}

func (w *world) to(id kafka.BrokerID, epoch kafka.BrokerEpoch, e Effect) {
	if c := w.caches[id]; c != nil && epoch >= c.epoch {
		n := len(c.stops)
		c.apply(e)
		for i := range c.stops[n:] {
			c.stops[n+i].Controller = w.m.epoch
		}
	}
}

func (w *world) takeOver() {
	for _, e := range w.m.Step(Resign{}) {
		if r, ok := e.(*Reply); ok && r.Final {
			w.answered[r.Call] = true
		}
	}
	if w.rng.IntN(2) == 0 {
		w.m = New(w.m.cfg)
	}
	w.zk.watched, w.zk.events = map[string]bool{}, nil
	w.zk.epoch++
	w.zk.fence = w.zk.epoch
	w.step(Elected{Epoch: w.zk.epoch})
}

// invariants are those of what is in the znodes (C2, C3, Z3).
func (w *world) invariants() {
	for tp, s := range w.zk.states {
		old, had := w.seen[tp]
		for _, id := range w.zk.topics[tp.Topic].Partitions[tp.Partition].Replicas {
			if !slices.Contains(w.hosts[tp], id) {
				w.hosts[tp] = append(w.hosts[tp], id)
			}
		}
		switch {
		case had && (s.LeaderEpoch < old.LeaderEpoch || s.Version < old.Version || s.ControllerEpoch < old.ControllerEpoch):
			w.t.Fatalf("%v went back from %+v to %+v", tp, old, s)
		case had && s.Leader != old.Leader && s.LeaderEpoch == old.LeaderEpoch:
			w.t.Fatalf("%v changed its leader within an epoch: %+v to %+v", tp, old, s)
		case len(s.ISR) == 0:
			w.t.Fatalf("%v has an empty ISR", tp)
		case s.Leader >= 0 && !slices.Contains(s.ISR, s.Leader):
			w.t.Fatalf("%v: leader not in ISR: %+v", tp, s)
		case s.ControllerEpoch > w.zk.epoch:
			w.t.Fatalf("%v: controller epoch %d, the cluster's is %d", tp, s.ControllerEpoch, w.zk.epoch)
		}
		for i, id := range s.ISR {
			if !slices.Contains(w.hosts[tp], id) || slices.Contains(s.ISR[:i], id) {
				w.t.Fatalf("%v: ISR %v of replicas %v", tp, s.ISR, w.hosts[tp])
			}
		}
		w.seen[tp] = s
	}
	for tp := range w.seen {
		if _, ok := w.zk.states[tp]; !ok {
			delete(w.seen, tp)
			delete(w.claims, tp)
		}
	}
}

// settle handles what is pending, in a random order between brokers' answers
// and events.
func (w *world) settle() {
	for range 10_000 {
		var c *cache
		for _, id := range w.ids() {
			if len(w.caches[id].stops) > 0 {
				c = w.caches[id]
			}
		}
		switch {
		case c != nil && (len(w.zk.events) == 0 || w.rng.IntN(2) == 0):
			e := c.stops[0]
			c.stops = c.stops[1:]
			if w.rng.IntN(20) == 0 {
				e.Deleted, e.Failed = nil, e.Deleted
			}
			w.step(e)
		case len(w.zk.events) > 0:
			e := w.zk.events[0]
			w.zk.events = w.zk.events[1:]
			w.step(e)
		default:
			return
		}
	}
	w.t.Fatal("the cluster does not come to rest")
}

func (w *world) ids() []kafka.BrokerID {
	var ids []kafka.BrokerID
	for id := range w.caches {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (w *world) next() CallID { w.call++; return w.call }

func (w *world) register(id kafka.BrokerID) {
	w.zk.register(id, "")
	w.caches[id] = &cache{
		t: w.t, id: id, epoch: w.zk.brokers[id].Epoch, leader: w.claims,
		meta: map[kafka.TopicPartition]MetadataPartition{}, roles: map[kafka.TopicPartition]LeaderISR{},
	}
}

// atRest checks that contexts, caches and znodes agree (Z4, Z5) and every call
// that can be answered was.
func (w *world) atRest() {
	for _, t := range w.m.ctx.allTopics() {
		for _, p := range t.parts {
			a := w.zk.topics[t.name].Partitions[p.index]
			if !a.Equal(p.assignment()) {
				w.t.Fatalf("context has %v assigned %s, its znode is %s", p.tp(), assigned(p.assignment()), assigned(a))
			}
			if w.hosts[p.tp()] = slices.Clone(a.Replicas); p.known && !t.queued && len(minus(p.ls.ISR, a.Replicas)) > 0 {
				w.t.Fatalf("%v has ISR %v of replicas %v", p.tp(), p.ls.ISR, a.Replicas)
			}
			if _, in := w.m.ctx.moving[p]; in != a.Moving() {
				w.t.Fatalf("%v is assigned %s, among those being reassigned: %v", p.tp(), assigned(a), in)
			}
			if s, ok := w.zk.states[p.tp()]; ok && p.known && !t.queued && fmt.Sprint(s) != fmt.Sprint(p.ls) {
				w.t.Fatalf("context has %v as %+v, its znode is %+v", p.tp(), p.ls, s)
			}
			n := 0
			for _, c := range t.inState {
				n += c
			}
			if n != t.replicas {
				w.t.Fatalf("topic %s counts %d replica states of %d replicas", t.name, n, t.replicas)
			}
		}
	}
	for _, id := range w.ids() {
		c := w.caches[id]
		for tp, s := range w.zk.states {
			if w.zk.deletions[tp.Topic] {
				continue
			}
			got, ok := c.meta[tp]
			if !ok || fmt.Sprint(got.State) != fmt.Sprint(s) {
				w.t.Fatalf("broker %d has %v as %+v (%v), its znode is %+v", id, tp, got.State, ok, s)
			}
			if s.Leader == id && c.roles[tp].LeaderEpoch != s.LeaderEpoch {
				w.t.Fatalf("broker %d leads %v in epoch %d but was told %+v", id, tp, s.LeaderEpoch, c.roles[tp])
			}
			if s.Leader < 0 && slices.ContainsFunc(s.ISR, func(r kafka.BrokerID) bool { return w.caches[r] != nil && !w.m.ctx.isShuttingDown(r) }) {
				w.t.Fatalf("%v has no leader though one of its ISR %v lives", tp, s.ISR)
			}
		}
		if len(c.live) != len(w.caches) {
			w.t.Fatalf("broker %d knows %v, alive are %v", id, c.live, w.ids())
		}
		for tp := range c.meta {
			if _, ok := w.zk.topics[tp.Topic]; !ok {
				w.t.Fatalf("broker %d still knows %v of a deleted topic", id, tp)
			}
		}
	}
}

func (w *world) act() {
	ids := w.ids()
	pick := func() kafka.BrokerID { return ids[w.rng.IntN(len(ids))] }
	switch n := w.rng.IntN(100); {
	case n < 25 && len(w.zk.states) < 200:
		w.topics++
		w.count["create"]++
		w.step(AdminCreateTopics{Call: w.next(), Topics: []NewTopic{{Name: fmt.Sprintf("t%d", w.topics), Partitions: int32(1 + w.rng.IntN(5)), Replication: int16(1 + w.rng.IntN(min(3, len(ids))))}}})
	case n < 35 && len(ids) > 1:
		w.count["kill"]++
		id := pick()
		delete(w.caches, id)
		w.zk.unregister(id)
	case n < 50:
		w.count["start"]++
		w.register(kafka.BrokerID(1 + w.rng.IntN(5))) // new, or bounced
	case n < 58:
		w.count["shutdown"]++
		id := pick()
		w.step(ControlledShutdown{Call: w.next(), Broker: id, Epoch: w.zk.brokers[id].Epoch})
	case n < 73:
		w.grow()
	case n < 75:
		w.reassign()
	case n < 80:
		w.count["elect"]++
		w.step(ElectLeaders{Call: w.next(), All: true, Unclean: w.rng.IntN(3) == 0})
	case n < 83:
		w.step(Rebalance{})
	case n < 88 && w.topics > 0:
		w.count["delete"]++
		w.step(AdminDeleteTopics{Call: w.next(), Topics: []TopicRef{{Name: fmt.Sprintf("t%d", 1+w.rng.IntN(w.topics))}}})
	case n < 91 && w.topics > 0:
		name := fmt.Sprintf("t%d", 1+w.rng.IntN(w.topics))
		w.step(AdminCreatePartitions{Call: w.next(), Topics: []MorePartitions{{Name: name, Count: int32(len(w.zk.topics[name].Partitions) + 1)}}})
	case n < 94:
		w.count["failover"]++
		w.takeOver()
	case n < 95:
		w.reassign()
	case n < 96:
		w.count["usurped"]++
		w.zk.epoch++ // whoever it was is gone again
	case n < 98 && w.m.Active():
		w.step(Resync{Broker: pick()})
	}
	if !w.m.Active() {
		w.takeOver()
	}
}

// reassign moves some partitions, by request or by znode, or cancels.
func (w *world) reassign() {
	e := AlterReassignments{Call: w.next()}
	for _, t := range w.m.ctx.allTopics() {
		for _, p := range t.parts {
			if w.rng.IntN(4) > 0 {
				continue
			}
			ids := w.ids()
			w.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			c := Reassign{Partition: p.tp(), Replicas: ids[:1+w.rng.IntN(min(3, len(ids)))], Cancel: w.rng.IntN(4) == 0}
			e.Changes = append(e.Changes, c)
		}
	}
	if w.rng.IntN(3) > 0 {
		w.count["reassign"]++
		w.step(e)
		return
	}
	if w.zk.reassign != nil {
		return
	}
	w.count["reassign by znode"]++
	w.zk.reassign = []ReassignTarget{}
	for _, c := range e.Changes {
		w.zk.reassign = append(w.zk.reassign, ReassignTarget{c.Partition, c.Replicas})
	}
	w.zk.fire("reassign", ZnodeReassignment{})
}

// grow lets leaders bring live replicas back into their ISRs.
//
// Nobody else writes state znodes meanwhile: from inter-broker protocol 2.7 on
// nobody does at all, and a leader whose version is behind for good waits for
// the next election, as in Kafka.
func (w *world) grow() {
	w.growing = true
	defer func() { w.growing = false }()
	for _, t := range w.m.ctx.allTopics() {
		for _, p := range t.parts {
			if p.ls.Leader < 0 || w.caches[p.ls.Leader] == nil || w.rng.IntN(2) == 0 {
				continue
			}
			if w.m.cfg.Protocol.LeadersWriteISR() {
				w.leaderWrites(p.tp())
				continue
			}
			w.count["alter"]++
			e := AlterPartition{Call: w.next(), Version: 3, Broker: p.ls.Leader, Epoch: w.zk.brokers[p.ls.Leader].Epoch}
			c := ISRChange{Topic: t.name, Partition: p.index, LeaderEpoch: p.ls.LeaderEpoch, PartitionEpoch: p.ls.Version}
			for _, id := range p.replicas {
				if w.caches[id] != nil {
					c.ISR = append(c.ISR, ISRMember{id, w.zk.brokers[id].Epoch})
				}
			}
			e.Changes = append(e.Changes, c)
			w.step(e)
			if !w.m.Active() {
				return
			}
		}
	}
}

// leaderWrites is a leader of an old protocol: it writes its ISR if it knows the
// newest state, and leaves a notification.
func (w *world) leaderWrites(tp kafka.TopicPartition) {
	s := w.zk.states[tp]
	c := w.caches[s.Leader]
	if c == nil || c.roles[tp].LeaderEpoch != s.LeaderEpoch || c.roles[tp].Version != s.Version {
		return
	}
	var isr []kafka.BrokerID
	for _, id := range w.zk.topics[tp.Topic].Partitions[tp.Partition].Replicas {
		if w.caches[id] != nil && !w.m.ctx.isShuttingDown(id) || id == s.Leader {
			isr = append(isr, id)
		}
	}
	if slices.Equal(isr, s.ISR) || !slices.Contains(isr, s.Leader) {
		return
	}
	w.count["leader wrote"]++
	s.ISR = isr
	s.Version++
	w.zk.states[tp], c.roles[tp] = s, s
	if w.zk.watching[tp] {
		w.zk.events = append(w.zk.events, ReassignISRChanged{tp})
	}
	w.zk.notify(ISRNotes, note{partitions: []kafka.TopicPartition{tp}}, ISRNotified{})
}

func runWorld(t *testing.T, seed uint64, steps int) map[string]int {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), zk: newModel(), caches: map[kafka.BrokerID]*cache{},
		claims: map[kafka.TopicPartition]map[kafka.LeaderEpoch]kafka.BrokerID{}, seen: map[kafka.TopicPartition]LeaderISR{},
		answered: map[CallID]bool{}, count: map[string]int{}, hosts: map[kafka.TopicPartition][]kafka.BrokerID{},
	}
	cfg := Config{ID: 1, HeldStates: seed%2 == 0, Rand: rand.New(rand.NewPCG(seed, 2))}
	if seed%4 == 3 { // leaders write ISRs themselves
		var err error
		if cfg.Protocol, err = ibp.Parse("2.6"); err != nil {
			t.Fatal(err)
		}
	}
	w.m = New(cfg)
	w.zk.interfere = func(tp kafka.TopicPartition) {
		if !w.growing && w.rng.IntN(50) == 0 {
			w.zk.bump(tp)
		}
	}
	for id := range kafka.BrokerID(3) {
		w.register(id + 1)
	}
	w.takeOver()
	for range steps {
		w.act()
		if w.rng.IntN(3) > 0 {
			w.settle()
			if w.zk.epoch == w.zk.fence && w.m.Active() {
				w.atRest()
			}
		}
	}
	return w.count
}

// Random histories: whatever comes in whatever order, the invariants of what
// is written hold after every batch, and at rest all agree.
func TestRandomHistories(t *testing.T) {
	total := map[string]int{}
	for seed := range uint64(60) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			for k, n := range runWorld(t, seed, 150) {
				total[k] += n
			}
		})
	}
	for _, k := range []string{"create", "kill", "start", "shutdown", "alter", "elect", "delete", "failover", "usurped", "give up", "taken over mid-flow", "reassign", "reassign by znode", "replicas dropped", "leader wrote"} {
		if total[k] < 20 {
			t.Errorf("only %d of %q: the histories do not cover it", total[k], k)
		}
	}
	t.Log(total)
}
