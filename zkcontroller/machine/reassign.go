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
	for part := range m.split(len(plans)) {
		if err := m.reassignPart(f, plans[part[0]:part[1]]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Machine) reassignPart(f *flow, plans []plan) error {
	m.ctx.allTopics()
	slices.SortFunc(plans, func(a, b plan) int { return comparePartitions(a.p, b.p) })
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
		reads, err := m.readStates(f, left)
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
	if slices.ContainsFunc(ps, func(p *partition) bool { return p.topic.queued }) {
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
	for part := range m.split(len(done)) {
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
