package machine

import (
	"iter"
	"strconv"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// sweep is a change of all partitions that one broker's coming or going
// touches.
type sweep struct {
	match func(*metadata.Partition) bool
	// remove leaves the ISRs and leads no more; unclean says that it may have
	// lost records as well and is not eligible. add may lead though it is
	// fenced still. Either is NoLeader for none.
	remove, add kafka.BrokerID
	unclean     bool
}

// withoutLeader is the sweep of partitions without a leader, for a broker that comes
// back, or NoLeader for none.
func withoutLeader(add kafka.BrokerID) sweep {
	return sweep{match: func(p *metadata.Partition) bool { return p.Leader == kafka.NoLeader }, remove: kafka.NoLeader, add: add}
}

// gone is the sweep of a broker that may not lead or be in sync any more.
func gone(id kafka.BrokerID) sweep {
	return sweep{match: func(p *metadata.Partition) bool { return p.InISR(id) }, remove: id, add: kafka.NoLeader}
}

// lost is the sweep of a broker that was shut down uncleanly.
func lost(id kafka.BrokerID) sweep {
	match := func(p *metadata.Partition) bool {
		return p.InISR(id) || p.Eligible != nil && containsAll(p.ELR(), []kafka.BrokerID{id})
	}
	return sweep{match: match, remove: id, add: kafka.NoLeader, unclean: true}
}

// walk gives the changes of the partitions that match, by topic and number,
// over the image of now. Its time is linear in the partitions of the cluster
// and light.
func (m *Machine) walk(s sweep) iter.Seq[metadata.Record] {
	image, version, elr := m.image(), m.version(), m.elrEnabled()
	electorate := electorateOf(image, s.remove, s.add)
	return func(yield func(metadata.Record) bool) {
		for t := range image.Topics() {
			c := partitionChange{
				version: version, elr: elr, electorate: electorate, directory: m.defaultDirectory,
				unclean: kafka.NoLeader, moved: kafka.NoLeader,
			}
			if s.unclean {
				c.unclean = s.remove
			}
			if uncleanAllowed(image, t.Name()) {
				c.election = electUnclean
			}
			if elr {
				c.minISR = effectiveMinISR(image, t)
			}
			for n, p := range t.All() {
				if !s.match(p) {
					continue
				}
				c.begin(p)
				c.isr = without(p.ISR, s.remove)
				if r, ok := c.record(t.ID(), n, p); ok && !yield(r) {
					return
				}
			}
		}
	}
}

const (
	uncleanConfig = "unclean.leader.election.enable"
	minISRConfig  = "min.insync.replicas"
)

// topicSetting looks at the topic's configuration, then at the cluster's.
func topicSetting(image *metadata.Image, topic, name string) string {
	if v, ok := image.Config(metadata.ConfigResource{Type: metadata.TopicConfig, Name: topic})[name]; ok {
		return v
	}
	return image.Config(metadata.ConfigResource{Type: metadata.BrokerConfig})[name]
}

func uncleanAllowed(image *metadata.Image, topic string) bool {
	return topicSetting(image, topic, uncleanConfig) == "true"
}

// effectiveMinISR is min.insync.replicas of a topic, 1 where nothing sets it,
// and at most its replication factor.
func effectiveMinISR(image *metadata.Image, t *metadata.Topic) int {
	least := 1
	if n, err := strconv.Atoi(topicSetting(image, t.Name(), minISRConfig)); err == nil {
		least = n
	}
	if p, ok := t.Partition(0); ok {
		least = min(least, len(p.Replicas))
	}
	return least
}

// elrEnabled reports whether eligible leader replicas are kept (KIP-966).
func (m *Machine) elrEnabled() bool { return m.image().FeatureLevel(metadata.ELRVersionFeature) > 0 }
