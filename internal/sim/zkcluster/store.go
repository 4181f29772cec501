package zkcluster

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// runBatch carries out a batch of the machine and fills in its results, request
// by request as zkcontroller's store does.
func (c *candidate) runBatch(b machine.Batch) error {
	err := c.dispatch(b)
	switch {
	case errors.Is(err, errFenced):
		c.w.cov.ZombieWrites++
		return machine.ErrFenced
	case errors.Is(err, errExpired), errors.Is(err, errKilled):
		return machine.ErrLost
	}
	return err
}

// pipe runs requests and gives their results; the error is of the session.
func (c *candidate) pipe(ops []op) ([]result, error) {
	for i := range ops {
		ops[i].writer = c
	}
	if len(ops) == 0 {
		return nil, nil
	}
	rs := c.client.pipe(c.p, ops)
	for i := range rs {
		if e := rs[i].err; e == errFenced || e == errExpired || e == errKilled {
			return rs, e
		}
	}
	return rs, nil
}

func (c *candidate) one(o op) (result, error) {
	rs, err := c.pipe([]op{o})
	return rs[0], err
}

func (c *candidate) fenced(o op) op { return o.fenced(c.version) }

// list gives a znode's children, arming its watch; none where it is missing.
func (c *candidate) list(path string) ([]string, error) {
	c.client.lists[path] = true
	r, err := c.one(children(path))
	return r.children, err
}

// each makes one request for each element.
func each[T any](list []T, request func(T) op) []op {
	ops := make([]op, len(list))
	for i := range list {
		ops[i] = request(list[i])
	}
	return ops
}

func outcome(r result) machine.WriteResult {
	switch r.err {
	case nil:
		return machine.WriteResult{Version: kafka.PartitionEpoch(r.version)}
	case errBadVersion:
		return machine.WriteResult{Code: machine.BadVersion}
	case errNoNode:
		return machine.WriteResult{Code: machine.NoNode}
	case errNodeExists:
		return machine.WriteResult{Code: machine.NodeExists}
	}
	return machine.WriteResult{Code: machine.Other, Text: r.err.Error()}
}

func outcomes(rs []result) []machine.WriteResult {
	out := make([]machine.WriteResult, len(rs))
	for i := range rs {
		out[i] = outcome(rs[i])
	}
	return out
}

func (c *candidate) dispatch(b machine.Batch) (err error) {
	switch b := b.(type) {
	case *machine.ReadBrokers:
		return c.readBrokers(b)
	case *machine.ReadTopics:
		b.Topics, err = c.list(zk.TopicsPath)
	case *machine.ReadAssignments:
		return c.readAssignments(b)
	case *machine.WriteAssignments:
		return c.writeAssignments(b)
	case *machine.CreateTopics:
		return c.createTopics(b)
	case *machine.ReadStates:
		return c.readStates(b)
	case *machine.WriteStates:
		return c.writeStates(b)
	case *machine.CreateStates:
		return c.createStates(b)
	case *machine.ReadConfigs:
		rs, err := c.pipe(each(b.Topics, func(t string) op { return get(zk.EntityConfigPath(zk.TopicConfigs, t)) }))
		b.Configs = make([]map[string]string, len(rs))
		for i := range rs {
			b.Configs[i], _ = rs[i].data.(map[string]string)
		}
		return err
	case *machine.ReadDeletions:
		b.Topics, err = c.list(zk.DeleteTopicsPath)
		b.Topics = slices.Clone(b.Topics)
	case *machine.CreateDeletions:
		rs, err := c.pipe(each(b.Topics, func(t string) op { return create(zk.DeleteTopicPath(t), nil) }))
		b.Codes = outcomes(rs)
		return err
	case *machine.RemoveDeletions:
		return c.remove(b.Topics, zk.DeleteTopicPath)
	case *machine.RemoveTopics:
		return c.removeTopics(b)
	default:
		return c.dispatchAdmin(b)
	}
	return err
}

