package machine

import (
	"maps"
	"slices"
	"strings"

	"kbench/kafka"
)

// Deletion of a topic is Kafka's TopicDeletionManager. Its partitions leave
// every broker's metadata (leader LeaderDuringDelete), its replicas go Offline,
// then DeletionStarted with a StopReplica that deletes; each answer makes them
// DeletionSuccessful; when all are, the znodes go. A replica that is dead or
// fails makes the topic ineligible until a broker returns or the next
// controller tries again.

// topicDeletion takes up new entries of /admin/delete_topics.
func (m *Machine) topicDeletion(f *flow) error {
	read := &ReadDeletions{}
	if err := f.do(read); err != nil {
		return err
	}
	orphans := m.queueDeletions(read.Topics, false)
	if err := m.removeDeletions(f, orphans); err != nil {
		return err
	}
	return m.resumeDeletions(f)
}

// queueDeletions marks topics as to be deleted and gives the names that are
// entries to remove: of topics that do not exist, or all if deletion is off.
// At a failover, topics with a dead replica are ineligible from the start.
func (m *Machine) queueDeletions(names []string, failover bool) []string {
	var orphans []string
	slices.Sort(names)
	for _, name := range names {
		t := m.ctx.topics[name]
		if t == nil || m.cfg.NoDeletion {
			orphans = append(orphans, name)
			continue
		}
		t.queued = true
		m.ctx.queued[name] = t
		if failover {
			t.ineligible = m.hasDeadReplica(t)
		}
	}
	return orphans
}

func (m *Machine) hasDeadReplica(t *topic) bool {
	return slices.ContainsFunc(t.parts, func(p *partition) bool {
		return p != nil && len(m.ctx.offlineReplicas(p)) > 0
	})
}

func (m *Machine) removeDeletions(f *flow, names []string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		m.topicGone(name)
	}
	return f.do(&RemoveDeletions{Topics: names})
}

// queuedTopics gives the topics to be deleted, by name.
func (c *context) queuedTopics() []*topic {
	return slices.SortedFunc(maps.Values(c.queued), func(a, b *topic) int { return strings.Compare(a.name, b.name) })
}

// resumeDeletions takes every queued topic as far as it can go now.
func (m *Machine) resumeDeletions(f *flow) error {
	var finished, eligible []*topic
	var retry []replica
	for _, t := range m.ctx.queuedTopics() {
		switch {
		case t.inState[ReplicaDeletionSuccessful] == t.replicas:
			finished = append(finished, t)
			continue
		case t.inState[ReplicaDeletionStarted] > 0 || t.ineligible || t.moving > 0:
			continue
		}
		for _, x := range replicasOf(t.partitionList()) {
			if x.p.replicaState(x.id) == ReplicaDeletionIneligible {
				retry = append(retry, x)
			}
		}
		eligible = append(eligible, t)
	}
	if err := m.finishDeletions(f, finished); err != nil {
		return err
	}
	if err := m.moveReplicas(f, retry, ReplicaOffline); err != nil {
		return err
	}
	return m.deleteReplicas(f, eligible)
}

func (t *topic) partitionList() []*partition {
	return slices.DeleteFunc(slices.Clone(t.parts), func(p *partition) bool { return p == nil })
}

// finishDeletions removes topics whose replicas are all deleted.
func (m *Machine) finishDeletions(f *flow, ts []*topic) error {
	if len(ts) == 0 {
		return nil
	}
	b := &RemoveTopics{}
	for _, t := range ts {
		b.Topics = append(b.Topics, t.name)
		for _, p := range t.parts {
			if p == nil {
				continue
			}
			for _, id := range p.replicas {
				p.setReplicaState(id, ReplicaNonExistent)
			}
		}
	}
	if err := f.do(b); err != nil {
		return err
	}
	for _, t := range ts {
		m.ctx.removeTopic(t)
		m.topicGone(t.name)
	}
	return nil
}

// deleteReplicas begins the deletion of topics.
func (m *Machine) deleteReplicas(f *flow, ts []*topic) error {
	if len(ts) == 0 {
		return nil
	}
	var unseen, all []*partition
	for _, t := range ts {
		ps := t.partitionList()
		all = append(all, ps...)
		if !t.deleting {
			unseen = append(unseen, ps...)
			t.deleting = true
		}
	}
	m.ctx.sortPartitions(all)
	m.ctx.sortPartitions(unseen)
	m.movePartitions(unseen, PartitionOffline)
	m.movePartitions(unseen, PartitionNonExistent)
	m.sendMetadata(m.ctx.registered(), all)
	for _, t := range ts {
		m.topicGone(t.name)
	}
	var dead, alive []replica
	for _, x := range replicasOf(all) {
		switch {
		case !m.ctx.isOnline(x.p, x.id):
			dead = append(dead, x)
			x.p.topic.ineligible = true
		case x.p.replicaState(x.id) != ReplicaDeletionSuccessful:
			alive = append(alive, x)
		}
	}
	// A dead replica that has not been taken offline yet is so first.
	dying := slices.DeleteFunc(slices.Clone(dead), func(x replica) bool {
		s := x.p.replicaState(x.id)
		return s == ReplicaOffline || s == ReplicaDeletionStarted || s == ReplicaDeletionIneligible
	})
	if err := m.moveReplicas(f, dying, ReplicaOffline); err != nil {
		return err
	}
	dead = slices.DeleteFunc(dead, func(x replica) bool { return x.p.replicaState(x.id) == ReplicaDeletionIneligible })
	if err := m.moveReplicas(f, dead, ReplicaDeletionIneligible); err != nil {
		return err
	}
	if err := m.moveReplicas(f, alive, ReplicaOffline); err != nil {
		return err
	}
	return m.moveReplicas(f, alive, ReplicaDeletionStarted)
}

// stopReplicaDone takes a broker's answer to deletions.
func (m *Machine) stopReplicaDone(f *flow, e StopReplicaDone) error {
	if !m.isCurrent(e.Broker, e.Epoch, e.Controller) {
		return nil
	}
	done, failed := m.started(e.Broker, e.Deleted), m.started(e.Broker, e.Failed)
	if err := m.moveReplicas(f, done, ReplicaDeletionSuccessful); err != nil {
		return err
	}
	if len(failed) > 0 {
		if err := m.deletionFailed(f, failed); err != nil {
			return err
		}
	}
	return m.resumeDeletions(f)
}

// started gives the replicas on a broker whose deletion is under way.
func (m *Machine) started(id kafka.BrokerID, tps []kafka.TopicPartition) []replica {
	var rs []replica
	for _, tp := range tps {
		p := m.ctx.partition(tp)
		if p != nil && p.topic.queued && p.replicaState(id) == ReplicaDeletionStarted {
			rs = append(rs, replica{p, id})
		}
	}
	return rs
}

// deletionFailed makes the topics of replicas ineligible.
func (m *Machine) deletionFailed(f *flow, rs []replica) error {
	if len(rs) == 0 {
		return nil
	}
	var move []replica
	for _, x := range rs {
		x.p.topic.ineligible = true
		if x.p.replicaState(x.id).mayBecome(ReplicaDeletionIneligible) {
			move = append(move, x)
		}
	}
	if err := m.moveReplicas(f, move, ReplicaDeletionIneligible); err != nil {
		return err
	}
	return m.resumeDeletions(f)
}
