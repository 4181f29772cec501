package zkcluster

import (
	"slices"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// proposal is an ISR that a leader asks for until it is answered.
type proposal struct {
	tp     kafka.TopicPartition
	change machine.ISRChange
}

// tick looks at the followers of what b leads, and asks for other ISRs.
func (b *broker) tick() {
	b.h.after(b.w.p.isrTick+b.w.delay(b.w.p.isrTick), b.tick)
	if b.asking || b.epoch == kafka.NoBrokerEpoch || b.controller < 0 {
		return
	}
	b.pending = slices.DeleteFunc(b.pending, func(p *proposal) bool {
		r := b.roles[p.tp]
		return r == nil || r.state.LeaderEpoch != p.change.LeaderEpoch || r.topicID != p.change.TopicID
	})
	if len(b.pending) == 0 {
		for _, tp := range b.led() {
			if b.roles[tp].refused {
				continue
			}
			if p := b.propose(tp, b.roles[tp]); p != nil && len(b.pending) < 4 {
				b.pending = append(b.pending, p)
			}
		}
	}
	if len(b.pending) > 0 {
		b.ask()
	}
}

// propose gives the ISR a partition should have, nil where it has it.
func (b *broker) propose(tp kafka.TopicPartition, r *role) *proposal {
	members := []machine.ISRMember{{ID: b.id, Epoch: b.epoch}}
	changed := r.state.Recovery != kafka.Recovered
	for _, id := range r.replicas {
		if id == b.id {
			continue
		}
		epoch, follows := b.follower(tp, r, id)
		in := slices.Contains(r.state.ISR, id)
		switch {
		case in && (follows || b.w.rng.IntN(3) > 0) && (b.w.settling || b.w.rng.IntN(12) > 0):
			members = append(members, machine.ISRMember{ID: id, Epoch: epoch})
		case in:
			changed = true
		case follows && b.live[id] && (b.w.settling || b.w.rng.IntN(3) == 0):
			members = append(members, machine.ISRMember{ID: id, Epoch: epoch})
			changed = true
		}
	}
	if !changed {
		return nil
	}
	return &proposal{tp, machine.ISRChange{
		Topic: tp.Topic, TopicID: r.topicID, Partition: tp.Partition,
		LeaderEpoch: r.state.LeaderEpoch, PartitionEpoch: r.state.Version, ISR: members,
	}}
}

// follower says whether a broker follows, in the leader's epoch, and with which
// broker epoch it fetches.
func (b *broker) follower(tp kafka.TopicPartition, r *role, id kafka.BrokerID) (kafka.BrokerEpoch, bool) {
	h := b.w.hosts[id]
	if !h.up || h.frozen || h.broker == nil || h.broker.epoch == kafka.NoBrokerEpoch || b.w.severed(b.h, h) {
		return kafka.NoBrokerEpoch, false
	}
	f := h.broker.roles[tp]
	ok := f != nil && !f.stopped && f.topicID == r.topicID && f.state.LeaderEpoch == r.state.LeaderEpoch
	return h.broker.epoch, ok
}

// ask sends what is pending to the controller.
func (b *broker) ask() {
	b.asking = true
	asked := slices.Clone(b.pending)
	b.w.rpc(b.h, b.w.hosts[b.controller], b.w.p.callTimeout, func(call machine.CallID) machine.Input {
		in := machine.AlterPartition{Call: call, Version: 3, Broker: b.id, Epoch: b.epoch}
		for _, p := range asked {
			in.Changes = append(in.Changes, p.change)
		}
		return in
	}, func(body any, ok bool) {
		b.asking = false
		reply, _ := body.(machine.AlterPartitionReply)
		if !ok || reply.Code != kafka.None || len(reply.Results) != len(asked) {
			return // asked again as it was
		}
		b.pending = nil
		for i, p := range asked {
			if b.altered(p, &reply.Results[i]) {
				b.pending = append(b.pending, p)
			}
		}
	})
}

// altered takes the answer to one proposal, and reports whether it is asked
// again as it was.
func (b *broker) altered(p *proposal, res *machine.ISRResult) bool {
	r := b.roles[p.tp]
	current := r != nil && r.topicID == p.change.TopicID && r.state.LeaderEpoch == p.change.LeaderEpoch
	switch res.Code {
	case kafka.None:
		b.w.cov.ISRChanges++
		b.w.judge.acknowledgedISR(p, res)
		if current && r.state.LeaderEpoch == res.State.LeaderEpoch && r.state.Version < res.State.Version {
			r.state = res.State
		}
		return false
	case kafka.NotController, kafka.UnknownServerError:
		return true
	case kafka.IneligibleReplica, kafka.OperationNotAttempted: // the next look asks anew
	default: // newer metadata must be on its way: a broker of Kafka asks for nothing before
		if current {
			r.refused = true
		}
	}
	b.w.cov.ISRRefused++
	return false
}
