package zkcontroller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// store runs the machine's batches against a session. It belongs to the event
// thread; its requests are pipelined.
type store struct {
	session *zk.Session
	fence   int32 // version of /controller_epoch, or zk.NoFence
	// perMulti is how many states one multi writes at most; 0 and 1 are one.
	perMulti int
	log      *slog.Logger
}

// unreadable tells of a znode that somebody else has written and that makes no
// sense. One topic is not worth the whole cluster's controller: it is left out,
// as Kafka does, until the znode is corrected.
func (s *store) unreadable(path, consequence string, err error) {
	s.log.Warn("unreadable znode: correct or remove it", "path", path, "meanwhile", consequence, "err", err)
}

// run carries out one batch and fills in its results.
func (s *store) run(ctx context.Context, b machine.Batch) error {
	err := s.dispatch(ctx, b)
	switch {
	case errors.Is(err, zk.ErrFenced):
		return machine.ErrFenced
	case zk.IsDead(err):
		return machine.ErrLost
	}
	return err
}

func (s *store) dispatch(ctx context.Context, b machine.Batch) error {
	switch b := b.(type) {
	case *machine.ReadBrokers:
		return s.readBrokers(ctx, b)
	case *machine.ReadTopics:
		s.session.WatchChildren(zk.TopicsPath)
		var err error
		b.Topics, err = s.children(ctx, zk.TopicsPath)
		return err
	case *machine.ReadAssignments:
		return s.readAssignments(ctx, b)
	case *machine.WriteAssignments:
		return s.writeAssignments(ctx, b)
	case *machine.CreateTopics:
		return s.createTopics(ctx, b)
	case *machine.ReadStates:
		return s.readStates(ctx, b)
	case *machine.WriteStates:
		return s.writeStates(ctx, b)
	case *machine.CreateStates:
		return s.createStates(ctx, b)
	case *machine.ReadConfigs:
		return s.readConfigs(ctx, b)
	case *machine.ReadDeletions:
		s.session.WatchChildren(zk.DeleteTopicsPath)
		var err error
		b.Topics, err = s.children(ctx, zk.DeleteTopicsPath)
		return err
	case *machine.CreateDeletions:
		return s.createDeletions(ctx, b)
	case *machine.RemoveDeletions:
		return s.remove(ctx, len(b.Topics), func(i int) string { return zk.DeleteTopicPath(b.Topics[i]) })
	case *machine.RemoveTopics:
		return s.removeTopics(ctx, b)
	case *machine.ClearNotes:
		return s.clearNotes(ctx, b)
	case *machine.ReadNotes:
		return s.readNotes(ctx, b)
	case *machine.RemoveNotes:
		return s.removeNotes(ctx, b)
	case *machine.ReadConfigChanges:
		return s.readConfigChanges(ctx, b)
	case *machine.ReadBrokerConfigs:
		return s.readBrokerConfigs(ctx, b)
	case *machine.ReadFeature:
		return s.readFeature(ctx, b)
	case *machine.WriteFeature:
		return s.writeFeature(ctx, b)
	case *machine.ReadPreferred:
		return s.readPreferred(ctx, b)
	case *machine.RemovePreferred:
		return s.remove(ctx, 1, func(int) string { return zk.PreferredPath })
	case *machine.ReadReassign:
		return s.readReassign(ctx, b)
	case *machine.WriteReassign:
		return s.writeReassign(ctx, b)
	case *machine.ReadProducerIDs:
		return s.readProducerIDs(ctx, b)
	case *machine.WriteProducerIDs:
		return s.writeProducerIDs(ctx, b)
	case *machine.EnsureFeature:
		return s.ensureFeature(ctx, b)
	}
	return fmt.Errorf("zkcontroller: unknown batch %T", b)
}

// children lists a znode's children; none where it is missing.
func (s *store) children(ctx context.Context, path string) ([]string, error) {
	r := s.session.Do(ctx, zk.Children(path))
	if errors.Is(r.Err, zk.ErrNoNode) {
		return nil, nil
	}
	if r.Err != nil {
		return nil, fmt.Errorf("list %s: %w", path, r.Err)
	}
	return r.Children, nil
}

