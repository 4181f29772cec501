package checker

import (
	"fmt"
	"slices"

	"kbench/kafka"
)

// Znodes judges the history of what ZooKeeper holds, write by write in the
// order of zxids: the invariants of the ZooKeeper-mode controller that need no
// more than that. Feed it every write; Broken then has what was wrong.
//
//   - C1: a leader epoch of a partition has one leader
//   - C2: leader epochs and partition epochs never go back, a new leader comes
//     with the next leader epoch, and every write with the next partition epoch
//   - C3: the ISR has no duplicates, is not empty, is among the replicas and
//     holds the leader
//   - C6: a leader from outside of the ISR only where unclean elections are
//     allowed, and then alone in the ISR and recovering
//   - C7: what a leader was told of its ISR is what was written
//   - C8: topic names and ids belong to each other for as long as the topic is
//     there, and no id comes back
//   - C9: a reassignment adds and removes replicas that it lists
//   - C10: blocks of producer ids do not overlap
//   - Z1: the controller epoch goes up by one for each winner
//   - Z3: a partition is written by the controller epoch that holds, or an
//     older one as long as no newer has written it
//   - Z8: a broker id has one registration, and each is newer than the last
//
// It keeps the history of each partition that exists.
type Znodes struct {
	// Unclean reports whether a topic may get an unclean leader; nil: none may.
	Unclean func(topic string) bool
	// NoRecovery is an inter-broker protocol before 3.2, which knows no
	// RECOVERING.
	NoRecovery bool

	Broken []Broken // the first few
	Looked int64    // writes

	controllerEpoch kafka.ControllerEpoch
	began           bool
	topics          map[string]*topicZnode
	ids             map[kafka.UUID]string
	brokers         map[kafka.BrokerID]kafka.BrokerEpoch // last registered with
	here            map[kafka.BrokerID]bool
	producerIDs     int64
}

// Broken is a broken invariant.
type Broken struct{ Invariant, Detail string }

func appendBroken(list []Broken, invariant, format string, args ...any) []Broken {
	if len(list) < maxFaults {
		list = append(list, Broken{invariant, fmt.Sprintf(format, args...)})
	}
	return list
}

// ZnodeAssignment is the replicas of a partition as a topic's znode has them.
type ZnodeAssignment struct{ Replicas, Adding, Removing []kafka.BrokerID }

// ZnodeState is the content of a partition's state znode, and its version.
type ZnodeState struct {
	Leader          kafka.BrokerID
	LeaderEpoch     kafka.LeaderEpoch
	ControllerEpoch kafka.ControllerEpoch
	PartitionEpoch  kafka.PartitionEpoch
	Recovery        kafka.LeaderRecoveryState
	ISR             []kafka.BrokerID
}

type topicZnode struct {
	id    kafka.UUID
	there bool // its znode; states may outlive it by a moment
	parts map[int32]*partitionZnode
}

type partitionZnode struct {
	replicas []kafka.BrokerID // of now
	hosts    []kafka.BrokerID // and those from before that the ISR may still hold
	leaders  map[kafka.LeaderEpoch]kafka.BrokerID
	history  []ZnodeState // by partition epoch
}

// NewZnodes begins with an empty ZooKeeper.
func NewZnodes() *Znodes {
	return &Znodes{
		topics: map[string]*topicZnode{}, ids: map[kafka.UUID]string{}, producerIDs: -1,
		brokers: map[kafka.BrokerID]kafka.BrokerEpoch{}, here: map[kafka.BrokerID]bool{},
	}
}

func (z *Znodes) fault(invariant, format string, args ...any) {
	z.Broken = appendBroken(z.Broken, invariant, format, args...)
}

// ControllerEpoch is a write of /controller_epoch, its creation included.
func (z *Znodes) ControllerEpoch(epoch kafka.ControllerEpoch) {
	z.Looked++
	if z.began && epoch != z.controllerEpoch+1 {
		z.fault("Z1", "/controller_epoch goes from %d to %d", z.controllerEpoch, epoch)
	}
	z.controllerEpoch, z.began = epoch, true
}

