package machine

import (
	"kbench/kafka"
	"kbench/kafka/metadata"
)

// failover is Kafka's onControllerFailover, in its order. Steps of Kafka that
// have no part here: waiting for the feature cache (the broker's), the
// delegation-token scheduler. The numbers are those of that list.
func (m *Machine) failover(f *flow) error {
	for _, b := range []Batch{
		&EnsureFeature{m.cfg.Protocol.Features(), m.cfg.Protocol.FeatureNode()}, // 1
		&ClearNotes{Queue: LogDirNotes},                                         // 4
		&ClearNotes{Queue: ISRNotes},                                            // 5
	} {
		if err := f.do(b); err != nil {
			return err
		}
	}
	if err := m.loadConfigs(f); err != nil { // a broker of Kafka does so at its start
		return err
	}
	if err := m.load(f); err != nil { // 6a to 6e
		return err
	}
	for _, b := range m.ctx.registered() { // 6f
		m.emit(&AddBroker{Broker: b})
	}
	deletions := &ReadDeletions{}
	if err := f.do(deletions); err != nil { // 7
		return err
	}
	orphans := m.queueDeletions(deletions.Topics, true) // 8
	m.emit(&Moment{Kind: Loaded, Epoch: m.epoch})
	if err := m.removeDeletions(f, orphans); err != nil {
		return err
	}
	m.sendMetadata(m.ctx.registered(), nil)    // 9: before any LeaderAndIsr (KAFKA-4443)
	if err := m.startReplicas(f); err != nil { // 10
		return err
	}
	if err := m.startPartitions(f); err != nil { // 11
		return err
	}
	taken, err := m.znodeReassignment(f) // 12
	if err != nil {
		return err
	}
	if err := m.resumeReassignments(f, func(p *partition) bool { return !taken[p] }); err != nil {
		return err
	}
	if err := m.resumeDeletions(f); err != nil { // 13
		return err
	}
	m.active = true
	if err := m.preferredElection(f); err != nil { // 14
		return err
	}
	m.emit(&Moment{Kind: Active, Epoch: m.epoch})
	return nil
}

// load reads the controller context.
func (m *Machine) load(f *flow) error {
	brokers, topics := &ReadBrokers{}, &ReadTopics{}
	if err := f.do(brokers); err != nil {
		return err
	}
	for i := range brokers.Brokers {
		m.ctx.setBroker(&brokers.Brokers[i])
	}
	if err := f.do(topics); err != nil {
		return err
	}
	ps, err := m.readTopics(f, topics.Topics)
	if err != nil {
		return err
	}
	reads, err := m.readStates(f, ps)
	if err != nil {
		return err
	}
	for i, p := range ps {
		if reads[i].Found {
			p.ls, p.known = reads[i].State, true
		}
	}
	return nil
}

// readTopics adds topics that are new to the context, with their partitions,
// which it gives in order. Topics without an id get one (from inter-broker
// protocol 2.8 on).
func (m *Machine) readTopics(f *flow, names []string) ([]*partition, error) {
	if len(names) == 0 {
		return nil, nil
	}
	b := &ReadAssignments{Topics: names}
	if err := f.do(b); err != nil {
		return nil, err
	}
	w := &WriteAssignments{Fenced: true}
	var ps []*partition
	for i, name := range names {
		r := &b.Results[i]
		if !r.Found {
			continue // deleted in between; its watch will tell
		}
		t := m.ctx.addTopic(name)
		id := r.ID
		if id.IsZero() && m.cfg.Protocol.TopicIDs() {
			id = m.newUUID()
			w.Writes = append(w.Writes, TopicWrite{Topic: name, ID: id, Partitions: r.Partitions})
		}
		m.ctx.setTopicID(t, id)
		ps = append(ps, m.ctx.addPartitions(t, r.Partitions)...)
	}
	m.ctx.sortPartitions(ps)
	if len(w.Writes) == 0 {
		return ps, nil
	}
	return ps, f.do(w)
}

func (m *Machine) newUUID() kafka.UUID {
	for { // a reserved value has a chance of 2^-120
		var u kafka.UUID
		hi, lo := m.cfg.Rand.Uint64(), m.cfg.Rand.Uint64()
		for i := range 8 {
			u[i], u[8+i] = byte(hi>>(8*i)), byte(lo>>(8*i))
		}
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80 // a random UUID, version 4
		if u.String()[0] != '-' {                   // as Kafka: an option of a tool must not begin so
			return u
		}
	}
}

// startReplicas sets the state of all replicas, then tells live ones their
// role and takes those of dead brokers offline.
func (m *Machine) startReplicas(f *flow) error {
	var online, offline []replica
	for _, t := range m.ctx.allTopics() {
		for _, p := range t.parts {
			if p == nil {
				continue
			}
			for _, id := range p.replicas {
				if m.ctx.isOnline(p, id) {
					p.setReplicaState(id, ReplicaOnline)
					online = append(online, replica{p, id})
				} else {
					p.setReplicaState(id, ReplicaDeletionIneligible)
					offline = append(offline, replica{p, id})
				}
			}
		}
	}
	if err := m.moveReplicas(f, online, ReplicaOnline); err != nil {
		return err
	}
	return m.moveReplicas(f, offline, ReplicaOffline)
}

// startPartitions sets the state of all partitions and elects leaders for
// those that have none.
func (m *Machine) startPartitions(f *flow) error {
	for _, t := range m.ctx.allTopics() {
		for _, p := range t.parts {
			switch {
			case p == nil:
			case !p.known:
				m.ctx.setState(p, PartitionNew)
			case m.ctx.isOnline(p, p.ls.Leader):
				m.ctx.setState(p, PartitionOnline)
			default:
				m.ctx.setState(p, PartitionOffline)
			}
		}
	}
	_, err := m.elect(f, m.ctx.withoutLeader(), metadata.ElectOffline, false)
	return err
}
