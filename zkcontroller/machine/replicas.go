package machine

import (
	"iter"
	"maps"
	"slices"

	"kbench/kafka"
)

// moveReplicas takes replicas to a state and sends one batch of requests.
func (m *Machine) moveReplicas(f *flow, rs []replica, to ReplicaState) error {
	if len(rs) == 0 {
		return nil
	}
	r := m.newRequests()
	fails := &failures{}
	legal := make([]replica, 0, len(rs))
	for _, x := range rs {
		if s := x.p.replicaState(x.id); !s.mayBecome(to) {
			fails.add(x.p, "replica %d is %v", x.id, s)
			continue
		}
		legal = append(legal, x)
	}
	for id, ps := range byBroker(legal) {
		m.ctx.sortPartitions(ps)
		if err := m.moveReplicasOf(f, r, id, ps, to, fails); err != nil {
			return err
		}
	}
	r.send()
	m.tell("transition of replicas to "+to.String(), fails)
	return nil
}

func (m *Machine) moveReplicasOf(f *flow, r *requests, id kafka.BrokerID, ps []*partition, to ReplicaState, fails *failures) error {
	if to == ReplicaOffline {
		return m.replicasOffline(f, r, id, ps, fails)
	}
	to1 := []kafka.BrokerID{id} // shared by the entries
	for _, p := range ps {
		switch to {
		case ReplicaNew:
			if p.known {
				r.leaderAndISR(p, to1, true)
			}
		case ReplicaOnline:
			if p.replicaState(id) != ReplicaNew && p.known {
				r.leaderAndISR(p, to1, false)
			}
		case ReplicaDeletionStarted:
			r.stopReplica(id, p, true)
		}
		p.setReplicaState(id, to)
	}
	return nil
}

// replicasOffline stops replicas and takes them out of their ISRs. The last
// member of an ISR stays in it (KAFKA-5083).
func (m *Machine) replicasOffline(f *flow, r *requests, id kafka.BrokerID, ps []*partition, fails *failures) error {
	var led []*partition
	for _, p := range ps {
		r.stopReplica(id, p, false)
		if p.known {
			led = append(led, p)
			continue
		}
		p.setReplicaState(id, ReplicaOffline)
		r.metadata(p)
	}
	done := func(p *partition) {
		if !p.going() {
			r.leaderAndISR(p, without(p.replicas, id), false)
		}
		p.setReplicaState(id, ReplicaOffline)
	}
	for try := 0; len(led) > 0; try++ {
		if try == maxWriteTries {
			for _, p := range led {
				fails.add(p, "its state znode changed %d times meanwhile", try)
			}
			break
		}
		var err error
		if led, err = m.shrinkOnce(f, id, led, try > 0, fails, done); err != nil {
			return err
		}
	}
	return nil
}

// shrinkOnce writes the states whose ISR holds the replica without it, and
// calls done for each that is settled.
func (m *Machine) shrinkOnce(f *flow, id kafka.BrokerID, ps []*partition, again bool, fails *failures, done func(*partition)) ([]*partition, error) {
	reads, err := m.currentStates(f, ps, again)
	if err != nil {
		return nil, err
	}
	var b WriteStates
	var chosen []*partition
	for i, p := range ps {
		s := reads[i].State
		switch {
		case !reads[i].Found:
			if !p.topic.queued {
				fails.add(p, "its state znode is missing")
			}
			continue
		case s.ControllerEpoch > m.epoch:
			fails.add(p, "controller epoch %d has written its state, this one is %d", s.ControllerEpoch, m.epoch)
			continue
		case !slices.Contains(s.ISR, id):
			p.ls = s
			done(p)
			continue
		}
		if s.Leader == id {
			s.Leader = kafka.NoLeader
		}
		if len(s.ISR) > 1 {
			s.ISR = without(s.ISR, id)
		}
		s.LeaderEpoch++
		s.ControllerEpoch = m.epoch
		chosen = append(chosen, p)
		b.Writes = append(b.Writes, StateWrite{p.tp(), s})
	}
	return m.writeStates(f, &b, chosen, fails, done)
}

// byBroker walks over the partitions of each broker's replicas, by id.
func byBroker(rs []replica) iter.Seq2[kafka.BrokerID, []*partition] {
	lists := map[kafka.BrokerID][]*partition{}
	for _, x := range rs {
		lists[x.id] = append(lists[x.id], x.p)
	}
	return func(yield func(kafka.BrokerID, []*partition) bool) {
		for _, id := range slices.Sorted(maps.Keys(lists)) {
			if !yield(id, lists[id]) {
				return
			}
		}
	}
}

// replicasOf gives all replicas of partitions.
func replicasOf(ps []*partition) []replica {
	var rs []replica
	for _, p := range ps {
		for _, id := range p.replicas {
			rs = append(rs, replica{p, id})
		}
	}
	return rs
}

// replicasAt gives the replicas of partitions on one broker.
func replicasAt(ps []*partition, id kafka.BrokerID) []replica {
	rs := make([]replica, len(ps))
	for i, p := range ps {
		rs[i] = replica{p, id}
	}
	return rs
}