func (c *candidate) dispatchAdmin(b machine.Batch) (err error) {
	switch b := b.(type) {
	case *machine.ClearNotes:
		names, err := c.list(notesPath(b.Queue))
		if err != nil {
			return err
		}
		return c.remove(names, func(n string) string { return notesPath(b.Queue) + "/" + n })
	case *machine.ReadNotes:
		b.Names, err = c.list(notesPath(b.Queue))
	case *machine.RemoveNotes:
		return c.remove(b.Names, func(n string) string { return notesPath(b.Queue) + "/" + n })
	case *machine.ReadConfigChanges:
		return c.readConfigChanges(b)
	case *machine.ReadBrokerConfigs:
		var r [2]result
		for i, entity := range []string{zk.DefaultEntity, strconv.Itoa(int(b.ID))} {
			if r[i], err = c.one(get(zk.EntityConfigPath(zk.BrokerConfigs, entity))); err != nil {
				return err
			}
		}
		b.Default, _ = r[0].data.(map[string]string)
		b.Own, _ = r[1].data.(map[string]string)
	case *machine.ReadPreferred:
		c.client.nodes[zk.PreferredPath] = true
		r, err := c.readWatched(zk.PreferredPath)
		b.Partitions, b.Found = r.data.([]kafka.TopicPartition)
		return err
	case *machine.RemovePreferred:
		return c.remove([]string{zk.PreferredPath}, same)
	case *machine.ReadReassign:
		c.client.nodes[zk.ReassignPath] = true
		r, err := c.readWatched(zk.ReassignPath)
		b.Targets, b.Found = r.data.([]machine.ReassignTarget)
		return err
	case *machine.WriteReassign:
		if len(b.Targets) == 0 {
			return c.remove([]string{zk.ReassignPath}, same)
		}
		_, err = c.one(c.fenced(set(zk.ReassignPath, slices.Clone(b.Targets), anyVersion)))
	case *machine.ReadProducerIDs:
		r, err := c.one(get(zk.ProducerIDBlockPath))
		last, ok := r.data.(int64)
		if b.Version, b.Last = r.version, last; !ok {
			b.Last = -1
		}
		return err
	case *machine.WriteProducerIDs:
		r, err := c.one(set(zk.ProducerIDBlockPath, b.End, b.Version))
		b.Result = outcome(r)
		return err
	case *machine.EnsureFeature:
		r, err := c.one(get(zk.FeaturePath))
		if err != nil || r.err == nil && reflect.DeepEqual(r.data, *b) {
			return err
		}
		o := set(zk.FeaturePath, *b, r.version)
		if r.err != nil {
			o = create(zk.FeaturePath, *b)
		}
		_, err = c.one(c.fenced(o))
		return err
	default:
		return fmt.Errorf("zkcluster: unknown batch %T", b)
	}
	return err
}

func same(path string) string { return path }

func notesPath(q machine.Notes) string {
	if q == machine.ISRNotes {
		return zk.ISRChangesPath
	}
	return zk.LogDirEventsPath
}

// readWatched reads a znode that comes and goes, watching it either way.
func (c *candidate) readWatched(path string) (result, error) {
	r, err := c.one(exists(path))
	if err != nil || !r.exists {
		return result{}, err
	}
	return c.one(get(path))
}

// remove deletes znodes, fenced; that one is missing is fine.
func (c *candidate) remove(names []string, path func(string) string) error {
	rs, err := c.pipe(each(names, func(n string) op { return c.fenced(remove(path(n))) }))
	if err != nil {
		return err
	}
	for i := range rs {
		if e := rs[i].err; e != nil && e != errNoNode {
			return fmt.Errorf("delete %s: %w", path(names[i]), e)
		}
	}
	return nil
}

func (c *candidate) readBrokers(b *machine.ReadBrokers) error {
	names, err := c.list(zk.BrokerIDsPath)
	if err != nil {
		return err
	}
	rs, err := c.pipe(each(names, func(n string) op {
		path := zk.BrokerIDsPath + "/" + n
		c.client.nodes[path] = true
		return get(path)
	}))
	for i := range rs {
		if reg, ok := rs[i].data.(machine.Broker); ok {
			reg.Epoch = kafka.BrokerEpoch(rs[i].czxid)
			b.Brokers = append(b.Brokers, reg)
		}
	}
	slices.SortFunc(b.Brokers, func(x, y machine.Broker) int { return cmp.Compare(x.ID, y.ID) })
	return err
}

