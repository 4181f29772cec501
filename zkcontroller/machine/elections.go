package machine

import (
	"cmp"
	"fmt"
	"slices"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// electLeaders is the ElectLeaders request.
func (m *Machine) electLeaders(f *flow, e ElectLeaders) error {
	tps := slices.Clone(e.Partitions)
	if e.All {
		tps = tps[:0]
		for _, p := range m.ctx.withLeadership() {
			tps = append(tps, p.tp())
		}
	}
	slices.SortFunc(tps, kafka.TopicPartition.Compare)
	var reply ElectLeadersReply
	var ps []*partition
	for _, tp := range slices.Compact(tps) {
		p := m.ctx.partition(tp)
		code, text := m.electable(p, e.Unclean)
		switch {
		case code == kafka.None:
			ps = append(ps, p)
		case code != kafka.ElectionNotNeeded || !e.All:
			reply.Results = append(reply.Results, ElectionResult{tp, code, text})
		}
	}
	m.ctx.sortPartitions(ps)
	fails, err := m.elect(f, ps, electionOf(e.Unclean), e.Unclean)
	if err != nil {
		return err
	}
	for _, p := range ps {
		r := ElectionResult{Partition: p.tp()}
		if why, failed := fails.reasons[p]; failed {
			r.Code, r.Text = kafka.PreferredLeaderNotAvailable, why
			if e.Unclean {
				r.Code = kafka.EligibleLeadersNotAvailable
			}
		}
		reply.Results = append(reply.Results, r)
	}
	slices.SortFunc(reply.Results, func(a, b ElectionResult) int { return a.Partition.Compare(b.Partition) })
	m.reply(e.Call, reply, len(ps) > len(fails.reasons))
	return nil
}

func electionOf(unclean bool) metadata.ElectionStrategy {
	if unclean {
		return metadata.ElectOffline
	}
	return metadata.ElectPreferred
}

// electable says whether an election of the kind is of use for a partition.
func (m *Machine) electable(p *partition, unclean bool) (kafka.ErrorCode, string) {
	switch {
	case p == nil:
		return kafka.UnknownTopicOrPartition, "The partition does not exist."
	case p.topic.queued:
		return kafka.InvalidTopicException, "The topic is being deleted."
	case len(p.replicas) == 0:
		return kafka.InvalidReplicaAssignment, "The partition has no replicas."
	case !unclean && p.ls.Leader == p.replicas[0]:
		return kafka.ElectionNotNeeded, fmt.Sprintf("Leader election not needed for topic partition %v.", p.tp())
	case unclean && p.ls.Leader >= 0 && m.ctx.isLive(p.ls.Leader):
		return kafka.ElectionNotNeeded, fmt.Sprintf("Leader election not needed for topic partition %v.", p.tp())
	}
	return kafka.None, ""
}

// preferredElection obeys /admin/preferred_replica_election and removes it. Then
// it looks again, as Kafka does: that arms the watch for the next one, and takes
// up one that somebody made before the watch was armed.
func (m *Machine) preferredElection(f *flow) error {
	b := &ReadPreferred{}
	if err := f.do(b); err != nil || !b.Found {
		return err
	}
	var ps []*partition
	for _, tp := range b.Partitions {
		p := m.ctx.partition(tp)
		if code, _ := m.electable(p, false); code == kafka.None {
			ps = append(ps, p)
		}
	}
	m.ctx.sortPartitions(ps)
	if _, err := m.elect(f, ps, metadata.ElectPreferred, false); err != nil {
		return err
	}
	if err := f.do(&RemovePreferred{}); err != nil {
		return err
	}
	m.emit(&Queue{Event: PreferredElection{}})
	return nil
}

// rebalance moves leaders back to preferred replicas, on brokers that lead too
// few of the partitions they are preferred for.
func (m *Machine) rebalance(f *flow) error {
	total, away := map[kafka.BrokerID]int{}, map[kafka.BrokerID][]*partition{}
	for _, p := range m.ctx.withLeadership() {
		if p.topic.queued || len(p.replicas) == 0 {
			continue
		}
		first := p.replicas[0]
		total[first]++
		if p.ls.Leader != first && p.moving == nil && m.ctx.isOnline(p, first) && slices.Contains(p.ls.ISR, first) {
			away[first] = append(away[first], p)
		}
	}
	var ps []*partition
	for id, list := range away {
		if m.ctx.isLive(id) && len(list)*100 > total[id]*m.cfg.ImbalancePercent {
			ps = append(ps, list...)
		}
	}
	m.ctx.sortPartitions(ps)
	_, err := m.elect(f, ps, metadata.ElectPreferred, false)
	return err
}

// allocateProducerIDs gives away the next block of producer ids (KIP-730).
func (m *Machine) allocateProducerIDs(f *flow, e AllocateProducerIDs) error {
	b := m.ctx.broker(e.Broker)
	switch {
	case b == nil:
		m.reply(e.Call, AllocateProducerIDsReply{Code: kafka.BrokerIDNotRegistered}, false)
		return nil
	case b.Epoch != e.Epoch:
		m.reply(e.Call, AllocateProducerIDsReply{Code: kafka.StaleBrokerEpoch}, false)
		return nil
	}
	for range maxWriteTries {
		r := &ReadProducerIDs{}
		if err := f.do(r); err != nil {
			return err
		}
		if r.Broken { // any block could have been given away before
			break
		}
		w := &WriteProducerIDs{Broker: e.Broker, First: r.Last + 1, End: r.Last + producerBlock, Version: r.Version}
		if err := f.do(w); err != nil {
			return err
		}
		switch w.Result.Code {
		case OK:
			m.reply(e.Call, AllocateProducerIDsReply{First: w.First, Count: producerBlock}, false)
			return nil
		case BadVersion: // read again
		default:
			m.note("producer ids for broker %d: %s", e.Broker, w.Result)
			m.reply(e.Call, AllocateProducerIDsReply{Code: kafka.UnknownServerError}, false)
			return nil
		}
	}
	m.reply(e.Call, AllocateProducerIDsReply{Code: kafka.UnknownServerError}, false)
	return nil
}

// producerBlock is how many producer ids a block holds.
const producerBlock = 1000

// collisionKey gives the form in which a topic's name must be unique, or ""
// for a name that cannot collide: metrics cannot tell "." from "_".
func collisionKey(name string) string {
	for i := range len(name) {
		if name[i] == '.' || name[i] == '_' {
			return metadata.CollisionKey(name)
		}
	}
	return ""
}

// brokersForPlacement gives the live brokers that may host replicas.
func (m *Machine) brokersForPlacement() []metadata.PlacementBroker {
	var out []metadata.PlacementBroker
	for _, b := range m.ctx.registered() {
		if m.ctx.isLive(b.ID) && !slices.Contains(m.cfg.Dedicated, b.ID) {
			out = append(out, metadata.PlacementBroker{ID: b.ID, Rack: b.Rack})
		}
	}
	slices.SortFunc(out, func(a, b metadata.PlacementBroker) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