// pipe runs n requests and gives the first error that done returns.
func (s *store) pipe(ctx context.Context, n int, op func(i int) zk.Op, done func(i int, r zk.Result) error) error {
	var first firstError
	err := s.session.Pipeline(ctx, n, op, func(i int, r zk.Result) { first.set(done(i, r)) })
	if err != nil {
		return err
	}
	return first.get()
}

// outcome gives the machine's result of a write.
func outcome(r zk.Result) machine.WriteResult {
	switch {
	case r.Err == nil:
		return machine.WriteResult{Version: kafka.PartitionEpoch(r.Version)}
	case errors.Is(r.Err, zk.ErrBadVersion):
		return machine.WriteResult{Code: machine.BadVersion}
	case errors.Is(r.Err, zk.ErrNoNode):
		return machine.WriteResult{Code: machine.NoNode}
	case errors.Is(r.Err, zk.ErrNodeExists):
		return machine.WriteResult{Code: machine.NodeExists}
	}
	return machine.WriteResult{Code: machine.Other, Text: r.Err.Error()}
}

func (s *store) readBrokers(ctx context.Context, b *machine.ReadBrokers) error {
	s.session.WatchChildren(zk.BrokerIDsPath)
	names, err := s.children(ctx, zk.BrokerIDsPath)
	if err != nil {
		return err
	}
	var ids []kafka.BrokerID
	for _, n := range names {
		id, err := strconv.ParseInt(n, 10, 32)
		if err != nil || id < 0 {
			s.unreadable(zk.BrokerIDsPath+"/"+n, "it is no broker", fmt.Errorf("%q is not a broker id", n))
			continue
		}
		ids = append(ids, kafka.BrokerID(id))
		s.session.Watch(zk.BrokerPath(kafka.BrokerID(id)))
	}
	found := make([]*machine.Broker, len(ids))
	err = s.pipe(ctx, len(ids), func(i int) zk.Op { return zk.Get(zk.BrokerPath(ids[i])) }, func(i int, r zk.Result) error {
		if errors.Is(r.Err, zk.ErrNoNode) {
			return nil // it left in between; the children watch will tell
		}
		if r.Err != nil {
			return r.Err
		}
		reg, err := zk.DecodeBroker(ids[i], r.Data)
		if err != nil { // Kafka has no controller then either
			return fmt.Errorf("%s: %w; correct or remove it", zk.BrokerPath(ids[i]), err)
		}
		reg.Epoch = kafka.BrokerEpoch(r.Czxid)
		found[i] = brokerOf(&reg)
		return nil
	})
	for _, f := range found {
		if f != nil {
			b.Brokers = append(b.Brokers, *f)
		}
	}
	sortBrokers(b.Brokers)
	return err
}

func (s *store) readAssignments(ctx context.Context, b *machine.ReadAssignments) error {
	b.Results = make([]machine.TopicRead, len(b.Topics))
	return s.pipe(ctx, len(b.Topics), func(i int) zk.Op {
		path := zk.TopicPath(b.Topics[i])
		s.session.Watch(path)
		return zk.Get(path)
	}, func(i int, r zk.Result) error {
		if errors.Is(r.Err, zk.ErrNoNode) {
			s.session.Unwatch(zk.TopicPath(b.Topics[i]))
			return nil
		}
		if r.Err != nil {
			return r.Err
		}
		t, err := zk.DecodeTopic(r.Data)
		if err != nil { // the watch stays, and tells when it is corrected
			s.unreadable(zk.TopicPath(b.Topics[i]), "the topic is left alone", err)
			return nil
		}
		b.Results[i] = machine.TopicRead{Found: true, ID: t.ID, Partitions: assignmentsOf(t.Partitions)}
		return nil
	})
}

func (s *store) writeAssignments(ctx context.Context, b *machine.WriteAssignments) error {
	fence := zk.NoFence
	if b.Fenced {
		fence = s.fence
	}
	b.Codes = make([]machine.WriteResult, len(b.Writes))
	return s.pipe(ctx, len(b.Writes), func(i int) zk.Op {
		return zk.Set(zk.TopicPath(b.Writes[i].Topic), topicData(&b.Writes[i]), zk.AnyVersion).Fenced(fence)
	}, func(i int, r zk.Result) error {
		b.Codes[i] = outcome(r)
		return nil
	})
}