func (c *candidate) readAssignments(b *machine.ReadAssignments) error {
	rs, err := c.pipe(each(b.Topics, func(t string) op {
		c.client.nodes[zk.TopicPath(t)] = true
		return get(zk.TopicPath(t))
	}))
	b.Results = make([]machine.TopicRead, len(rs))
	for i := range rs {
		if t, ok := rs[i].data.(topicData); ok {
			b.Results[i] = machine.TopicRead{Found: true, ID: t.id, Partitions: t.partitions}
		} else {
			delete(c.client.nodes, zk.TopicPath(b.Topics[i]))
		}
	}
	return err
}

// topicData is the content of a topic's znode.
type topicData struct {
	id         kafka.UUID
	partitions map[int32]machine.Assignment
}

func dataOf(w *machine.TopicWrite) topicData { return topicData{w.ID, maps.Clone(w.Partitions)} }

func (c *candidate) writeAssignments(b *machine.WriteAssignments) error {
	ops := make([]op, len(b.Writes))
	for i := range b.Writes {
		ops[i] = set(zk.TopicPath(b.Writes[i].Topic), dataOf(&b.Writes[i]), anyVersion)
		if b.Fenced {
			ops[i] = c.fenced(ops[i])
		}
	}
	rs, err := c.pipe(ops)
	b.Codes = outcomes(rs)
	return err
}

// createTopics writes configurations, then topics. One that exists after a lost
// reply is its own work if it has the same id.
func (c *candidate) createTopics(b *machine.CreateTopics) error {
	configs := make([]op, len(b.Topics))
	topics := make([]op, len(b.Topics))
	for i := range b.Topics {
		t := &b.Topics[i]
		configs[i] = create(zk.EntityConfigPath(zk.TopicConfigs, t.Topic), maps.Clone(t.Config))
		topics[i] = create(zk.TopicPath(t.Topic), dataOf(t))
	}
	rs, err := c.pipe(configs)
	if err != nil {
		return err
	}
	for i := range rs {
		if rs[i].err == errNodeExists {
			if rs[i], err = c.one(set(configs[i].path, configs[i].data, anyVersion)); err != nil {
				return err
			}
		}
	}
	made, err := c.pipe(topics)
	if err != nil {
		return err
	}
	b.Codes = outcomes(rs)
	for i := range made {
		r := made[i]
		if r.resent && r.err == errNodeExists {
			g, err := c.one(get(topics[i].path))
			if err != nil {
				return err
			}
			if t, ok := g.data.(topicData); ok && t.id == b.Topics[i].ID {
				r.err = nil
			}
		}
		if b.Codes[i].Code == machine.OK {
			b.Codes[i] = outcome(r)
		}
	}
	return nil
}

// readConfigChanges reads what was written since, in the order of the numbers.
func (c *candidate) readConfigChanges(b *machine.ReadConfigChanges) error {
	names, err := c.list(zk.ConfigChangesPath)
	if err != nil {
		return err
	}
	b.Last = b.After
	var fresh []string
	for _, n := range names {
		if k := sequenceOf(n); k > b.After {
			fresh, b.Last = append(fresh, n), max(b.Last, k)
		}
	}
	if b.SkipOld {
		return nil
	}
	rs, err := c.pipe(each(fresh, func(n string) op { return get(zk.ConfigChangesPath + "/" + n) }))
	for i := range rs {
		if entity, ok := rs[i].data.(string); ok {
			b.Entities = append(b.Entities, entity)
		}
	}
	return err
}

func sequenceOf(name string) int64 {
	n, _ := strconv.ParseInt(name[strings.LastIndexByte(name, '_')+1:], 10, 64)
	return n
}
