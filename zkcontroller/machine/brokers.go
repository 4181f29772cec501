package machine

import (
	"maps"
	"reflect"
	"slices"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// brokerChange compares the registrations with the context: brokers that are
// new, dead, or bounced, which is the same id with a newer epoch.
func (m *Machine) brokerChange(f *flow) error {
	read := &ReadBrokers{}
	if err := f.do(read); err != nil {
		return err
	}
	var born, bounced []*Broker
	var dead, restarted []kafka.BrokerID
	here := map[kafka.BrokerID]bool{}
	for i := range read.Brokers {
		b := &read.Brokers[i]
		here[b.ID] = true
		switch old := m.ctx.broker(b.ID); {
		case old == nil:
			born = append(born, b)
		case m.cfg.NoBrokerEpochs:
			if old.Epoch != b.Epoch { // unnoticed but for its new address
				m.ctx.setBroker(b)
				m.emit(&AddBroker{Broker: b})
			}
		case old.Epoch < b.Epoch:
			bounced, restarted = append(bounced, b), append(restarted, b.ID)
		}
	}
	for _, b := range m.ctx.registered() {
		if !here[b.ID] {
			dead = append(dead, b.ID)
		}
	}
	m.channels(born, bounced, dead)
	for _, id := range dead { // no election on the way may choose one of them
		m.ctx.removeBroker(id)
	}
	if err := m.brokersUp(f, born); err != nil {
		return err
	}
	if err := m.brokersDown(f, restarted); err != nil {
		return err
	}
	if err := m.brokersUp(f, bounced); err != nil {
		return err
	}
	return m.brokersDown(f, dead)
}

// channels opens and drops the queues of requests before anything is sent.
func (m *Machine) channels(born, bounced []*Broker, dead []kafka.BrokerID) {
	for _, b := range born {
		m.emit(&AddBroker{Broker: b})
	}
	for _, b := range bounced {
		m.emit(&RemoveBroker{Broker: b.ID})
	}
	for _, b := range bounced {
		m.emit(&AddBroker{Broker: b})
	}
	for _, id := range dead {
		m.emit(&RemoveBroker{Broker: id})
	}
}

// brokersUp is onBrokerStartup.
func (m *Machine) brokersUp(f *flow, bs []*Broker) error {
	if len(bs) == 0 {
		return nil
	}
	old := m.ctx.registered()
	for _, b := range bs {
		m.ctx.setBroker(b)
		m.ctx.entry(b.ID).offline = nil
		m.emit(&Moment{Kind: BrokerLive, Broker: b.ID, Epoch: m.epoch})
	}
	m.sendMetadata(old, nil)
	m.sendMetadata(bs, m.ctx.withLeadership())
	var rs []replica
	retry := false
	for _, b := range bs {
		for _, p := range m.ctx.partitionsOn(b.ID) {
			rs = append(rs, replica{p, b.ID})
			retry = retry || p.topic.queued
		}
	}
	if err := m.moveReplicas(f, rs, ReplicaOnline); err != nil {
		return err
	}
	if _, err := m.elect(f, m.ctx.withoutLeader(), metadata.ElectOffline, false); err != nil {
		return err
	}
	up := func(id kafka.BrokerID) bool {
		return slices.ContainsFunc(bs, func(b *Broker) bool { return b.ID == id })
	}
	err := m.resumeReassignments(f, func(p *partition) bool { return slices.ContainsFunc(p.assignment().Target(), up) })
	if err != nil {
		return err
	}
	if !retry {
		return nil
	}
	for _, x := range rs {
		x.p.topic.ineligible = false
	}
	return m.resumeDeletions(f)
}

// withLeadership gives all partitions whose state is known, in order.
func (c *context) withLeadership() []*partition {
	ps := make([]*partition, 0, c.partitions)
	for _, t := range c.allTopics() {
		for _, p := range t.parts {
			if p != nil && p.known {
				ps = append(ps, p)
			}
		}
	}
	return ps
}

// brokersDown is onBrokerFailure.
func (m *Machine) brokersDown(f *flow, ids []kafka.BrokerID) error {
	if len(ids) == 0 {
		return nil
	}
	var rs []replica
	for _, id := range ids {
		rs = append(rs, replicasAt(m.ctx.partitionsOn(id), id)...)
		m.ctx.entry(id).shuttingDown = false
		m.ctx.removeBroker(id)
		m.emit(&Moment{Kind: BrokerDead, Broker: id, Epoch: m.epoch})
	}
	return m.replicasLost(f, rs)
}

// replicasLost is onReplicasBecomeOffline.
func (m *Machine) replicasLost(f *flow, rs []replica) error {
	var going, staying []replica
	var unled []*partition
	for _, x := range rs {
		if x.p.going() {
			going = append(going, x)
			continue
		}
		staying = append(staying, x)
		if x.p.known && x.p.state == PartitionOnline && !m.ctx.isOnline(x.p, x.p.ls.Leader) {
			unled = append(unled, x.p)
		}
	}
	m.ctx.sortPartitions(unled)
	m.movePartitions(slices.Compact(unled), PartitionOffline)
	trying := m.ctx.withoutLeader()
	fails, err := m.elect(f, trying, metadata.ElectOffline, false)
	if err != nil {
		return err
	}
	if err := m.moveReplicas(f, staying, ReplicaOffline); err != nil {
		return err
	}
	if err := m.deletionFailed(f, going); err != nil {
		return err
	}
	// Where no election told the brokers, tell them of the lost ones.
	if len(trying) == len(fails.reasons) {
		m.sendMetadata(m.ctx.registered(), nil)
	}
	return nil
}

// brokerModified takes over registrations whose endpoints or features changed.
func (m *Machine) brokerModified(f *flow) error {
	read := &ReadBrokers{}
	if err := f.do(read); err != nil {
		return err
	}
	changed := false
	for i := range read.Brokers {
		b := &read.Brokers[i]
		old := m.ctx.broker(b.ID)
		if old == nil || old.Epoch != b.Epoch || sameRegistration(old, b) {
			continue // a broker that came or bounced is brokerChange's
		}
		m.ctx.setBroker(b)
		m.emit(&AddBroker{Broker: b})
		changed = true
	}
	if changed {
		m.sendMetadata(m.ctx.registered(), nil)
	}
	return nil
}

func sameRegistration(a, b *Broker) bool {
	return slices.Equal(a.Endpoints, b.Endpoints) && maps.Equal(a.Protocols, b.Protocols) &&
		a.Rack == b.Rack && reflect.DeepEqual(a.Features, b.Features)
}

// resync sends a broker all it must know, after its queue was dropped.
func (m *Machine) resync(_ *flow, id kafka.BrokerID) error {
	b := m.ctx.broker(id)
	if b == nil {
		return nil
	}
	m.note("broker %d is sent everything anew: it did not keep up with the requests to it", id)
	m.sendMetadata([]*Broker{b}, m.ctx.withLeadership())
	r := m.newRequests()
	for _, p := range m.ctx.partitionsOn(id) {
		if p.known && p.replicaState(id) == ReplicaOnline {
			r.leaderAndISR(p, []kafka.BrokerID{id}, false)
		}
	}
	r.sendLeaderAndISR()
	return nil
}

// isCurrent reports whether an answer is of this term and of the registration
// that a broker has: one to an earlier request may come after the next request
// to the broker, and is not the answer to that.
func (m *Machine) isCurrent(id kafka.BrokerID, epoch kafka.BrokerEpoch, controller kafka.ControllerEpoch) bool {
	b := m.ctx.broker(id)
	return b != nil && controller == m.epoch && (m.cfg.NoBrokerEpochs || b.Epoch == epoch)
}

// leaderAndISRDone takes replicas offline whose directories failed.
func (m *Machine) leaderAndISRDone(f *flow, e LeaderAndISRDone) error {
	if !m.isCurrent(e.Broker, e.Epoch, e.Controller) {
		return nil
	}
	entry := m.ctx.brokers[e.Broker]
	var rs []replica
	for _, tp := range e.Failed {
		p := m.ctx.partition(tp)
		if p == nil || !slices.Contains(p.replicas, e.Broker) {
			continue
		}
		if entry.offline == nil {
			entry.offline = map[*partition]struct{}{}
		}
		if _, had := entry.offline[p]; !had {
			entry.offline[p] = struct{}{}
			rs = append(rs, replica{p, e.Broker})
		}
	}
	if len(rs) == 0 {
		return nil
	}
	return m.replicasLost(f, rs)
}
