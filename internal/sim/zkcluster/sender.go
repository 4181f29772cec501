package zkcluster

import (
	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// request is one element of the queue to a broker.
type request struct {
	e    machine.Effect
	mark func() // instead of a request: called when all before it is answered
	n    int    // number in its queue
}

// sender is the queue of requests to one broker: in order, one in flight, each
// tried until it is answered or the broker removed.
type sender struct {
	c       *candidate
	to      kafka.BrokerID
	epoch   kafka.ControllerEpoch
	queue   []request
	busy    bool
	gone    bool
	sent    int
	attempt int
	track   *delivery
}

func (c *candidate) addSender(b *machine.Broker) {
	if c.senders[b.ID] == nil {
		c.senders[b.ID] = &sender{c: c, to: b.ID, epoch: c.m.Epoch(), track: &delivery{}}
	}
}

func (c *candidate) removeSender(id kafka.BrokerID) {
	s := c.senders[id]
	if s == nil {
		return
	}
	delete(c.senders, id)
	s.gone = true
	for _, r := range s.queue {
		if r.mark != nil {
			r.mark()
		}
	}
}

func (c *candidate) send(id kafka.BrokerID, e machine.Effect) {
	if s := c.senders[id]; s != nil {
		s.put(request{e: e})
	}
}

func (s *sender) put(r request) {
	if r.mark == nil {
		s.sent++
		r.n = s.sent
	}
	s.queue = append(s.queue, r)
	s.pump()
}

func (s *sender) pump() {
	for !s.busy && !s.gone && len(s.queue) > 0 {
		if r := s.queue[0]; r.mark != nil {
			s.queue = s.queue[1:]
			r.mark()
			continue
		}
		s.busy = true
		s.transmit()
	}
}

// transmit sends the head of the queue over the network. Without an answer in
// time it does so again, over another connection.
func (s *sender) transmit() {
	w, r := s.c.w, s.queue[0]
	from, to := s.c.h, w.hosts[s.to]
	s.attempt++
	attempt := s.attempt
	again := func() {
		if !s.gone && s.attempt == attempt {
			s.transmit()
		}
	}
	if !to.up || w.severed(from, to) || w.lost() {
		w.cov.RequestsLost++
		from.after(w.p.retry, again)
		return
	}
	from.after(w.p.requestTimeout, again)
	boot := to.boot
	w.after(w.delay(w.p.netDelay), func() {
		if to.boot != boot || s.gone && from.up && s.c.elected && s.c.epoch == s.epoch {
			return // the process is gone, or the controller closed the connection
		}
		to.deliver(func() {
			if to.broker.epoch == kafka.NoBrokerEpoch {
				return // it takes no requests before it is registered
			}
			answer := to.broker.receive(s, r)
			if w.severed(from, to) || w.lost() {
				w.cov.AnswersLost++
				return
			}
			from.after(w.delay(w.p.netDelay), func() {
				if s.attempt == attempt {
					s.attempt++
					s.answered(r, answer)
				}
			})
		})
	})
}

func (s *sender) answered(r request, a answer) {
	if s.gone {
		return
	}
	s.queue = s.queue[1:]
	s.busy = false
	if e, ok := r.e.(*machine.StopReplica); ok {
		done := machine.StopReplicaDone{Broker: s.to, Epoch: e.BrokerEpoch, Controller: s.epoch}
		for i, p := range e.Partitions {
			tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
			switch {
			case !p.Delete:
			case a.code != kafka.None || a.codes[i] != kafka.None:
				done.Failed = append(done.Failed, tp)
			default:
				done.Deleted = append(done.Deleted, tp)
			}
		}
		if len(done.Deleted)+len(done.Failed) > 0 {
			s.c.post(done)
		}
	}
	s.pump()
}
