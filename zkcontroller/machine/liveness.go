package machine

import (
	"cmp"
	"maps"
	"slices"

	"kbench/kafka"
)

// registered gives the brokers that are up, those shutting down included, by
// id. The slice is shared with effects and replaced when the set changes.
func (c *context) registered() []*Broker {
	if c.live == nil {
		c.live = make([]*Broker, 0, len(c.brokers))
		for e := range maps.Values(c.brokers) {
			if e.info != nil {
				c.live = append(c.live, e.info)
			}
		}
		slices.SortFunc(c.live, func(a, b *Broker) int { return cmp.Compare(a.ID, b.ID) })
	}
	return c.live
}

// setBroker registers a broker or replaces its registration.
func (c *context) setBroker(b *Broker) {
	c.entry(b.ID).info = b
	c.live = nil
}

// removeBroker forgets a registration.
func (c *context) removeBroker(id kafka.BrokerID) {
	e := c.entry(id)
	e.info, e.offline = nil, nil
	if len(e.topics) == 0 {
		delete(c.brokers, id)
	}
	c.live = nil
}

// broker gives a registered broker, shutting down or not, or nil.
func (c *context) broker(id kafka.BrokerID) *Broker {
	if e := c.brokers[id]; e != nil {
		return e.info
	}
	return nil
}

// isLive reports whether a broker is registered and not shutting down.
func (c *context) isLive(id kafka.BrokerID) bool {
	e := c.brokers[id]
	return e != nil && e.info != nil && !e.shuttingDown
}

func (c *context) isShuttingDown(id kafka.BrokerID) bool {
	e := c.brokers[id]
	return e != nil && e.shuttingDown
}

// liveIDs gives the brokers that isLive, by id.
func (c *context) liveIDs() []kafka.BrokerID {
	var ids []kafka.BrokerID
	for _, b := range c.registered() {
		if c.isLive(b.ID) {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// isUp reports whether a replica is on a broker that is registered, shutting
// down or not, and in a directory that works.
func (c *context) isUp(p *partition, id kafka.BrokerID) bool {
	e := c.brokers[id]
	if e == nil || e.info == nil {
		return false
	}
	_, off := e.offline[p]
	return !off
}

// isOnline is Kafka's isReplicaOnline: up and not shutting down.
func (c *context) isOnline(p *partition, id kafka.BrokerID) bool {
	return c.isUp(p, id) && !c.brokers[id].shuttingDown
}

// offlineReplicas gives the replicas of p that are not online; nil for none.
func (c *context) offlineReplicas(p *partition) []kafka.BrokerID {
	var off []kafka.BrokerID
	for _, id := range p.replicas {
		if !c.isOnline(p, id) {
			off = append(off, id)
		}
	}
	return off
}

func without(ids []kafka.BrokerID, id kafka.BrokerID) []kafka.BrokerID {
	i := slices.Index(ids, id)
	if i < 0 {
		return ids
	}
	out := make([]kafka.BrokerID, 0, len(ids)-1)
	return append(append(out, ids[:i]...), ids[i+1:]...)
}
