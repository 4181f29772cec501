package sim

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/machine"
)

// arrives takes note of a request before it is decided, and gives the broker
// that must be granted its shutdown by it, NoLeader for none.
func (j *judge) arrives(c *controller, in machine.Input) kafka.BrokerID {
	req, ok := in.(machine.Request)
	if active, _ := c.m.Active(); !ok || !active {
		return kafka.NoLeader
	}
	c.late[req.ID] = c.lateness(req.Body)
	switch r := req.Body.(type) {
	case *kmsg.BrokerHeartbeatRequest:
		key := registration{kafka.BrokerID(r.BrokerID), kafka.BrokerEpoch(r.BrokerEpoch)}
		j.ledger.reported[key] = max(j.ledger.reported[key], kafka.Offset(r.CurrentMetadataOffset))
		if b, ok := c.m.Working().Broker(key.broker); ok && b.Epoch == key.epoch {
			c.heard[key.broker] = c.n.clock()
			c.reports[key.broker] = kafka.Offset(r.CurrentMetadataOffset)
			j.ledger.fenced[key] = b.Fenced
			if r.WantShutdown && len(r.OfflineLogDirs) == 0 && c.mayLeave(b) {
				return b.ID
			}
		}
	case *kmsg.BrokerRegistrationRequest:
		c.silent(kafka.BrokerID(r.BrokerID))
	}
	return kafka.NoLeader
}

// mayLeave reports whether all that a shutdown which this controller began waits
// for has come.
func (c *controller) mayLeave(b *metadata.Broker) bool {
	image := c.m.Working()
	end, ok := c.began[registration{b.ID, b.Epoch}]
	if !ok || !b.InControlledShutdown || b.Fenced || image.LeaderCount(b.ID) > 0 {
		return false
	}
	for o := range image.Brokers() {
		if seen, ok := c.reports[o.ID]; o.Active() && (!ok || seen < end) {
			return false
		}
	}
	return true
}

// silent forgets when a broker was heard of: a registration may count as a sign
// of life or not.
func (c *controller) silent(id kafka.BrokerID) { delete(c.heard, id) }

// decided looks at what an input came to.
func (j *judge) decided(c *controller, in machine.Input, fx machine.Effects, leaver kafka.BrokerID) {
	if req, ok := in.(machine.Request); ok {
		j.decidedLate(c, c.late[req.ID])
	}
	if b, ok := c.m.Working().Broker(leaver); ok && !b.Fenced {
		j.fail("C11", c.n.id, "broker %d waits on although it leads nothing and all active brokers have seen its shutdown, at %d: %v", leaver, c.began[registration{b.ID, b.Epoch}], c.reports)
	}
	j.asked(c, in, fx)
	for _, e := range fx.Events {
		switch e.Kind {
		case machine.BrokerFenced:
			j.w.cov.Fenced++
			at, ok := c.heard[e.Broker]
			_, tick := in.(machine.Tick)
			if tick && ok && c.n.clock()-at < j.w.p.session {
				j.fail("K14", c.n.id, "broker %d is fenced %v after a heartbeat, its session is %v", e.Broker, c.n.clock()-at, j.w.p.session)
			}
			if b, ok := c.m.Working().Broker(e.Broker); tick && ok && c.owes(b) {
				j.fail("K14", c.n.id, "broker %d is fenced while it waits for an answer", e.Broker)
			}
		case machine.ShutdownBegun:
			if b, ok := c.m.Working().Broker(e.Broker); ok {
				c.began[registration{b.ID, b.Epoch}] = c.m.Applied()
			}
		case machine.BrokerUnfenced:
			j.w.cov.Unfenced++
		}
	}
}

