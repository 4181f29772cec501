package zkcontroller

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

func (s *store) readStates(ctx context.Context, b *machine.ReadStates) error {
	b.Results = make([]machine.StateRead, len(b.Partitions))
	path := func(i int) string { return statePath(b.Partitions[i]) }
	return s.readMany(ctx, len(b.Partitions), path, func(i int, r zk.Result) error {
		if errors.Is(r.Err, zk.ErrNoNode) {
			return nil
		}
		if r.Err != nil {
			return r.Err
		}
		st, err := zk.DecodeState(r.Data)
		if err != nil { // nothing is known of it, and nothing is written over it
			s.unreadable(statePath(b.Partitions[i]), "the partition has no leader that is known", err)
			return nil
		}
		b.Results[i] = machine.StateRead{Found: true, State: machine.LeaderISR{
			Leader: st.Leader, LeaderEpoch: st.LeaderEpoch, ControllerEpoch: st.ControllerEpoch,
			Version: kafka.PartitionEpoch(r.Version), Recovery: st.Recovery, ISR: st.ISR,
		}}
		return nil
	})
}

// readMany reads n znodes, one in a request or perMulti of them, and gives the
// first error that done returns.
func (s *store) readMany(ctx context.Context, n int, path func(i int) string, done func(i int, r zk.Result) error) error {
	var first firstError
	err := s.session.ReadMany(ctx, n, s.perMulti, path, func(i int, r zk.Result) { first.set(done(i, r)) })
	if err != nil {
		return err
	}
	return first.get()
}

func statePath(tp kafka.TopicPartition) string { return zk.StatePath(tp.Topic, tp.Partition) }

func stateData(s *machine.LeaderISR) []byte {
	return zk.EncodeState(zk.PartitionState{
		Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, ControllerEpoch: s.ControllerEpoch, ISR: s.ISR, Recovery: s.Recovery,
	})
}

func (s *store) writeStates(ctx context.Context, b *machine.WriteStates) error {
	b.Results = make([]machine.WriteResult, len(b.Writes))
	return s.merge(ctx, len(b.Writes), func(i int) []zk.Op {
		w := &b.Writes[i]
		return []zk.Op{zk.Set(statePath(w.Partition), stateData(&w.State), int32(w.State.Version)).Fenced(s.fence)}
	}, func(i int, r zk.Result) error {
		if r.Resent && errors.Is(r.Err, zk.ErrBadVersion) {
			r = s.lostWrite(ctx, &b.Writes[i], int32(b.Writes[i].State.Version)+1, r)
		}
		b.Results[i] = outcome(r)
		return nil
	})
}

// lostWrite finds out whether a write whose reply was lost has taken effect:
// then the znode has what it wrote, in the version it led to.
func (s *store) lostWrite(ctx context.Context, w *machine.StateWrite, version int32, r zk.Result) zk.Result {
	g := s.session.Do(ctx, zk.Get(statePath(w.Partition)))
	if g.Err == nil && g.Version == version && bytes.Equal(g.Data, stateData(&w.State)) {
		return g
	}
	return r
}

// createStates writes the three levels of new partitions one after the other,
// or, where a multi writes several states, the two of a partition at once.
func (s *store) createStates(ctx context.Context, b *machine.CreateStates) error {
	b.Results = make([]machine.WriteResult, len(b.Writes))
	var topics []string
	seen := map[string]struct{}{}
	for i := range b.Writes {
		t := b.Writes[i].Partition.Topic
		if _, ok := seen[t]; !ok {
			seen[t] = struct{}{}
			topics = append(topics, t)
		}
	}
	err := s.createParents(ctx, len(topics), func(i int) string { return zk.PartitionsPath(topics[i]) })
	if err != nil {
		return err
	}
	parent := func(i int) string {
		return zk.PartitionPath(b.Writes[i].Partition.Topic, b.Writes[i].Partition.Partition)
	}
	merged := s.perMulti > 1
	if !merged {
		if err := s.createParents(ctx, len(b.Writes), parent); err != nil {
			return err
		}
	}
	return s.merge(ctx, len(b.Writes), func(i int) []zk.Op {
		w := &b.Writes[i]
		state := zk.Create(statePath(w.Partition), stateData(&w.State)).Fenced(s.fence)
		if !merged {
			return []zk.Op{state}
		}
		return []zk.Op{zk.Create(parent(i), nil).Fenced(s.fence), state}
	}, func(i int, r zk.Result) error {
		if r.Resent && errors.Is(r.Err, zk.ErrNodeExists) {
			r = s.lostWrite(ctx, &b.Writes[i], 0, r)
		}
		b.Results[i] = outcome(r)
		return nil
	})
}

// createParents creates empty nodes. That one exists is fine; what else goes
// wrong shows in the creation of the state below it.
func (s *store) createParents(ctx context.Context, n int, path func(i int) string) error {
	return s.pipe(ctx, n, func(i int) zk.Op { return zk.Create(path(i), nil).Fenced(s.fence) }, func(int, zk.Result) error { return nil })
}

