package checker

import (
	"maps"
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
//     epoch by one, and the leader epoch by one at most, as a new leader does
//   - C3: the ISR is among the replicas, the leader is in it, and it is not
//     empty unless replicas may be eligible beside it
//   - C4: no broker that is fenced or shutting down enters an ISR, is elected, or
//     goes on leading
//   - C6: a leader from outside the ISR is allowed to be one, is alone in it, and
//     recovers
//   - C8: a topic's id is its own, for ever
//   - C9: a reassignment adds and removes replicas that it lists, and ends with
//     those in sync that it added and no fewer than before, where that is below
//     min.insync.replicas
//   - K13: the epoch of a broker is the offset of its registration, and grows
//   - K16: the directory of a leader is online
//
// A partition that did not change must not be handed in, nor one of a topic that
// Topic was not told of.
type Metadata struct {
	Broken []Broken // the first few
	Looked int64    // changes

	// UncleanAsked says of the changes to come that somebody asked for unclean
	// leaders (ElectLeaders), which no configuration has to allow.
	UncleanAsked bool

	Elected, Unclean int64 // leaders of partitions, and those that may have lost records

	topics map[kafka.UUID]string
	newest map[kafka.BrokerID]kafka.BrokerEpoch
	losing map[kafka.BrokerID]loss
	elr    bool // replicas were ever eligible beside the ISR
}

// loss is what a change took from a broker, in the epoch of the controller that
// made it: it may not lead at all, or not out of the directories that it has lost.
type loss struct {
	epoch       int32
	directories bool
}

// NewMetadata begins with an empty log.
func NewMetadata() *Metadata {
	return &Metadata{topics: map[kafka.UUID]string{}, newest: map[kafka.BrokerID]kafka.BrokerEpoch{}, losing: map[kafka.BrokerID]loss{}}
}

func (m *Metadata) fault(invariant, format string, args ...any) {
	m.Broken = appendBroken(m.Broken, invariant, format, args...)
}

// Features looks at what the cluster may do from now on.
func (m *Metadata) Features(image *metadata.Image) {
	m.elr = m.elr || image.FeatureLevel(metadata.ELRVersionFeature) > 0
}

// Broker is the state of a broker that a batch of the given epoch and of the
// offsets from to end, exclusive, may have changed; old is nil for a broker that
// was not there.
func (m *Metadata) Broker(old, now *metadata.Broker, epoch int32, from, end kafka.Offset) {
	m.Looked++
	directories := old != nil && slices.ContainsFunc(old.LogDirs, func(d kafka.UUID) bool { return !now.HasOnlineDirectory(d) })
	if lost := old == nil || old.Active() && !now.Active() || !old.Fenced && now.Fenced; lost || directories {
		m.losing[now.ID] = loss{epoch, directories || m.losing[now.ID].directories}
	}
	if old != nil && old.Epoch == now.Epoch {
		return
	}
	if newest, ok := m.newest[now.ID]; ok && now.Epoch <= newest || kafka.Offset(now.Epoch) < from || kafka.Offset(now.Epoch) >= end {
		m.fault("K13", "broker %d is registered with epoch %d after %d, by a batch of offsets %d to %d", now.ID, now.Epoch, newest, from, end-1)
	}
	m.newest[now.ID] = now.Epoch
}

// Rest looks at what must be true once a decision is in the log as a whole: who
// may not lead any more leads nothing, nor anybody out of a directory that he has
// lost. It is to be called before each record that is no change of a partition:
// such a one, of the given epoch, is of another decision. A controlled shutdown
// whose controller was deposed halfway is for the broker's next heartbeat to
// complete.
func (m *Metadata) Rest(image *metadata.Image, epoch int32) {
	for _, id := range slices.Sorted(maps.Keys(m.losing)) {
		l := m.losing[id]
		delete(m.losing, id)
		b, ok := image.Broker(id)
		switch {
		case !ok || !b.Fenced && l.epoch != epoch:
		case !b.Active() && image.LeaderCount(id) > 0:
			m.fault("C4", "broker %d leads %d partitions behind offset %d and is not active", id, image.LeaderCount(id), image.Offset())
		case l.directories:
			m.directories(image, b)
		}
	}
}

func (m *Metadata) directories(image *metadata.Image, b *metadata.Broker) {
	for tp, p := range image.Partitions() {
		if p.Leader == b.ID && !b.HasOnlineDirectory(p.Directory(b.ID)) {
			m.fault("K16", "broker %d leads %v behind offset %d, in a directory that is offline", b.ID, tp, image.Offset())
			return
		}
	}
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
	c := partitionStep{image: image, topic: t.Name(), old: old, p: p, asked: m.UncleanAsked, elr: m.elr}
	c.fail = func(invariant, why string) {
		m.fault(invariant, "%s-%d goes from %v to %v: %s", t.Name(), n, old, p, why)
	}
	c.judge()
	m.Elected += c.elected
	m.Unclean += c.unclean
}
