package machine

import (
	"iter"
	"slices"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// election says how a partition gets its leader: Kafka's
// PartitionChangeBuilder.Election.
type election uint8

const (
	electOnline    election = iota // keep a leader that is valid, else the first in sync
	electPreferred                 // the first replica if it is valid, else as electOnline
	electUnclean                   // as electOnline, else one that is not in sync
)

// partitionChange is what is wanted of a partition. From it follows the record
// that gets there, without eligible leader replicas: the ISR is never emptied.
type partitionChange struct {
	isr        []kafka.BrokerID
	recovery   kafka.LeaderRecoveryState
	election   election
	acceptable func(kafka.BrokerID) bool // may lead
	version    metadata.MetadataVersion
}

// partitionChange begins from what a partition is.
func (m *Machine) partitionChange(p *metadata.Partition) partitionChange {
	return partitionChange{isr: p.ISR, recovery: p.LeaderRecoveryState, acceptable: m.isActive, version: m.version()}
}

// isActive reports whether a broker is registered, unfenced and not shutting
// down.
func (m *Machine) isActive(id kafka.BrokerID) bool {
	b, ok := m.image().Broker(id)
	return ok && b.Active()
}

// record gives the change, or false if the partition is as wanted.
func (c partitionChange) record(topic kafka.UUID, number int32, p *metadata.Partition) (*metadata.PartitionChangeRecord, bool) {
	r := metadata.NewPartitionChange(topic, number)
	won := c.elect(p)
	if won.Leader != p.Leader {
		r.Leader = won.Leader
		if won.Unclean {
			r.ISR = won.ISR
			c.recovery = kafka.Recovering
		}
	}
	if r.ISR == nil && len(c.isr) > 0 && !slices.Equal(c.isr, p.ISR) {
		r.ISR = c.isr
	}
	if r.Leader == metadata.LeaderUnchanged && r.ISR != nil && c.version.BumpsLeaderEpochOnShrink() && !containsAll(r.ISR, p.ISR) {
		r.Leader = p.Leader
	}
	if c.recovery != p.LeaderRecoveryState {
		r.LeaderRecoveryState = c.recovery
	}
	changed := r.ISR != nil || r.Leader != metadata.LeaderUnchanged || r.LeaderRecoveryState != metadata.RecoveryStateUnchanged
	return r, changed
}

// elect gives the leader that the partition ought to have.
func (c partitionChange) elect(p *metadata.Partition) metadata.Elected {
	ballot := metadata.Ballot{Replicas: p.Replicas, ISR: c.isr, Live: c.acceptable, Unclean: c.election == electUnclean}
	if c.election == electPreferred {
		if won, ok := metadata.ElectLeader(metadata.ElectPreferred, ballot); ok {
			return won
		}
	}
	if p.Leader != kafka.NoLeader && slices.Contains(c.isr, p.Leader) && c.acceptable(p.Leader) {
		return metadata.Elected{Leader: p.Leader, ISR: c.isr}
	}
	won, _ := metadata.ElectLeader(metadata.ElectOffline, ballot)
	return won
}

func containsAll(set, of []kafka.BrokerID) bool {
	for _, b := range of {
		if !slices.Contains(set, b) {
			return false
		}
	}
	return true
}

// without gives ids without id; ids stays as it is.
func without(ids []kafka.BrokerID, id kafka.BrokerID) []kafka.BrokerID {
	i := slices.Index(ids, id)
	if i < 0 {
		return ids
	}
	return slices.Concat(ids[:i], ids[i+1:])
}

// withoutLeader and inISR choose the partitions of leaderAndISR.
func withoutLeader(p *metadata.Partition) bool { return p.Leader == kafka.NoLeader }

func inISR(id kafka.BrokerID) func(*metadata.Partition) bool {
	return func(p *metadata.Partition) bool { return p.InISR(id) }
}

// leaderAndISR walks, over the image of now, the changes of those partitions
// that match, by topic and number: remove leaves their ISRs and leads no more,
// add may lead though it is fenced still. Either is NoLeader for none. Its
// time is linear in the partitions of the cluster and light.
func (m *Machine) leaderAndISR(match func(*metadata.Partition) bool, remove, add kafka.BrokerID) iter.Seq[metadata.Record] {
	image, version := m.image(), m.version()
	active := activeBrokers(image)
	acceptable := func(id kafka.BrokerID) bool { return id != remove && (id == add || active[id]) }
	return func(yield func(metadata.Record) bool) {
		for t := range image.Topics() {
			unclean := electOnline
			if uncleanAllowed(image, t.Name()) {
				unclean = electUnclean
			}
			for n, p := range t.All() {
				if !match(p) {
					continue
				}
				c := partitionChange{without(p.ISR, remove), p.LeaderRecoveryState, unclean, acceptable, version}
				if r, ok := c.record(t.ID(), n, p); ok && !yield(r) {
					return
				}
			}
		}
	}
}

func activeBrokers(image *metadata.Image) map[kafka.BrokerID]bool {
	active := make(map[kafka.BrokerID]bool, image.NumBrokers())
	for b := range image.Brokers() {
		active[b.ID] = b.Active()
	}
	return active
}

const uncleanConfig = "unclean.leader.election.enable"

// uncleanAllowed looks at the topic's configuration, then at the cluster's.
func uncleanAllowed(image *metadata.Image, topic string) bool {
	if v, ok := image.Config(metadata.ConfigResource{Type: metadata.TopicConfig, Name: topic})[uncleanConfig]; ok {
		return v == "true"
	}
	return image.Config(metadata.ConfigResource{Type: metadata.BrokerConfig})[uncleanConfig] == "true"
}
