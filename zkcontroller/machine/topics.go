package machine

import (
	"slices"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// topicChange takes up topics that appeared and forgets those that are gone.
func (m *Machine) topicChange(f *flow) error {
	read := &ReadTopics{}
	if err := f.do(read); err != nil {
		return err
	}
	here := make(map[string]bool, len(read.Topics))
	var fresh []string
	for _, name := range read.Topics {
		here[name] = true
		if m.ctx.topics[name] == nil {
			fresh = append(fresh, name)
		}
	}
	slices.Sort(fresh)
	for _, t := range slices.Clone(m.ctx.allTopics()) {
		if !here[t.name] {
			m.ctx.removeTopic(t)
			m.topicGone(t.name)
		}
	}
	ps, err := m.readTopics(f, fresh)
	if err != nil {
		return err
	}
	return m.partitionsCreated(f, ps)
}

// partitionsCreated is onNewPartitionCreation: partitions New, replicas New,
// partitions Online, replicas Online.
func (m *Machine) partitionsCreated(f *flow, ps []*partition) error {
	if len(ps) == 0 {
		return nil
	}
	m.movePartitions(ps, PartitionNew)
	rs := replicasOf(ps)
	if err := m.moveReplicas(f, rs, ReplicaNew); err != nil {
		return err
	}
	if _, err := m.elect(f, ps, metadata.ElectOffline, false); err != nil {
		return err
	}
	return m.moveReplicas(f, rs, ReplicaOnline)
}

// topicModified takes up partitions that were added to a topic. If the topic
// is to be deleted they are taken back out of its znode. Partitions that are
// missing from it are put back: a topic cannot shrink, and Kafka would lose them
// with its next controller.
func (m *Machine) topicModified(f *flow, name string) error {
	t := m.ctx.topics[name]
	if t == nil { // its znode could not be read so far
		return m.topicChange(f)
	}
	b := &ReadAssignments{Topics: []string{name}}
	if err := f.do(b); err != nil {
		return err
	}
	read := &b.Results[0]
	if !read.Found {
		return nil
	}
	fresh := map[int32]Assignment{}
	for n, a := range read.Partitions {
		if m.ctx.partition(kafka.TopicPartition{Topic: name, Partition: n}) == nil && n >= 0 {
			fresh[n] = a
		}
	}
	lost := 0
	for _, p := range t.parts {
		if p == nil {
			continue
		}
		if _, ok := read.Partitions[p.index]; !ok {
			lost++
		}
	}
	switch {
	case lost > 0 && !t.deleting:
		m.note("topic %s lacks %d of its partitions: they are put back", name, lost)
		var added []*partition
		if !t.queued {
			added = m.ctx.addPartitions(t, fresh)
		}
		if err := f.do(&WriteAssignments{Fenced: true, Writes: []TopicWrite{t.write()}}); err != nil {
			return err
		}
		return m.partitionsCreated(f, added)
	case len(fresh) == 0:
		return nil
	case t.queued:
		m.note("topic %s is being deleted: its %d new partitions are taken back", name, len(fresh))
		return f.do(&WriteAssignments{Fenced: true, Writes: []TopicWrite{t.write()}})
	}
	return m.partitionsCreated(f, m.ctx.addPartitions(t, fresh))
}

// write gives the topic's znode as the context has it.
func (t *topic) write() TopicWrite {
	w := TopicWrite{Topic: t.name, ID: t.id, Partitions: make(map[int32]Assignment, len(t.parts))}
	for _, p := range t.parts {
		if p != nil {
			w.Partitions[p.index] = p.assignment()
		}
	}
	return w
}
