package checker

import (
	"slices"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// Metadata judges the committed changes of a metadata log, one after the other:
// the invariants of the KRaft-mode controller that need no more than what was
// replayed. Broken then has what was wrong.
//
//   - C1: a partition has one leader in a leader epoch
//   - C2: epochs of a partition never go back; a change raises the partition
//     epoch, a new leader the leader epoch
//   - C3: the ISR is among the replicas, the leader is in it, and it is not
//     empty unless replicas may be eligible beside it
//   - C4: no broker that is fenced or shutting down enters an ISR or is elected
//   - C6: a leader from outside the ISR is alone in it, and recovers
//   - C8: a topic's id is its own, for ever
//   - C9: a reassignment adds and removes replicas that it lists
//   - K13: the epoch of a broker is the offset of its registration, and grows
//   - K16: the directory of a new leader is online
//
// A partition that did not change must not be handed in, nor one of a topic that
// Topic was not told of.
type Metadata struct {
	Broken []Broken // the first few
	Looked int64    // changes

	Elected, Unclean int64 // leaders of partitions, and those that may have lost records

	topics map[kafka.UUID]string
	newest map[kafka.BrokerID]kafka.BrokerEpoch
	elr    bool // replicas were ever eligible beside the ISR
}

// NewMetadata begins with an empty log.
func NewMetadata() *Metadata {
	return &Metadata{topics: map[kafka.UUID]string{}, newest: map[kafka.BrokerID]kafka.BrokerEpoch{}}
}

func (m *Metadata) fault(invariant, format string, args ...any) {
	m.Broken = appendBroken(m.Broken, invariant, format, args...)
}

// Features looks at what the cluster may do from now on.
func (m *Metadata) Features(image *metadata.Image) {
	m.elr = m.elr || image.FeatureLevel(metadata.ELRVersionFeature) > 0
}

// Broker is the state of a broker that a batch of the offsets from to end,
// exclusive, may have changed; old is nil for a broker that was not there.
func (m *Metadata) Broker(old, now *metadata.Broker, from, end kafka.Offset) {
	m.Looked++
	if old != nil && old.Epoch == now.Epoch {
		return
	}
	if newest, ok := m.newest[now.ID]; ok && now.Epoch <= newest || kafka.Offset(now.Epoch) < from || kafka.Offset(now.Epoch) >= end {
		m.fault("K13", "broker %d is registered with epoch %d after %d, by a batch of offsets %d to %d", now.ID, now.Epoch, newest, from, end-1)
	}
	m.newest[now.ID] = now.Epoch
}

// Topic is a topic of the metadata; existed says that it was there before.
func (m *Metadata) Topic(name string, id kafka.UUID, existed bool) {
	m.Looked++
	switch known, ok := m.topics[id]; {
	case ok && known != name:
		m.fault("C8", "topics %s and %s have one id", known, name)
	case ok && !existed:
		m.fault("C8", "topic %s is back with its old id", name)
	}
	m.topics[id] = name
}

// Named gives the name that belongs to a topic's id, "" for an id never seen.
func (m *Metadata) Named(id kafka.UUID) string { return m.topics[id] }

// Partition is a change of partition n of topic t, within image; old is nil
// where it was not there.
func (m *Metadata) Partition(image *metadata.Image, t *metadata.Topic, n int32, old, p *metadata.Partition) {
	m.Looked++
	fail := func(invariant, why string) {
		m.fault(invariant, "%s-%d goes from %v to %v: %s", t.Name(), n, old, p, why)
	}
	if err := p.Validate(); err != nil {
		fail("C3", err.Error())
	} else if len(p.ISR) == 0 && !m.elr {
		fail("C3", "no ISR")
	}
	if isStray(p, p.AddingReplicas) || isStray(p, p.RemovingReplicas) {
		fail("C9", "what is added or removed is no replica")
	}
	var isr []kafka.BrokerID
	led := kafka.NoLeader
	if old != nil {
		isr, led = old.ISR, old.Leader
		m.epochs(old, p, fail)
	}
	for _, id := range p.ISR {
		if b, ok := image.Broker(id); !slices.Contains(isr, id) && (!ok || !b.Active()) {
			fail("C4", "a broker that is not active is in sync")
		}
	}
	if p.Leader == led || p.Leader == kafka.NoLeader {
		return
	}
	b, ok := image.Broker(p.Leader)
	if !ok || !b.Active() {
		fail("C4", "the leader is not active")
	}
	if ok && !b.HasOnlineDirectory(p.Directory(p.Leader)) {
		fail("K16", "its directory is offline")
	}
	if old != nil && !old.Reassigning() {
		m.elected(old, p, fail)
	}
}

func (m *Metadata) epochs(old, p *metadata.Partition, fail func(invariant, why string)) {
	switch {
	case p.Leader != old.Leader && p.LeaderEpoch == old.LeaderEpoch && p.Leader != kafka.NoLeader && old.Leader != kafka.NoLeader:
		fail("C1", "another led in that epoch")
	case !p.Equal(old) && p.PartitionEpoch <= old.PartitionEpoch || p.LeaderEpoch < old.LeaderEpoch || p.Leader != old.Leader && p.LeaderEpoch == old.LeaderEpoch:
		fail("C2", "an epoch stays or goes back")
	}
}

func (m *Metadata) elected(old, p *metadata.Partition, fail func(invariant, why string)) {
	m.Elected++
	if slices.Contains(old.ISR, p.Leader) || slices.Contains(old.ELR(), p.Leader) {
		return
	}
	m.Unclean++
	if len(p.ISR) != 1 || p.LeaderRecoveryState != kafka.Recovering {
		fail("C6", "the leader may have lost records")
	}
}

func isStray(p *metadata.Partition, ids []kafka.BrokerID) bool {
	return slices.ContainsFunc(ids, func(id kafka.BrokerID) bool { return !p.HasReplica(id) })
}