// answers looks at an answer before it leaves.
func (j *judge) answers(c *controller, id uint64, body kmsg.Request, resp kmsg.Response) {
	j.answersLate(c, c.late[id], resp)
	delete(c.late, id)
	l, image := j.ledger, c.m.Image()
	lost := func(format string, a ...any) { j.fail("K15", c.n.id, format, a...) }
	switch r := resp.(type) {
	case *kmsg.BrokerHeartbeatResponse:
		req := body.(*kmsg.BrokerHeartbeatRequest)
		if b, ok := c.m.Working().Broker(kafka.BrokerID(req.BrokerID)); ok && int64(b.Epoch) == req.BrokerEpoch {
			if _, ok := c.heard[b.ID]; ok {
				c.heard[b.ID] = c.n.clock() // its next comes after this answer
			}
		}
		if r.ErrorCode == 0 && r.ShouldShutdown {
			j.grants(c, req)
		}
	case *kmsg.BrokerRegistrationResponse:
		key := registration{kafka.BrokerID(body.(*kmsg.BrokerRegistrationRequest).BrokerID), kafka.BrokerEpoch(r.BrokerEpoch)}
		if r.ErrorCode == 0 && !l.registered[key] {
			lost("broker %d is told that it is registered with epoch %d, which is not committed", key.broker, key.epoch)
		}
	case *kmsg.CreateTopicsResponse:
		for _, t := range r.Topics {
			if t.ErrorCode != 0 {
				continue
			}
			j.w.cov.Topics++
			if l.rules.Named(t.TopicID) != t.Topic {
				lost("topic %s is told to be created and is not committed", t.Topic)
			}
		}
	case *kmsg.DeleteTopicsResponse:
		for _, t := range r.Topics {
			if _, ok := image.TopicByID(t.TopicID); t.ErrorCode == 0 && ok {
				lost("topic %s is told to be deleted and is there", *t.Topic)
			}
		}
	case *kmsg.AllocateProducerIDsResponse:
		if r.ErrorCode != 0 {
			return
		}
		if l.blocks[r.ProducerIDStart] {
			j.fail("C10", c.n.id, "producer ids from %d are given twice", r.ProducerIDStart)
		}
		l.blocks[r.ProducerIDStart] = true
		if end := r.ProducerIDStart + int64(r.ProducerIDLen); end > image.NextProducerID() {
			lost("producer ids up to %d are given, %d is committed", end, image.NextProducerID())
		}
	case *kmsg.AlterPartitionResponse:
		j.altered(c, r)
	default:
		j.operated(c, body, resp)
	}
}

func (j *judge) altered(c *controller, r *kmsg.AlterPartitionResponse) {
	if r.ErrorCode != 0 {
		return
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				continue
			}
			j.w.cov.ISRChanges++
			s, ok := j.ledger.states[stateKey{t.TopidID, p.Partition, kafka.PartitionEpoch(p.PartitionEpoch)}]
			same := ok && int32(s.Leader) == p.LeaderID && len(s.ISR) == len(p.ISR)
			for i := 0; same && i < len(p.ISR); i++ {
				same = int32(s.ISR[i]) == p.ISR[i]
			}
			if !same {
				j.fail("C7", c.n.id, "partition %d of %v is told to have leader %d and ISR %v in partition epoch %d; the log has %v", p.Partition, t.TopidID, p.LeaderID, p.ISR, p.PartitionEpoch, s)
			}
		}
	}
}

// grants looks at the leave to shut down.
func (j *judge) grants(c *controller, r *kmsg.BrokerHeartbeatRequest) {
	l, image := j.ledger, c.m.Image()
	key := registration{kafka.BrokerID(r.BrokerID), kafka.BrokerEpoch(r.BrokerEpoch)}
	b, ok := image.Broker(key.broker)
	if !ok || b.Epoch != key.epoch {
		return // another has taken its place meanwhile
	}
	if n := image.LeaderCount(b.ID); n > 0 {
		j.fail("C11", c.n.id, "broker %d may shut down and leads %d partitions", b.ID, n)
		return
	}
	s, ok := l.shutdowns[key]
	if !ok || r.WantFence || l.fenced[key] {
		return // it led nothing, or was fenced when it asked
	}
	for _, o := range s.active {
		if now, ok := image.Broker(o.broker); ok && now.Active() && now.Epoch == o.epoch && l.reported[o] < s.at {
			j.fail("C11", c.n.id, "broker %d may shut down before broker %d has seen offset %d: it said %d", b.ID, o.broker, s.at, l.reported[o])
		}
	}
}

// overdue looks for brokers that an active controller should have fenced.
func (j *judge) overdue(c *controller) {
	if c == nil {
		return
	}
	if active, _ := c.m.Active(); !active {
		return
	}
	for b := range c.m.Working().Brokers() {
		if at, ok := c.heard[b.ID]; ok && !b.Fenced && c.n.clock()-at > j.w.p.session+time.Millisecond && !c.owes(b) {
			j.fail("K14", c.n.id, "broker %d is not fenced %v after its last heartbeat, its session is %v", b.ID, c.n.clock()-at, j.w.p.session)
		}
	}
}

// owes reports whether a heartbeat of b waits for its answer.
func (c *controller) owes(b *metadata.Broker) bool {
	for _, a := range c.askers {
		if r, ok := a.body.(*kmsg.BrokerHeartbeatRequest); ok && kafka.BrokerID(r.BrokerID) == b.ID && kafka.BrokerEpoch(r.BrokerEpoch) == b.Epoch {
			return true
		}
	}
	return false
}
