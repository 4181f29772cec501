package zkcluster

import (
	"reflect"
	"slices"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

func statePath(tp kafka.TopicPartition) string { return zk.StatePath(tp.Topic, tp.Partition) }

func (c *candidate) readStates(b *machine.ReadStates) error {
	rs, err := c.pipe(each(b.Partitions, func(tp kafka.TopicPartition) op { return get(statePath(tp)) }))
	b.Results = make([]machine.StateRead, len(rs))
	for i := range rs {
		if st, ok := rs[i].data.(machine.LeaderISR); ok {
			st.Version = kafka.PartitionEpoch(rs[i].version)
			b.Results[i] = machine.StateRead{Found: true, State: st}
		}
	}
	return err
}

func (c *candidate) writeStates(b *machine.WriteStates) error {
	return c.states(b.Writes, &b.Results, errBadVersion, func(w *machine.StateWrite) op {
		return set(statePath(w.Partition), content(w.State), int32(w.State.Version))
	})
}

// content is what a state znode holds: its version is not in it.
func content(s machine.LeaderISR) machine.LeaderISR {
	s.Version = 0
	return s
}

// states runs writes of state znodes. One that fails with sign after a lost
// reply is its own work if the znode has what it wrote.
func (c *candidate) states(writes []machine.StateWrite, out *[]machine.WriteResult, sign error, request func(*machine.StateWrite) op) error {
	ops := make([]op, len(writes))
	for i := range writes {
		ops[i] = c.fenced(request(&writes[i]))
	}
	rs, err := c.pipe(ops)
	if err != nil {
		return err
	}
	for i := range rs {
		if !rs[i].resent || rs[i].err != sign {
			continue
		}
		version := int32(0)
		if sign == errBadVersion {
			version = int32(writes[i].State.Version) + 1
		}
		g, err := c.one(get(ops[i].path))
		if err != nil {
			return err
		}
		if st, ok := g.data.(machine.LeaderISR); ok && g.version == version && reflect.DeepEqual(st, content(writes[i].State)) {
			rs[i] = g
		}
	}
	*out = outcomes(rs)
	return nil
}

func (c *candidate) createStates(b *machine.CreateStates) error {
	var topics []string
	for i := range b.Writes {
		if t := b.Writes[i].Partition.Topic; !slices.Contains(topics, t) {
			topics = append(topics, t)
		}
	}
	if _, err := c.pipe(each(topics, func(t string) op { return c.fenced(create(zk.PartitionsPath(t), nil)) })); err != nil {
		return err
	}
	_, err := c.pipe(each(b.Writes, func(w machine.StateWrite) op {
		return c.fenced(create(zk.PartitionPath(w.Partition.Topic, w.Partition.Partition), nil))
	}))
	if err != nil {
		return err
	}
	return c.states(b.Writes, &b.Results, errNodeExists, func(w *machine.StateWrite) op {
		return create(statePath(w.Partition), content(w.State))
	})
}

// removeTopics deletes level by level, the request for the deletion last.
func (c *candidate) removeTopics(b *machine.RemoveTopics) error {
	for _, t := range b.Topics {
		delete(c.client.nodes, zk.TopicPath(t))
	}
	rs, err := c.pipe(each(b.Topics, func(t string) op { return children(zk.PartitionsPath(t)) }))
	if err != nil {
		return err
	}
	var nodes []string
	for i, t := range b.Topics {
		for _, n := range rs[i].children {
			nodes = append(nodes, zk.PartitionsPath(t)+"/"+n)
		}
	}
	for _, level := range []struct {
		names []string
		path  func(string) string
	}{
		{nodes, func(n string) string { return n + "/state" }},
		{nodes, same},
		{b.Topics, zk.PartitionsPath},
		{b.Topics, func(t string) string { return zk.EntityConfigPath(zk.TopicConfigs, t) }},
		{b.Topics, zk.TopicPath},
		{b.Topics, zk.DeleteTopicPath},
	} {
		if err := c.remove(level.names, level.path); err != nil {
			return err
		}
	}
	return nil
}
