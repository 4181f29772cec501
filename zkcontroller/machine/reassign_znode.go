package machine

import (
	"slices"

	"kbench/kafka"
)

// znodeReassignment obeys /admin/reassign_partitions and gives the partitions
// it names that were taken up. The entries stay until they are done; those that
// cannot be are removed.
func (m *Machine) znodeReassignment(f *flow) (map[*partition]bool, error) {
	b := &ReadReassign{}
	if err := f.do(b); err != nil || !b.Found {
		return nil, err
	}
	var plans []plan
	results := make([]ReassignResult, len(b.Targets))
	for i, t := range b.Targets {
		p, r := m.ctx.partition(t.Partition), &results[i]
		switch {
		case p == nil || p.topic.queued || len(p.replicas) == 0:
			r.Code, r.Text = kafka.UnknownTopicOrPartition, "The partition does not exist."
		case len(t.Replicas) == 0:
			r.Code, r.Text = kafka.InvalidReplicaAssignment, "Empty replica list specified in partition reassignment."
		default:
			var to Assignment
			if to, r.Code, r.Text = m.feasible(p, p.assignment().To(slices.Clone(t.Replicas))); r.Code == kafka.None {
				plans = append(plans, plan{p, to, r})
			}
		}
	}
	taken := map[*partition]bool{}
	if err := m.reassign(f, plans); err != nil {
		return nil, err
	}
	for _, x := range plans {
		taken[x.p] = x.code.Code == kafka.None
	}
	failed := map[kafka.TopicPartition]bool{}
	for i, t := range b.Targets {
		if r := results[i]; r.Code != kafka.None {
			failed[t.Partition] = true
			m.note("reassignment of %v to %v by znode failed: %s", t.Partition, t.Replicas, r.Text)
		}
	}
	if len(failed) == 0 && len(b.Targets) > 0 {
		return taken, nil
	}
	return taken, m.dropReassignEntries(f, func(t ReassignTarget) bool { return failed[t.Partition] })
}

// dropReassignEntries rewrites /admin/reassign_partitions without some entries
// and removes it with the last one. The event that it queues arms the watch for
// the next.
func (m *Machine) dropReassignEntries(f *flow, drop func(ReassignTarget) bool) error {
	b := &ReadReassign{}
	if err := f.do(b); err != nil || !b.Found {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(b.Targets), drop)
	if len(left) == len(b.Targets) && len(left) > 0 {
		return nil
	}
	if err := f.do(&WriteReassign{Targets: left}); err != nil {
		return err
	}
	if len(left) == 0 {
		m.emit(&Queue{Event: ZnodeReassignment{}})
	}
	return nil
}