// Broker is the creation of a registration; epoch is its czxid.
func (z *Znodes) Broker(id kafka.BrokerID, epoch kafka.BrokerEpoch) {
	z.Looked++
	if z.here[id] {
		z.fault("Z8", "broker %d registers twice", id)
	}
	if last, ok := z.brokers[id]; ok && epoch <= last {
		z.fault("Z8", "broker %d registers with epoch %d after %d", id, epoch, last)
	}
	z.brokers[id], z.here[id] = epoch, true
}

// BrokerGone is the end of a registration.
func (z *Znodes) BrokerGone(id kafka.BrokerID) { delete(z.here, id) }

// Topic is a write of a topic's znode.
func (z *Znodes) Topic(name string, id kafka.UUID, partitions map[int32]ZnodeAssignment) {
	z.Looked++
	t := z.topics[name]
	if t == nil || !t.there {
		t = &topicZnode{id: id, parts: map[int32]*partitionZnode{}}
		z.topics[name] = t
		if other, used := z.ids[id]; used && !id.IsZero() {
			z.fault("C8", "topic %s is created with id %s, which topic %s has had", name, id, other)
		}
	} else if t.id != id && !t.id.IsZero() {
		z.fault("C8", "the id of topic %s goes from %s to %s", name, t.id, id)
	}
	t.there, t.id = true, id
	z.ids[id] = name
	for n, a := range partitions {
		z.assigned(name, t, n, a)
	}
}

func (z *Znodes) assigned(name string, t *topicZnode, n int32, a ZnodeAssignment) {
	p := t.parts[n]
	if p == nil {
		p = &partitionZnode{leaders: map[kafka.LeaderEpoch]kafka.BrokerID{}}
		t.parts[n] = p
	}
	if repeats(a.Replicas) || len(a.Replicas) == 0 {
		z.fault("C3", "%s-%d has replicas %v", name, n, a.Replicas)
	}
	for _, id := range slices.Concat(a.Adding, a.Removing) {
		if !slices.Contains(a.Replicas, id) || slices.Contains(a.Adding, id) && slices.Contains(a.Removing, id) {
			z.fault("C9", "%s-%d with replicas %v adds %v and removes %v", name, n, a.Replicas, a.Adding, a.Removing)
			break
		}
	}
	p.replicas = a.Replicas
	for _, id := range a.Replicas {
		if !slices.Contains(p.hosts, id) {
			p.hosts = append(p.hosts, id)
		}
	}
}

// TopicGone is the end of a topic's znode.
func (z *Znodes) TopicGone(name string) {
	z.Looked++
	delete(z.topics, name)
}

// StateGone is the end of a state znode, in the course of a deletion.
func (z *Znodes) StateGone(tp kafka.TopicPartition) {
	if t := z.topics[tp.Topic]; t != nil {
		delete(t.parts, tp.Partition)
	}
}

// State is a write of a state znode, its creation included.
func (z *Znodes) State(tp kafka.TopicPartition, s ZnodeState) {
	z.Looked++
	var p *partitionZnode
	t := z.topics[tp.Topic]
	if t != nil {
		p = t.parts[tp.Partition]
	}
	if p == nil {
		z.fault("C8", "%v has a state and is not in its topic's znode", tp)
		return
	}
	z.judgeISR(tp, p, &s)
	if s.ControllerEpoch > z.controllerEpoch {
		z.fault("Z3", "%v is written by controller epoch %d, the cluster's is %d", tp, s.ControllerEpoch, z.controllerEpoch)
	}
	if s.Leader >= 0 {
		if old, ok := p.leaders[s.LeaderEpoch]; ok && old != s.Leader {
			z.fault("C1", "%v has leaders %d and %d in leader epoch %d", tp, old, s.Leader, s.LeaderEpoch)
		}
		p.leaders[s.LeaderEpoch] = s.Leader
	}
	if n := len(p.history); n > 0 {
		z.judgeStep(tp, &p.history[n-1], &s)
	} else if s.PartitionEpoch != 0 {
		z.fault("C2", "%v begins with partition epoch %d", tp, s.PartitionEpoch)
	}
	p.history = append(p.history, s)
}