// createTopics writes configurations, then topics. A topic that exists after a
// lost reply is its own work if it has the same id.
func (s *store) createTopics(ctx context.Context, b *machine.CreateTopics) error {
	b.Codes = make([]machine.WriteResult, len(b.Topics))
	config := func(i int) (string, []byte) {
		return zk.EntityConfigPath(zk.TopicConfigs, b.Topics[i].Topic), zk.EncodeConfig(b.Topics[i].Config)
	}
	err := s.pipe(ctx, len(b.Topics), func(i int) zk.Op { return zk.Create(config(i)) }, func(i int, r zk.Result) error {
		if errors.Is(r.Err, zk.ErrNodeExists) {
			path, data := config(i)
			r = s.session.Do(ctx, zk.Set(path, data, zk.AnyVersion))
		}
		b.Codes[i] = outcome(r)
		return nil
	})
	if err != nil {
		return err
	}
	return s.pipe(ctx, len(b.Topics), func(i int) zk.Op {
		return zk.Create(zk.TopicPath(b.Topics[i].Topic), topicData(&b.Topics[i]))
	}, func(i int, r zk.Result) error {
		if r.Resent && errors.Is(r.Err, zk.ErrNodeExists) {
			g := s.session.Do(ctx, zk.Get(zk.TopicPath(b.Topics[i].Topic)))
			if t, err := zk.DecodeTopic(g.Data); g.Err == nil && err == nil && t.ID == b.Topics[i].ID {
				r.Err = nil
			}
		}
		if b.Codes[i].Code == machine.OK {
			b.Codes[i] = outcome(r)
		}
		return nil
	})
}

func (s *store) readConfigs(ctx context.Context, b *machine.ReadConfigs) error {
	b.Configs = make([]map[string]string, len(b.Topics))
	return s.pipe(ctx, len(b.Topics), func(i int) zk.Op {
		return zk.Get(zk.EntityConfigPath(zk.TopicConfigs, b.Topics[i]))
	}, func(i int, r zk.Result) error {
		if errors.Is(r.Err, zk.ErrNoNode) {
			return nil
		}
		if r.Err != nil {
			return r.Err
		}
		var err error
		if b.Configs[i], err = zk.DecodeConfig(r.Data); err != nil {
			s.unreadable(zk.EntityConfigPath(zk.TopicConfigs, b.Topics[i]), "the defaults hold", err)
		}
		return nil
	})
}

func (s *store) readProducerIDs(ctx context.Context, b *machine.ReadProducerIDs) error {
	r := s.session.Do(ctx, zk.Get(zk.ProducerIDBlockPath))
	if r.Err != nil {
		return fmt.Errorf("read %s: %w", zk.ProducerIDBlockPath, r.Err)
	}
	b.Last, b.Version = -1, r.Version
	if len(r.Data) == 0 {
		return nil
	}
	block, err := zk.DecodeProducerIDBlock(r.Data)
	if err != nil {
		s.unreadable(zk.ProducerIDBlockPath, "no producer ids are given away", err)
	}
	b.Last, b.Broken = block.End, err != nil
	return nil
}

// writeProducerIDs is unfenced in Kafka. A block whose reply was lost is given
// up: ids may have gaps.
func (s *store) writeProducerIDs(ctx context.Context, b *machine.WriteProducerIDs) error {
	data := zk.EncodeProducerIDBlock(zk.ProducerIDBlock{Broker: b.Broker, First: b.First, End: b.End})
	b.Result = outcome(s.session.Do(ctx, zk.Set(zk.ProducerIDBlockPath, data, b.Version)))
	return s.session.Err()
}

func (s *store) readPreferred(ctx context.Context, b *machine.ReadPreferred) error {
	s.session.Watch(zk.PreferredPath)
	e := s.session.Do(ctx, zk.Exists(zk.PreferredPath))
	if e.Err != nil || !e.Exists {
		return e.Err
	}
	r := s.session.Do(ctx, zk.Get(zk.PreferredPath))
	if errors.Is(r.Err, zk.ErrNoNode) {
		return nil
	}
	if r.Err != nil {
		return r.Err
	}
	b.Found = true
	b.Partitions, _ = zk.DecodePartitionSet(r.Data) // what cannot be read is removed, as in Kafka
	return nil
}
