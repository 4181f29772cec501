package machine

import (
	"maps"
	"slices"

	"kbench/kafka"
)

// requests gathers what one transition has to tell the brokers and sends it as
// one LeaderAndIsr, one UpdateMetadata and one StopReplica for each broker, in
// that order (Kafka's AbstractControllerBrokerRequestBatch).
type requests struct {
	m       *Machine
	stamp   uint32
	entries []entry
	stops   map[kafka.BrokerID][]stop
	fresh   map[*partition][]kafka.BrokerID // brokers for which alone a partition is new; nil for none
	inform  bool                            // send UpdateMetadata to all even if there are no partitions
}

// entry is one partition of the batch.
type entry struct {
	p     *partition
	isNew bool
	to    []kafka.BrokerID // of the LeaderAndIsr; empty for UpdateMetadata only
}

type stop struct {
	p      *partition
	delete bool
}

func (m *Machine) newRequests() *requests {
	m.stamp++
	return &requests{m: m, stamp: m.stamp, stops: map[kafka.BrokerID][]stop{}}
}

// entry gives the batch's entry of p, adding it. The pointer is good until the
// next call.
func (r *requests) entry(p *partition) *entry {
	if p.stamp != r.stamp {
		p.stamp, p.entry = r.stamp, int32(len(r.entries))
		r.entries = append(r.entries, entry{p: p})
	}
	return &r.entries[p.entry]
}

// leaderAndISR tells brokers the state of p, and every broker its metadata.
func (r *requests) leaderAndISR(p *partition, to []kafka.BrokerID, isNew bool) {
	e := r.entry(p)
	e.isNew = e.isNew || isNew
	if len(e.to) == 0 {
		e.to = to
		return
	}
	merged := slices.Clone(e.to)
	for _, id := range to {
		if !slices.Contains(merged, id) {
			merged = append(merged, id)
		}
	}
	e.to = merged
}

// expand tells brokers of a reassignment of p; to those in fresh it is a new
// replica, which may go to any directory that works.
func (r *requests) expand(p *partition, to, fresh []kafka.BrokerID) {
	r.leaderAndISR(p, to, false)
	if len(fresh) > 0 {
		r.leaderAndISR(p, fresh, false)
		if r.fresh == nil {
			r.fresh = map[*partition][]kafka.BrokerID{}
		}
		r.fresh[p] = fresh
	}
}

// metadata tells every broker the metadata of p.
func (r *requests) metadata(p *partition) { r.entry(p) }

// stopReplica tells a broker to stop or delete its replica of p.
func (r *requests) stopReplica(id kafka.BrokerID, p *partition, del bool) {
	r.stops[id] = append(r.stops[id], stop{p, del})
}

// send turns the batch into effects.
func (r *requests) send() {
	c := r.m.ctx
	c.allTopics()
	slices.SortFunc(r.entries, func(a, b entry) int { return comparePartitions(a.p, b.p) })
	r.sendLeaderAndISR()
	if len(r.entries) > 0 || r.inform {
		ps := make([]*partition, len(r.entries))
		for i := range r.entries {
			ps[i] = r.entries[i].p
		}
		r.m.sendMetadata(c.registered(), ps)
	}
	r.sendStops()
}