func (z *Znodes) judgeISR(tp kafka.TopicPartition, p *partitionZnode, s *ZnodeState) {
	within := true
	for _, id := range s.ISR {
		within = within && slices.Contains(p.replicas, id)
		if !slices.Contains(p.hosts, id) {
			z.fault("C3", "%v: ISR %v is not among replicas %v", tp, s.ISR, p.hosts)
			break
		}
	}
	switch {
	case len(s.ISR) == 0:
		z.fault("C3", "%v has an empty ISR", tp)
	case repeats(s.ISR):
		z.fault("C3", "%v: ISR %v names a broker twice", tp, s.ISR)
	case s.Leader >= 0 && !slices.Contains(s.ISR, s.Leader):
		z.fault("C3", "%v: leader %d is not in ISR %v", tp, s.Leader, s.ISR)
	}
	if within {
		p.hosts = slices.Clone(p.replicas)
	}
}

func (z *Znodes) judgeStep(tp kafka.TopicPartition, old, s *ZnodeState) {
	switch {
	case s.LeaderEpoch < old.LeaderEpoch:
		z.fault("C2", "%v goes from leader epoch %d back to %d", tp, old.LeaderEpoch, s.LeaderEpoch)
	case s.Leader != old.Leader && s.LeaderEpoch != old.LeaderEpoch+1:
		z.fault("C2", "%v goes from leader %d of epoch %d to leader %d of epoch %d", tp, old.Leader, old.LeaderEpoch, s.Leader, s.LeaderEpoch)
	case s.LeaderEpoch > old.LeaderEpoch+1:
		z.fault("C2", "%v goes from leader epoch %d to %d", tp, old.LeaderEpoch, s.LeaderEpoch)
	}
	if s.PartitionEpoch != old.PartitionEpoch+1 {
		z.fault("C2", "%v goes from partition epoch %d to %d", tp, old.PartitionEpoch, s.PartitionEpoch)
	}
	if s.ControllerEpoch < old.ControllerEpoch {
		z.fault("Z3", "%v is written by controller epoch %d after %d", tp, s.ControllerEpoch, old.ControllerEpoch)
	}
	if s.Leader < 0 || slices.Contains(old.ISR, s.Leader) {
		return
	}
	switch {
	case z.Unclean == nil || !z.Unclean(tp.Topic):
		z.fault("C6", "%v gets leader %d, which is not in ISR %v, and may not have an unclean one", tp, s.Leader, old.ISR)
	case len(s.ISR) != 1 || !z.NoRecovery && s.Recovery != kafka.Recovering:
		z.fault("C6", "%v gets the unclean leader %d with ISR %v, recovery state %d", tp, s.Leader, s.ISR, s.Recovery)
	}
}

// AckedISR is an answer to AlterPartition; all that was written before it is seen.
func (z *Znodes) AckedISR(a AckedISR) {
	t := z.topics[a.Partition.Topic]
	if t == nil || t.id != a.TopicID || t.parts[a.Partition.Partition] == nil {
		return // deleted meanwhile
	}
	z.Looked++
	h := t.parts[a.Partition.Partition].history
	if n := int(a.PartitionEpoch); n >= len(h) || n < 0 {
		z.fault("C7", "the leader of %v was told partition epoch %d, ZooKeeper has had %d", a.Partition, a.PartitionEpoch, len(h)-1)
	} else if differs := a.Differs(h[n].Leader, h[n].LeaderEpoch, h[n].ISR); differs != "" {
		z.fault("C7", "%s", differs)
	}
}

// ProducerIDs is a write of /latest_producer_id_block.
func (z *Znodes) ProducerIDs(first, end int64) {
	z.Looked++
	if first <= z.producerIDs || end < first {
		z.fault("C10", "producer ids %d to %d are given away after %d", first, end, z.producerIDs)
	}
	z.producerIDs = max(z.producerIDs, end)
}

func repeats(ids []kafka.BrokerID) bool {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return true
		}
	}
	return false
}

func sameMembers(a, b []kafka.BrokerID) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id kafka.BrokerID) bool { return !slices.Contains(b, id) })
}
