package machine

import (
	"kbench/kafka"
	"kbench/kafka/metadata"
)

// controlledShutdown moves all leadership off a broker that wants to stop.
// Partitions with one replica are left alone and do not count as remaining.
func (m *Machine) controlledShutdown(f *flow, e ControlledShutdown) error {
	b := m.ctx.broker(e.Broker)
	switch {
	case b == nil:
		m.reply(e.Call, ControlledShutdownReply{Code: kafka.BrokerNotAvailable}, false)
		return nil
	case !m.cfg.NoBrokerEpochs && e.Epoch != kafka.NoBrokerEpoch && e.Epoch < b.Epoch:
		m.reply(e.Call, ControlledShutdownReply{Code: kafka.StaleBrokerEpoch}, false)
		return nil
	}
	m.ctx.entry(e.Broker).shuttingDown = true
	var led, followed []*partition
	for _, p := range m.ctx.partitionsOn(e.Broker) {
		switch {
		case len(p.replicas) < 2 || !p.known || p.topic.queued:
		case p.ls.Leader == e.Broker:
			led = append(led, p)
		default:
			followed = append(followed, p)
		}
	}
	if err := m.shedLeaders(f, led); err != nil {
		return err
	}
	if err := m.shedFollowers(f, e.Broker, followed); err != nil {
		return err
	}
	reply := ControlledShutdownReply{}
	for _, p := range led {
		if p.ls.Leader == e.Broker {
			reply.Remaining = append(reply.Remaining, p.tp())
		}
	}
	if len(reply.Remaining) == 0 {
		m.emit(&Moment{Kind: ShutdownGranted, Broker: e.Broker, Epoch: m.epoch})
	}
	m.reply(e.Call, reply, false)
	return nil
}

// shedLeaders elects other leaders, in one batch or, as before 1.1, one
// partition after the other.
func (m *Machine) shedLeaders(f *flow, led []*partition) error {
	for part := range m.turns(len(led)) {
		if _, err := m.elect(f, led[part[0]:part[1]], metadata.ElectControlledShutdown, false); err != nil {
			return err
		}
	}
	return nil
}

// shedFollowers stops the followers on the broker and takes it out of their
// ISRs.
func (m *Machine) shedFollowers(f *flow, id kafka.BrokerID, followed []*partition) error {
	r := m.newRequests()
	for _, p := range followed {
		r.stopReplica(id, p, false)
	}
	r.send()
	for part := range m.turns(len(followed)) {
		if err := m.moveReplicas(f, replicasAt(followed[part[0]:part[1]], id), ReplicaOffline); err != nil {
			return err
		}
	}
	return nil
}
