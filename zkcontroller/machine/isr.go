package machine

import (
	"slices"

	"kbench/kafka"
)

// alterPartition writes ISRs that leaders ask for (KIP-497). Leader epochs do
// not move.
func (m *Machine) alterPartition(f *flow, e AlterPartition) error {
	b := m.ctx.broker(e.Broker)
	if b == nil || b.Epoch != e.Epoch {
		m.reply(e.Call, AlterPartitionReply{Code: kafka.StaleBrokerEpoch}, false)
		return nil
	}
	reply := AlterPartitionReply{Results: make([]ISRResult, len(e.Changes))}
	var w WriteStates
	var chosen, behind []*partition
	var at []int
	for i := range e.Changes {
		p, next, code := m.judgeISR(&e, &e.Changes[i])
		reply.Results[i].Code = code
		switch {
		case code == kafka.InvalidRequest && e.Broker == p.ls.Leader && len(minus(next.ISR, p.replicas)) > 0:
			behind = append(behind, p)
		case code != kafka.None:
		case sameISR(p.ls, next):
			reply.Results[i].State = p.ls // asked again after a lost answer (KAFKA-14144)
		default:
			chosen, at = append(chosen, p), append(at, i)
			w.Writes = append(w.Writes, StateWrite{p.tp(), next})
		}
	}
	if len(chosen) > 0 {
		if err := f.do(&w); err != nil {
			return err
		}
	}
	var written []*partition
	for k, p := range chosen {
		res := &reply.Results[at[k]]
		switch r := w.Results[k]; r.Code {
		case OK:
			p.ls = w.Writes[k].State
			p.ls.Version = r.Version
			res.State = p.ls
			written = append(written, p)
		case BadVersion:
			res.Code = kafka.InvalidUpdateVersion
		default:
			res.Code = kafka.UnknownServerError
		}
	}
	m.reply(e.Call, reply, false)
	m.ctx.sortPartitions(written)
	if len(written) > 0 {
		m.sendMetadata(m.ctx.registered(), slices.Compact(written))
	}
	if err := m.completeReassignments(f, written); err != nil {
		return err
	}
	// A leader that does not know its replicas missed the end of a reassignment
	// with a former controller. It learns them by a new leader epoch only.
	m.ctx.sortPartitions(behind)
	return m.bumpEpochs(f, slices.Compact(behind), func(r *requests, p *partition) { r.leaderAndISR(p, p.replicas, false) })
}

// judgeISR checks one change and gives the state it would write.
func (m *Machine) judgeISR(e *AlterPartition, c *ISRChange) (*partition, LeaderISR, kafka.ErrorCode) {
	p, code := m.partitionOf(c)
	if p == nil {
		return nil, LeaderISR{}, code
	}
	next := p.ls
	next.ControllerEpoch, next.Recovery = m.epoch, c.Recovery
	next.ISR = make([]kafka.BrokerID, len(c.ISR))
	for i, r := range c.ISR {
		next.ISR[i] = r.ID
	}
	switch {
	case c.PartitionEpoch > p.ls.Version || c.LeaderEpoch > p.ls.LeaderEpoch:
		return p, next, kafka.NotController // it knows more than this controller (KAFKA-14154)
	case c.LeaderEpoch < p.ls.LeaderEpoch:
		return p, next, kafka.FencedLeaderEpoch
	case sameISR(p.ls, next):
		return p, next, kafka.None
	case c.PartitionEpoch < p.ls.Version:
		return p, next, kafka.InvalidUpdateVersion
	case e.Broker != p.ls.Leader, len(next.ISR) == 0, !slices.Contains(next.ISR, p.ls.Leader):
		return p, next, kafka.InvalidRequest
	case c.Recovery == kafka.Recovering && (len(next.ISR) > 1 || p.ls.Recovery == kafka.Recovered):
		return p, next, kafka.InvalidRequest
	}
	for i, r := range c.ISR {
		if !slices.Contains(p.replicas, r.ID) || slices.Contains(next.ISR[:i], r.ID) {
			return p, next, kafka.InvalidRequest
		}
		if !m.eligible(p, r) {
			if e.Version >= 2 {
				return p, next, kafka.IneligibleReplica
			}
			return p, next, kafka.OperationNotAttempted
		}
	}
	return p, next, kafka.None
}

// eligible reports whether a broker may be in an ISR: live, and the same
// incarnation that the leader means.
func (m *Machine) eligible(p *partition, r ISRMember) bool {
	return m.ctx.isOnline(p, r.ID) && (r.Epoch == kafka.NoBrokerEpoch || r.Epoch == m.ctx.broker(r.ID).Epoch)
}

func (m *Machine) partitionOf(c *ISRChange) (*partition, kafka.ErrorCode) {
	name, code := c.Topic, kafka.UnknownTopicOrPartition
	if name == "" {
		code = kafka.UnknownTopicID
		if t := m.ctx.byID[c.TopicID]; t != nil {
			name, code = t.name, kafka.UnknownTopicOrPartition
		}
	}
	p := m.ctx.partition(kafka.TopicPartition{Topic: name, Partition: c.Partition})
	if p == nil || !p.known || p.topic.deleting {
		return nil, code
	}
	return p, kafka.None
}

// sameISR compares what a leader may change, whatever the order of the ISR.
func sameISR(a, b LeaderISR) bool {
	if a.Leader != b.Leader || a.Recovery != b.Recovery || len(a.ISR) != len(b.ISR) {
		return false
	}
	for _, id := range a.ISR {
		if !slices.Contains(b.ISR, id) {
			return false
		}
	}
	return true
}