// merge runs the writes of n states, one in a request or perMulti of them, and
// gives the first error that done returns. The last of an item's operations is
// the one that counts.
func (s *store) merge(ctx context.Context, n int, ops func(i int) []zk.Op, done func(i int, r zk.Result) error) error {
	var first firstError
	err := s.session.Merge(ctx, n, s.perMulti, ops, func(i int, r zk.Result) { first.set(done(i, r)) })
	if err != nil {
		return err
	}
	return first.get()
}

// remove deletes znodes, fenced; that one is missing is fine.
func (s *store) remove(ctx context.Context, n int, path func(i int) string) error {
	return s.pipe(ctx, n, func(i int) zk.Op { return zk.Delete(path(i), zk.AnyVersion).Fenced(s.fence) }, func(i int, r zk.Result) error {
		if r.Err == nil || errors.Is(r.Err, zk.ErrNoNode) {
			return nil
		}
		return fmt.Errorf("delete %s: %w", path(i), r.Err)
	})
}

// removeTopics deletes level by level, the request for the deletion last, so
// that a controller that takes over goes on with it. The configuration goes
// before the topic, by which that controller finds it; Kafka removes it after,
// and may leave it behind.
func (s *store) removeTopics(ctx context.Context, b *machine.RemoveTopics) error {
	for _, t := range b.Topics {
		s.session.Unwatch(zk.TopicPath(t))
	}
	numbers := make([][]string, len(b.Topics))
	err := s.pipe(ctx, len(b.Topics), func(i int) zk.Op { return zk.Children(zk.PartitionsPath(b.Topics[i])) }, func(i int, r zk.Result) error {
		if errors.Is(r.Err, zk.ErrNoNode) {
			return nil
		}
		numbers[i] = r.Children
		return r.Err
	})
	if err != nil {
		return err
	}
	var nodes []string
	for i, t := range b.Topics {
		for _, n := range numbers[i] {
			nodes = append(nodes, zk.PartitionsPath(t)+"/"+n)
		}
	}
	for _, level := range []struct {
		n    int
		path func(i int) string
	}{
		{len(nodes), func(i int) string { return nodes[i] + "/state" }},
		{len(nodes), func(i int) string { return nodes[i] }},
		{len(b.Topics), func(i int) string { return zk.PartitionsPath(b.Topics[i]) }},
		{len(b.Topics), func(i int) string { return zk.EntityConfigPath(zk.TopicConfigs, b.Topics[i]) }},
		{len(b.Topics), func(i int) string { return zk.TopicPath(b.Topics[i]) }},
		{len(b.Topics), func(i int) string { return zk.DeleteTopicPath(b.Topics[i]) }},
	} {
		if err := s.remove(ctx, level.n, level.path); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) createDeletions(ctx context.Context, b *machine.CreateDeletions) error {
	b.Codes = make([]machine.WriteResult, len(b.Topics))
	return s.pipe(ctx, len(b.Topics), func(i int) zk.Op { return zk.Create(zk.DeleteTopicPath(b.Topics[i]), nil) }, func(i int, r zk.Result) error {
		b.Codes[i] = outcome(r)
		return nil
	})
}

func (s *store) clearNotes(ctx context.Context, b *machine.ClearNotes) error {
	path := notesPath(b.Queue)
	s.session.WatchChildren(path)
	names, err := s.children(ctx, path)
	if err != nil {
		return err
	}
	return s.remove(ctx, len(names), func(i int) string { return path + "/" + names[i] })
}

// firstError keeps the first error that several goroutines have.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) set(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func brokerOf(r *zk.BrokerRegistration) *machine.Broker {
	b := &machine.Broker{ID: r.ID, Epoch: r.Epoch, Endpoints: r.Endpoints, Protocols: r.Protocols, Rack: r.Rack}
	if len(r.Features) > 0 {
		b.Features = make(map[string][2]int16, len(r.Features))
		for name, v := range r.Features {
			b.Features[name] = [2]int16{v.Min, v.Max}
		}
	}
	return b
}

func sortBrokers(bs []machine.Broker) {
	slices.SortFunc(bs, func(a, b machine.Broker) int { return cmp.Compare(a.ID, b.ID) })
}

func assignmentsOf(m map[int32]zk.Assignment) map[int32]machine.Assignment {
	out := make(map[int32]machine.Assignment, len(m))
	for p, a := range m {
		out[p] = machine.Assignment(a)
	}
	return out
}

func topicData(w *machine.TopicWrite) []byte {
	t := zk.TopicAssignment{ID: w.ID, Partitions: make(map[int32]zk.Assignment, len(w.Partitions))}
	for p, a := range w.Partitions {
		t.Partitions[p] = zk.Assignment(a)
	}
	return zk.EncodeTopic(t)
}
