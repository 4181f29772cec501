package machine

import (
	"kbench/kafka"
	"kbench/kafka/metadata"
)

// electorate gives the registration of a broker that may lead, nil for one
// that may not: what decides beside the partition itself.
type electorate func(kafka.BrokerID) *metadata.Broker

// mayLead reports whether a replica may lead: its broker may, and the directory
// that it lies in is online (KIP-858).
func (e electorate) mayLead(p *metadata.Partition, id kafka.BrokerID) bool {
	b := e(id)
	return b != nil && b.HasOnlineDirectory(p.Directory(id))
}

// activeBroker is the electorate of the working image: brokers that are registered,
// unfenced and not shutting down.
func (m *Machine) activeBroker(id kafka.BrokerID) *metadata.Broker {
	if b, ok := m.image().Broker(id); ok && b.Active() {
		return b
	}
	return nil
}

// isActive reports whether a broker is registered, unfenced and not shutting
// down.
func (m *Machine) isActive(id kafka.BrokerID) bool { return m.activeBroker(id) != nil }

// electorateOf is that of an image with one broker gone and one come, NoLeader
// for none. It is looked up once for a walk over all partitions.
func electorateOf(image *metadata.Image, remove, add kafka.BrokerID) electorate {
	active := make(map[kafka.BrokerID]*metadata.Broker, image.NumBrokers())
	for b := range image.Brokers() {
		if b.ID != remove && (b.ID == add || b.Active()) {
			active[b.ID] = b
		}
	}
	return func(id kafka.BrokerID) *metadata.Broker { return active[id] }
}
