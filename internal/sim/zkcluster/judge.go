package zkcluster

import (
	"fmt"
	"slices"

	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// judge knows all that ever happened in a world and says which invariant
// breaks. The history of the znodes is judged by checker.Znodes (C1 to C3, C6 to
// C10, Z1, Z3, Z8); here is what needs the processes too:
//
//   - C1, C2: also in what brokers serve and in what they are told to do.
//   - C4: no controller elects a broker or takes it into an ISR that it does not
//     know as registered, or that is in controlled shutdown.
//   - C5: no broker obeys a controller, or a leader epoch, older than one that it
//     has obeyed.
//   - C10: no two brokers are given the same producer id.
//   - C11: a controlled shutdown is granted only to a broker that leads nothing
//     that has another replica.
//   - C12: no broker obeys a request to its own former registration.
//   - Z2: no controller writes under an epoch that is not the cluster's.
//   - Z5: a broker knows a leader as live before it is told to follow it.
//   - Z6: a broker gets the requests of one controller in order, and all of them.
//
// What must hold when all has come to rest is in rest.go.
type judge struct {
	w         *world
	violation *Violation
	znodes    *checker.Znodes
	views     map[*candidate]*view
	given     map[int64]kafka.BrokerID // first of a block of producer ids
	obeyed    map[*broker]kafka.ControllerEpoch
	led       map[leadership]kafka.BrokerID
	former    map[kafka.TopicPartition]machine.LeaderISR // before the last write
	leaving   map[shutdownCall]kafka.BrokerID
	moved     map[replicaOf]bool // replicas that were reassigned away
	deleted   map[kafka.UUID]deletion
}

// deletion says under which controller epoch a topic's znode went, and since
// when that was asked for.
type deletion struct {
	epoch kafka.ControllerEpoch
	zxid  int64
}

// replicaOf is a replica of a partition.
type replicaOf struct {
	topic  kafka.UUID
	p      int32
	broker kafka.BrokerID
}

// shutdownCall is a controlled shutdown that a controller works on.
type shutdownCall struct {
	c    *candidate
	call machine.CallID
}

// leadership is a leader epoch of a partition.
type leadership struct {
	topic kafka.UUID
	p     int32
	epoch kafka.LeaderEpoch
}

// view is what a controller knows of the brokers by what it was told.
type view struct {
	brokers      map[kafka.BrokerID]kafka.BrokerEpoch
	shuttingDown map[kafka.BrokerID]bool
}

// delivery is how far the requests of one queue have come.
type delivery struct{ last int }

func newJudge(w *world) *judge {
	j := &judge{
		w: w, znodes: checker.NewZnodes(), views: map[*candidate]*view{}, given: map[int64]kafka.BrokerID{},
		obeyed: map[*broker]kafka.ControllerEpoch{}, led: map[leadership]kafka.BrokerID{},
		former: map[kafka.TopicPartition]machine.LeaderISR{}, leaving: map[shutdownCall]kafka.BrokerID{}, moved: map[replicaOf]bool{}, deleted: map[kafka.UUID]deletion{},
	}
	j.znodes.Unclean = func(t string) bool { return w.admin.mayBeUnclean(t) }
	return j
}

func (j *judge) fail(invariant string, node kafka.BrokerID, format string, a ...any) {
	if j.violation != nil {
		return
	}
	j.violation = &Violation{
		Invariant: invariant, Seed: j.w.opt.Seed, Event: int(j.w.cov.Events), At: j.w.now,
		Node: node, Detail: fmt.Sprintf(format, a...),
	}
	j.w.trace.note("VIOLATION %v", j.violation)
}

func (j *judge) afterEvent() {
	if len(j.znodes.Broken) > 0 {
		j.fail(j.znodes.Broken[0].Invariant, 0, "%s", j.znodes.Broken[0].Detail)
	}
}

// changed hands a write of a znode to the judge of these; now is nil for its
// end.
func (j *judge) changed(path string, old, now *znode) {
	z := j.znodes
	if now != nil && j.w.trace.log != nil {
		j.w.trace.note("%s = %+v, version %d", path, now.data, now.version)
	} else if now == nil {
		j.w.trace.note("%s is gone", path)
	}
	if tp, ok := zk.PartitionOfPath(path); ok {
		if now == nil {
			z.StateGone(tp)
			return
		}
		s := now.data.(machine.LeaderISR)
		if j.former[tp] = (machine.LeaderISR{Leader: kafka.NoLeader}); old != nil {
			j.former[tp] = old.data.(machine.LeaderISR)
		}
		if old != nil && s.Leader >= 0 && !slices.Contains(old.data.(machine.LeaderISR).ISR, s.Leader) {
			j.w.cov.UncleanLeaders++
		}
		z.State(tp, stateOf(&s, now.version))
		return
	}
	if t, ok := zk.TopicOfPath(path); ok {
		if now == nil {
			asked := j.w.server.tree.zxid
			if n := j.w.server.tree.nodes[zk.DeleteTopicPath(t)]; n != nil {
				asked = n.czxid
			}
			j.deleted[old.data.(topicData).id] = deletion{j.w.epoch(), asked}
			z.TopicGone(t)
			return
		}
		d := now.data.(topicData)
		parts := make(map[int32]checker.ZnodeAssignment, len(d.partitions))
		for n, a := range d.partitions {
			parts[n] = checker.ZnodeAssignment(a)
			if old != nil {
				for _, id := range old.data.(topicData).partitions[n].Replicas {
					if !slices.Contains(a.Replicas, id) {
						j.moved[replicaOf{d.id, n, id}] = true
					}
				}
			}
		}
		z.Topic(t, d.id, parts)
		return
	}
	if id, ok := zk.BrokerOfPath(path); ok {
		if now == nil {
			z.BrokerGone(id)
		} else if old == nil {
			z.Broker(id, kafka.BrokerEpoch(now.czxid))
		}
		return
	}
	switch {
	case path == zk.ControllerEpochPath && now != nil:
		z.ControllerEpoch(now.data.(kafka.ControllerEpoch))
	case path == zk.ProducerIDBlockPath && now != nil && old != nil:
		first := int64(0)
		if last, ok := old.data.(int64); ok {
			first = last + 1
		}
		z.ProducerIDs(first, now.data.(int64))
	}
}

func stateOf(s *machine.LeaderISR, version int32) checker.ZnodeState {
	return checker.ZnodeState{
		Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, ControllerEpoch: s.ControllerEpoch,
		PartitionEpoch: kafka.PartitionEpoch(version), Recovery: s.Recovery, ISR: s.ISR,
	}
}

// wrote judges a successful write by who wanted it.
func (j *judge) wrote(o *op) {
	if o.writer == nil {
		return
	}
	if !unfenced(o) {
		if now := j.w.epoch(); o.writer.epoch != now {
			j.fail("Z2", o.writer.id, "it has written %s under controller epoch %d, the cluster's is %d", o.path, o.writer.epoch, now)
		}
	}
	if tp, ok := zk.PartitionOfPath(o.path); ok && o.kind != opDelete {
		s := o.data.(machine.LeaderISR)
		j.eligible(o.writer, tp, &s)
	}
}

// unfenced are the writes that Kafka does outside of the epoch's guard: those
// that any broker may do.
func unfenced(o *op) bool {
	if _, isTopic := zk.TopicOfPath(o.path); isTopic {
		return o.kind == opCreate || o.fence == noFence && o.kind == opSet
	}
	_, config := under(o.path, "/config")
	_, deletion := under(o.path, zk.DeleteTopicsPath)
	return config && o.kind != opDelete || deletion && o.kind == opCreate || o.path == zk.ProducerIDBlockPath
}

// epoch is the cluster's controller epoch.
func (w *world) epoch() kafka.ControllerEpoch {
	if n := w.server.tree.nodes[zk.ControllerEpochPath]; n != nil {
		return n.data.(kafka.ControllerEpoch)
	}
	return 0
}

func (j *judge) elected(c *candidate) {
	j.views[c] = &view{map[kafka.BrokerID]kafka.BrokerEpoch{}, map[kafka.BrokerID]bool{}}
}

// input takes note of what a controller learns of brokers by requests.
func (j *judge) input(c *candidate, in machine.Input) {
	v := j.views[c]
	switch in := in.(type) {
	case machine.Resign:
		delete(j.views, c)
	case machine.ControlledShutdown:
		j.leaving[shutdownCall{c, in.Call}] = in.Broker
		if v != nil && c.m.Active() {
			if epoch, ok := v.brokers[in.Broker]; ok && in.Epoch >= epoch {
				v.shuttingDown[in.Broker] = true
			}
		}
	}
}

// batch takes note of what a controller learns of brokers by reading.
func (j *judge) batch(c *candidate, b machine.Batch, err error) {
	read, ok := b.(*machine.ReadBrokers)
	v := j.views[c]
	if !ok || err != nil || v == nil {
		return
	}
	now := map[kafka.BrokerID]kafka.BrokerEpoch{}
	for i := range read.Brokers {
		now[read.Brokers[i].ID] = read.Brokers[i].Epoch
	}
	for id, epoch := range v.brokers {
		if now[id] != epoch {
			delete(v.shuttingDown, id)
		}
	}
	v.brokers = now
}

// eligible is C4 for what a controller has just written.
func (j *judge) eligible(c *candidate, tp kafka.TopicPartition, s *machine.LeaderISR) {
	v := j.views[c]
	if v == nil {
		return
	}
	before := j.former[tp]
	for _, id := range s.ISR {
		_, known := v.brokers[id]
		grows := !slices.Contains(before.ISR, id)
		if leads := s.Leader == id && before.Leader != id; (grows || leads) && (!known || v.shuttingDown[id]) {
			j.fail("C4", c.id, "it makes broker %d part of ISR %v of %v, leader %d; registered: %v, shutting down: %v", id, s.ISR, tp, s.Leader, known, v.shuttingDown[id])
		}
	}
}

// replied is C11: a grant while the broker leads something.
func (j *judge) replied(c *candidate, e *machine.Reply) {
	r, ok := e.Body.(machine.ControlledShutdownReply)
	if !ok || r.Code != kafka.None || len(r.Remaining) > 0 || c.epoch != j.w.epoch() {
		return
	}
	id := j.leaving[shutdownCall{c, e.Call}]
	for path, n := range j.w.server.tree.nodes {
		tp, isState := zk.PartitionOfPath(path)
		if !isState || n.data.(machine.LeaderISR).Leader != id || j.w.server.tree.nodes[zk.DeleteTopicPath(tp.Topic)] != nil {
			continue
		}
		if t, ok := j.w.server.tree.nodes[zk.TopicPath(tp.Topic)]; ok && len(t.data.(topicData).partitions[tp.Partition].Replicas) > 1 {
			j.fail("C11", c.id, "it lets broker %d stop, which leads %v", id, tp)
			return
		}
	}
}

// delivered is Z6.
func (j *judge) delivered(b *broker, s *sender, r request) {
	d := s.track
	if r.n != d.last && r.n != d.last+1 {
		j.fail("Z6", b.id, "request %d of controller %d comes after request %d", r.n, s.c.id, d.last)
	}
	d.last = max(d.last, r.n)
}

// accepted is C5 and C12 for a request that a broker obeys.
func (j *judge) accepted(b *broker, s *sender, own kafka.BrokerEpoch) {
	if last := j.obeyed[b]; s.epoch < last {
		j.fail("C5", b.id, "it obeys controller epoch %d after %d", s.epoch, last)
	}
	j.obeyed[b] = s.epoch
	if own < b.epoch {
		j.fail("C12", b.id, "it obeys a request to its registration %d, now it has %d", own, b.epoch)
	}
}

// informed is Z5: the live brokers are told before what they lead.
func (j *judge) informed(b *broker, s *sender, e *machine.LeaderAndISR) {
	for _, l := range e.Leaders {
		if b.told != s.epoch || !b.live[l.ID] {
			j.fail("Z5", b.id, "controller epoch %d tells it of leader %d before it has told it that %d lives", s.epoch, l.ID, l.ID)
			return
		}
	}
}

// assigned is C1 and C5 for a partition that a broker is told to lead or follow
// and does.
func (j *judge) assigned(b *broker, tp kafka.TopicPartition, held *role, p *machine.LeaderAndISRPartition) {
	j.leads(b, tp, p.TopicID, &p.State)
	if held != nil && held.topicID == p.TopicID && p.State.LeaderEpoch <= held.state.LeaderEpoch {
		j.fail("C5", b.id, "it obeys leader epoch %d of %v after %d", p.State.LeaderEpoch, tp, held.state.LeaderEpoch)
	}
}

// stopping is C5 for a replica that is stopped.
func (j *judge) stopping(b *broker, tp kafka.TopicPartition, held *role, p *machine.StopReplicaPartition) {
	if held != nil && p.LeaderEpoch >= 0 && p.LeaderEpoch < held.state.LeaderEpoch {
		j.fail("C5", b.id, "it stops %v by leader epoch %d after %d", tp, p.LeaderEpoch, held.state.LeaderEpoch)
	}
}

// served is C1 and C2 for what a broker begins to serve.
func (j *judge) served(b *broker, old *machine.MetadataPartition, p *machine.MetadataPartition) {
	tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
	j.leads(b, tp, p.TopicID, &p.State)
	if old != nil && (p.State.LeaderEpoch < old.State.LeaderEpoch || p.State.Version < old.State.Version) {
		j.fail("C2", b.id, "it serves %v with leader epoch %d and partition epoch %d after %d and %d", tp, p.State.LeaderEpoch, p.State.Version, old.State.LeaderEpoch, old.State.Version)
	}
}

func (j *judge) leads(b *broker, tp kafka.TopicPartition, topic kafka.UUID, s *machine.LeaderISR) {
	if s.Leader < 0 {
		return
	}
	l := leadership{topic, tp.Partition, s.LeaderEpoch}
	if old, ok := j.led[l]; ok && old != s.Leader {
		j.fail("C1", b.id, "it is told that %d leads %v in leader epoch %d, %d was said before", s.Leader, tp, s.LeaderEpoch, old)
	}
	j.led[l] = s.Leader
}

// acknowledgedISR is C7.
func (j *judge) acknowledgedISR(p *proposal, res *machine.ISRResult) {
	s := &res.State
	j.znodes.AckedISR(checker.AckedISR{
		Partition: p.tp, TopicID: p.change.TopicID, Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: kafka.PartitionEpoch(s.Version), ISR: s.ISR,
	})
}

// gaveIDs is C10.
func (j *judge) gaveIDs(to kafka.BrokerID, first int64, count int32) {
	if other, twice := j.given[first]; twice || first%int64(count) != 0 {
		j.fail("C10", to, "it is given the %d producer ids from %d on, which broker %d has had", count, first, other)
	}
	j.given[first] = to
}