func (r *requests) sendLeaderAndISR() {
	perBroker := map[kafka.BrokerID][]LeaderAndISRPartition{}
	for i := range r.entries {
		e := &r.entries[i]
		for _, id := range e.to {
			if r.m.ctx.broker(id) == nil {
				continue
			}
			perBroker[id] = append(perBroker[id], LeaderAndISRPartition{
				Topic: e.p.topic.name, TopicID: e.p.topic.id, Partition: e.p.index,
				State: e.p.ls, Assignment: e.p.assignment(), IsNew: e.isNew || slices.Contains(r.fresh[e.p], id),
			})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(perBroker)) {
		b := r.m.ctx.broker(id)
		for part := range r.m.split(len(perBroker[id])) {
			ps := perBroker[id][part[0]:part[1]]
			r.m.emit(&LeaderAndISR{Broker: id, BrokerEpoch: b.Epoch, Partitions: ps, Leaders: r.m.leadersOf(ps)})
		}
	}
}

// split gives the ranges of n partitions that go into one request each: all at
// once, or one at a time.
func (m *Machine) split(n int) func(yield func([2]int) bool) { return ranges(n, m.cfg.PerPartition) }

// turns gives the ranges of n partitions that an event moves together: all at
// once, or one at a time.
func (m *Machine) turns(n int) func(yield func([2]int) bool) { return ranges(n, m.cfg.OneByOne) }

func ranges(n int, single bool) func(yield func([2]int) bool) {
	step := n
	if single {
		step = 1
	}
	return func(yield func([2]int) bool) {
		for i := 0; i < n; i += step {
			if !yield([2]int{i, min(i+step, n)}) {
				return
			}
		}
	}
}

// leadersOf gives the registered brokers that lead one of ps.
func (m *Machine) leadersOf(ps []LeaderAndISRPartition) []*Broker {
	seen := map[kafka.BrokerID]struct{}{}
	for i := range ps {
		seen[ps[i].State.Leader] = struct{}{}
	}
	var out []*Broker
	for _, b := range m.ctx.registered() {
		if _, ok := seen[b.ID]; ok {
			out = append(out, b)
		}
	}
	return out
}

// sendMetadata sends the metadata of partitions, which are in order, and the
// list of live brokers. Partitions without a leadership are left out, unless
// their topic is to be deleted: their states may be gone already by a former
// controller's work, and a broker may not have heard of that one's deletion.
func (m *Machine) sendMetadata(to []*Broker, ps []*partition) {
	if len(to) == 0 {
		return
	}
	if len(ps) == 0 && m.cfg.FullMetadata {
		ps = m.ctx.withLeadership()
	}
	mps := make([]MetadataPartition, 0, len(ps))
	for _, p := range ps {
		if !p.known && !p.topic.queued {
			continue
		}
		mp := MetadataPartition{
			Topic: p.topic.name, TopicID: p.topic.id, Partition: p.index,
			State: p.ls, Replicas: p.replicas, Offline: m.ctx.offlineReplicas(p),
		}
		if p.topic.queued {
			mp.State.Leader, mp.State.LeaderEpoch = LeaderDuringDelete, EpochDuringDelete
		}
		mps = append(mps, mp)
	}
	live := m.ctx.registered()
	for _, b := range to {
		if len(mps) == 0 {
			m.emit(&UpdateMetadata{Broker: b.ID, BrokerEpoch: b.Epoch, Live: live})
		}
		for part := range m.split(len(mps)) {
			m.emit(&UpdateMetadata{Broker: b.ID, BrokerEpoch: b.Epoch, Partitions: mps[part[0]:part[1]], Live: live})
		}
	}
}

func (r *requests) sendStops() {
	c := r.m.ctx
	for _, id := range slices.Sorted(maps.Keys(r.stops)) {
		b := c.broker(id)
		if b == nil {
			continue
		}
		stops := r.stops[id]
		slices.SortStableFunc(stops, func(a, b stop) int { return comparePartitions(a.p, b.p) })
		ps := make([]StopReplicaPartition, 0, len(stops))
		for i, s := range stops {
			del := s.delete
			if n := len(ps); i > 0 && stops[i-1].p == s.p {
				ps[n-1].Delete = ps[n-1].Delete || del
				continue
			}
			epoch := kafka.NoEpoch
			switch {
			case s.p.topic.queued:
				epoch = EpochDuringDelete
			case s.p.known:
				epoch = s.p.ls.LeaderEpoch
			}
			ps = append(ps, StopReplicaPartition{Topic: s.p.topic.name, Partition: s.p.index, LeaderEpoch: epoch, Delete: del})
		}
		for part := range r.m.split(len(ps)) {
			r.m.emit(&StopReplica{Broker: id, BrokerEpoch: b.Epoch, Partitions: ps[part[0]:part[1]]})
		}
	}
}
