package machine

import (
	"fmt"
	"slices"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// A reassignment (KIP-455) has two phases. In the first the topic's znode and
// all replicas, old and new, learn the full set of replicas, and the new ones
// begin to fetch. When all of the target are in the ISR the second drops the
// old ones. Both are written before they are acted upon, so that the next
// controller goes on from the topic's znode. Partitions that are reassigned
// together share each step's batch, where Kafka takes one after the other.

// plan is a partition and the assignment it is to get.
type plan struct {
	p    *partition
	to   Assignment
	code *ReassignResult
}

// alterReassignments begins, replaces and cancels reassignments.
func (m *Machine) alterReassignments(f *flow, e AlterReassignments) error {
	reply := AlterReassignmentsReply{Results: make([]ReassignResult, len(e.Changes))}
	var plans []plan
	asked := map[kafka.TopicPartition]bool{}
	for i := range e.Changes {
		c, r := &e.Changes[i], &reply.Results[i]
		if asked[c.Partition] {
			r.Code, r.Text = kafka.InvalidRequest, "The partition is in the request twice."
			continue
		}
		asked[c.Partition] = true
		p := m.ctx.partition(c.Partition)
		var to Assignment
		to, r.Code, r.Text = m.planned(p, c)
		if r.Code == kafka.None {
			plans = append(plans, plan{p, to, r})
		}
	}
	if len(plans) > 0 {
		// The latest wins, whether it came by request or by znode.
		if err := m.dropReassignEntries(f, func(t ReassignTarget) bool { return asked[t.Partition] }); err != nil {
			return err
		}
		if err := m.reassign(f, plans); err != nil {
			return err
		}
	}
	m.reply(e.Call, reply, len(plans) > 0)
	return nil
}

// planned checks one change and gives the assignment it asks for.
func (m *Machine) planned(p *partition, c *Reassign) (Assignment, kafka.ErrorCode, string) {
	var now Assignment
	if p != nil {
		now = p.assignment()
	}
	if !c.Cancel {
		if code, text := m.badTarget(now, c.Replicas); code != kafka.None {
			return now, code, text
		}
	}
	switch {
	case p == nil || p.topic.queued:
		return now, kafka.UnknownTopicOrPartition, "The partition does not exist."
	case c.Cancel && !now.Moving():
		return now, kafka.NoReassignmentInProgress, "No partition reassignment is in progress."
	case c.Cancel:
		return m.feasible(p, now.To(now.Origin()))
	}
	return m.feasible(p, now.To(slices.Clone(c.Replicas)))
}

// badTarget says what is wrong with a target: new replicas must be on live
// brokers.
func (m *Machine) badTarget(now Assignment, target []kafka.BrokerID) (kafka.ErrorCode, string) {
	if len(target) == 0 {
		return kafka.InvalidReplicaAssignment, "Empty replica list specified in partition reassignment."
	}
	for i, id := range target {
		switch {
		case slices.Contains(target[:i], id):
			return kafka.InvalidReplicaAssignment, fmt.Sprintf("Duplicate replica ids in partition reassignment replica list: %v", target)
		case id < 0:
			return kafka.InvalidReplicaAssignment, fmt.Sprintf("Invalid broker id in replica list: %v", target)
		}
	}
	for _, id := range now.To(target).Adding {
		if !m.ctx.isLive(id) {
			return kafka.InvalidReplicaAssignment, fmt.Sprintf("Replica assignment has brokers that are not alive. Replica list: %v, live brokers: %v", target, m.ctx.liveIDs())
		}
	}
	return kafka.None, ""
}

// feasible refuses an assignment that drops the last replica in sync, or the
// last of them that could lead: Kafka would leave the partition without a
// leader, or with an ISR outside of its replicas.
func (m *Machine) feasible(p *partition, to Assignment) (Assignment, kafka.ErrorCode, string) {
	gone := minus(p.replicas, to.Replicas)
	leads := func(id kafka.BrokerID) bool { return m.ctx.isOnline(p, id) && slices.Contains(p.ls.ISR, id) }
	if p.known && (len(minus(p.ls.ISR, gone)) == 0 || slices.ContainsFunc(gone, leads) && !slices.ContainsFunc(to.Replicas, leads)) {
		return to, kafka.InvalidReplicaAssignment, fmt.Sprintf("None of %v is alive and in sync: dropping %v would leave the partition without a leader.", to.Replicas, gone)
	}
	return to, kafka.None, ""
}

// reassign is onPartitionReassignment for several partitions.
func (m *Machine) reassign(f *flow, plans []plan) error {
	m.ctx.allTopics()
	slices.SortFunc(plans, func(a, b plan) int { return comparePartitions(a.p, b.p) })
	for part := range m.turns(len(plans)) {
		if err := m.reassignPart(f, plans[part[0]:part[1]]); err != nil {
			return err
		}
	}
	return nil
}

// reassignPart takes up plans, which are in order.
func (m *Machine) reassignPart(f *flow, plans []plan) error {
	unneeded, err := m.adopt(f, plans) // U1 to U3
	if err != nil {
		return err
	}
	var leading []*partition
	for _, x := range unneeded {
		if x.p.ls.Leader == x.id {
			leading = append(leading, x.p)
		}
	}
	// Kafka drops such a leader without an election, and elects none until
	// something else makes it try.
	if _, err := m.elect(f, leading, metadata.ElectReassign, false); err != nil {
		return err
	}
	if err := m.dropReplicas(f, unneeded); err != nil {
		return err
	}
	var ps []*partition
	for _, x := range plans {
		if x.code == nil || x.code.Code == kafka.None {
			ps = append(ps, x.p)
			if x.p.moving != nil && m.cfg.Protocol.LeadersWriteISR() {
				m.emit(&WatchState{Partition: x.p.tp(), On: true})
			}
		}
	}
	reads, err := m.readStates(f, ps)
	if err != nil {
		return err
	}
	var begun, done []*partition
	for i, p := range ps {
		if reads[i].Found && m.caughtUp(p, reads[i].State.ISR) || p.moving == nil {
			done = append(done, p)
		} else {
			begun = append(begun, p)
		}
	}
	if err := m.expandReplicas(f, begun); err != nil {
		return err
	}
	return m.finishReassignments(f, done)
}

// adopt writes the topics whose assignment changes, takes the change into the
// context, and gives the replicas of a former reassignment that are no longer
// wanted.
func (m *Machine) adopt(f *flow, plans []plan) (unneeded []replica, err error) {
	b := &WriteAssignments{Fenced: true}
	at := map[*topic]int{}
	changed := func(x *plan) bool { return !x.p.assignment().Equal(x.to) }
	for i := range plans {
		x := &plans[i]
		if !changed(x) {
			continue
		}
		k, ok := at[x.p.topic]
		if !ok {
			k = len(b.Writes)
			at[x.p.topic] = k
			b.Writes = append(b.Writes, x.p.topic.write())
		}
		b.Writes[k].Partitions[x.p.index] = x.to
	}
	if len(b.Writes) > 0 {
		if err := f.do(b); err != nil {
			return nil, err
		}
	}
	for i := range plans {
		x := &plans[i]
		if !changed(x) {
			continue
		}
		if res := b.Codes[at[x.p.topic]]; res.Code != OK {
			m.note("reassignment of %v is not written: %s", x.p.tp(), res)
			if x.code == nil {
				x.code = &ReassignResult{}
			}
			x.code.Code, x.code.Text = kafka.UnknownServerError, res.String()
			continue
		}
		old := x.p.replicas
		m.ctx.reassign(x.p, x.to)
		for _, id := range minus(old, x.to.Replicas) {
			unneeded = append(unneeded, replica{x.p, id})
		}
	}
	return unneeded, nil
}

// completeReassignments finishes those of ps whose target has caught up.
func (m *Machine) completeReassignments(f *flow, ps []*partition) error {
	if len(m.ctx.moving) == 0 {
		return nil
	}
	var done []*partition
	for _, p := range ps {
		if p.moving != nil && m.caughtUp(p, p.ls.ISR) {
			done = append(done, p)
		}
	}
	m.ctx.sortPartitions(done)
	done = slices.Compact(done)
	for part := range m.turns(len(done)) {
		if err := m.finishReassignments(f, done[part[0]:part[1]]); err != nil {
			return err
		}
	}
	return nil
}

// reassignISRChanged reads the ISR that a leader wrote itself.
func (m *Machine) reassignISRChanged(f *flow, tp kafka.TopicPartition) error {
	p := m.ctx.partition(tp)
	if p == nil || p.moving == nil {
		return nil
	}
	ps := []*partition{p}
	reads, err := m.readStates(f, ps)
	if err != nil || !reads[0].Found {
		return err
	}
	p.ls = reads[0].State
	return m.completeReassignments(f, ps)
}

// resumeReassignments goes on with those that want says.
func (m *Machine) resumeReassignments(f *flow, want func(*partition) bool) error {
	var plans []plan
	for p := range m.ctx.moving {
		if want(p) {
			plans = append(plans, plan{p: p, to: p.assignment()})
		}
	}
	if len(plans) == 0 {
		return nil
	}
	return m.reassign(f, plans)
}

// listReassignments answers from the context.
func (m *Machine) listReassignments(e ListReassignments) {
	var ps []*partition
	if e.All {
		for p := range m.ctx.moving {
			ps = append(ps, p)
		}
	} else {
		for _, tp := range e.Partitions {
			if p := m.ctx.partition(tp); p != nil && p.moving != nil {
				ps = append(ps, p)
			}
		}
	}
	m.ctx.sortPartitions(ps)
	var reply ListReassignmentsReply
	for _, p := range slices.Compact(ps) {
		reply.Partitions = append(reply.Partitions, Reassigning{p.tp(), p.assignment()})
	}
	m.reply(e.Call, reply, false)
}
