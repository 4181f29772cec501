package machine

import (
	"fmt"
	"slices"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// caughtUp reports whether all of the target are in the ISR and one of them can
// lead.
func (m *Machine) caughtUp(p *partition, isr []kafka.BrokerID) bool {
	target := p.assignment().Target()
	return len(minus(target, isr)) == 0 && slices.ContainsFunc(target, func(id kafka.BrokerID) bool { return m.ctx.isOnline(p, id) })
}

// expandReplicas is phase A: a new leader epoch, which all replicas of origin
// and target are told with the full set, so that the leader lets the new ones
// in.
func (m *Machine) expandReplicas(f *flow, ps []*partition) error {
	return m.bumpEpochs(f, ps, func(r *requests, p *partition) {
		a := p.assignment()
		r.expand(p, a.Origin(), a.Adding)
		for _, id := range a.Adding {
			if p.replicaState(id) == ReplicaNonExistent {
				p.setReplicaState(id, ReplicaNew)
			}
		}
	})
}

// bumpEpochs gives partitions a new leader epoch with the same leader and ISR
// (updateLeaderEpoch) and sends one batch of what tell adds.
func (m *Machine) bumpEpochs(f *flow, ps []*partition, tell func(*requests, *partition)) error {
	if len(ps) == 0 {
		return nil
	}
	r, fails := m.newRequests(), &failures{}
	left := ps
	for try := 0; len(left) > 0; try++ {
		if try == maxWriteTries {
			for _, p := range left {
				fails.add(p, "its state znode changed %d times meanwhile", try)
			}
			break
		}
		reads, err := m.currentStates(f, left, try > 0)
		if err != nil {
			return err
		}
		var b WriteStates
		var chosen []*partition
		for i, p := range left {
			s := reads[i].State
			switch {
			case !reads[i].Found:
				fails.add(p, "its state znode is missing")
				continue
			case s.ControllerEpoch > m.epoch:
				fails.add(p, "controller epoch %d has written its state, this one is %d", s.ControllerEpoch, m.epoch)
				continue
			}
			s.LeaderEpoch++
			s.ControllerEpoch = m.epoch
			chosen = append(chosen, p)
			b.Writes = append(b.Writes, StateWrite{p.tp(), s})
		}
		if left, err = m.writeStates(f, &b, chosen, fails, func(p *partition) { tell(r, p) }); err != nil {
			return err
		}
	}
	r.send()
	m.tell("new leader epoch", fails)
	return nil
}

// finishReassignments is phase B: the target becomes the assignment.
func (m *Machine) finishReassignments(f *flow, ps []*partition) error {
	if len(ps) == 0 {
		return nil
	}
	var removed []replica
	var stay, move []*partition
	for _, p := range ps {
		a := p.assignment()
		for _, id := range a.Adding { // B1; the request of B3 tells them
			if m.ctx.isOnline(p, id) && p.replicaState(id) != ReplicaOnline {
				p.setReplicaState(id, ReplicaOnline)
			}
		}
		for _, id := range a.Removing {
			removed = append(removed, replica{p, id})
		}
		target := a.Target()
		m.ctx.reassign(p, Assignment{Replicas: target}) // B2
		switch {
		case !p.known:
		case slices.Contains(target, p.ls.Leader) && m.ctx.isOnline(p, p.ls.Leader):
			stay = append(stay, p)
		default:
			move = append(move, p)
		}
	}
	// B3: leaders move into the target, or learn of the new set by a new epoch.
	if _, err := m.elect(f, move, metadata.ElectReassign, false); err != nil {
		return err
	}
	if err := m.bumpEpochs(f, stay, func(r *requests, p *partition) { r.leaderAndISR(p, p.replicas, false) }); err != nil {
		return err
	}
	if err := m.dropReplicas(f, removed); err != nil { // B4
		return err
	}
	if err := m.writeFinal(f, ps); err != nil { // B5, B6
		return err
	}
	final := map[kafka.TopicPartition][]kafka.BrokerID{}
	for _, p := range ps {
		final[p.tp()] = p.replicas
		if m.cfg.Protocol.LeadersWriteISR() { // B7
			m.emit(&WatchState{Partition: p.tp()})
		}
	}
	err := m.dropReassignEntries(f, func(t ReassignTarget) bool {
		replicas, ok := final[t.Partition]
		return ok && slices.Equal(replicas, t.Replicas)
	})
	if err != nil {
		return err
	}
	m.sendMetadata(m.ctx.registered(), ps) // B8
	queued := false
	for _, p := range ps {
		if p.topic.queued { // what made it ineligible may be a replica that it has no longer
			p.topic.ineligible, queued = false, true
		}
	}
	if queued {
		return m.resumeDeletions(f)
	}
	return nil
}

func (m *Machine) writeFinal(f *flow, ps []*partition) error {
	b := &WriteAssignments{Fenced: true}
	var last *topic
	for _, p := range ps { // in order of topics
		if p.topic != last {
			last = p.topic
			b.Writes = append(b.Writes, last.write())
		}
	}
	if err := f.do(b); err != nil {
		return err
	}
	for i, res := range b.Codes {
		if res.Code != OK {
			return fmt.Errorf("write the assignment of topic %s after its reassignment: %s", b.Writes[i].Topic, res)
		}
	}
	return nil
}

// dropReplicas takes replicas that are no longer assigned out of their ISRs
// and deletes them (stopRemovedReplicasOfReassignedPartition). As in Kafka
// nobody waits for the deletion.
func (m *Machine) dropReplicas(f *flow, rs []replica) error {
	if len(rs) == 0 {
		return nil
	}
	fails := &failures{}
	r := m.newRequests()
	for id, ps := range byBroker(rs) {
		if err := m.replicasOffline(f, r, id, ps, fails); err != nil {
			return err
		}
	}
	r.send()
	r = m.newRequests()
	for _, x := range rs {
		r.stopReplica(x.id, x.p, true)
	}
	r.send()
	m.tell("removal of replicas", fails)
	return nil
}
