package replica

import (
	"kbench/kafka"
)

// Member is one broker of a proposed ISR with the broker epoch at which the
// leader knows it (KIP-903).
type Member struct {
	ID    kafka.BrokerID
	Epoch kafka.BrokerEpoch
}

// Proposal is an ISR that the leader of a partition asks the controller for.
// Every Proposal that Take gives must come back by Complete, once.
type Proposal struct {
	Topic          string
	TopicID        kafka.UUID
	Partition      int32
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	ISR            []Member // the leader first

	r *replica
}

// Eligible tells whether a broker may join an ISR (registered, not fenced, not
// shutting down) and the epoch it is registered with.
type Eligible func(kafka.BrokerID) (kafka.BrokerEpoch, bool)

// ISRReady is readable when Take may have something to give.
func (m *Manager) ISRReady() <-chan struct{} { return m.isrReady }

func (m *Manager) queueISR(r *replica) {
	switch {
	case r.has(isrInFlight):
		r.set(isrAgain)
		return
	case r.has(isrQueued):
		return
	}
	r.set(isrQueued)
	m.isrQueue = append(m.isrQueue, r)
	m.signalISR()
}

func (m *Manager) signalISR() {
	select {
	case m.isrReady <- struct{}{}:
	default:
	}
}

// mayGrow reports whether a follower outside the ISR has caught up: it fetched
// up to the high watermark, and past the beginning of this epoch, so that it
// holds all that may be committed (KAFKA-7128).
func (m *Manager) mayGrow(r *replica) bool {
	for i := range r.peers {
		if p := &r.peers[i]; !p.has(peerInISR) && m.caughtUp(r, p) {
			return true
		}
	}
	return false
}

func (m *Manager) caughtUp(r *replica, p *peer) bool {
	s := m.sessions[p.id]
	return s != nil && p.session == s.id && p.logEnd >= r.highWatermark && p.logEnd >= r.epochStart
}

func (m *Manager) lags(now int64, r *replica, p *peer) bool {
	return p.has(peerInISR) && now-m.inSyncAt(r, p) > int64(m.cfg.LagMax)
}

// Take gives up to limit proposals for partitions whose ISR should change, as
// of now, and more=true where further ones wait. A follower that is caught up
// and not eligible is looked at again by BrokersChanged.
func (m *Manager) Take(now int64, limit int, eligible Eligible) (proposals []*Proposal, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.isrQueue) > 0 && len(proposals) < limit {
		r := m.isrQueue[0]
		m.isrQueue[0] = nil
		m.isrQueue = m.isrQueue[1:]
		r.clear(isrQueued)
		if r.leader != m.cfg.Self {
			continue
		}
		if p := m.propose(now, r, eligible); p != nil {
			proposals = append(proposals, p)
		}
	}
	if len(m.isrQueue) == 0 {
		m.isrQueue = nil
	}
	return proposals, len(m.isrQueue) > 0
}

// propose computes the ISR that r should have, nil where it has it.
func (m *Manager) propose(now int64, r *replica, eligible Eligible) *Proposal {
	changed := false
	self, _ := eligible(m.cfg.Self)
	isr := append(make([]Member, 0, len(r.peers)+1), Member{m.cfg.Self, self})
	for i := range r.peers {
		p := &r.peers[i]
		epoch, ok := eligible(p.id)
		keep := p.has(peerInISR) && !m.lags(now, r, p)
		grow := !p.has(peerInISR) && m.caughtUp(r, p) && ok && sameEpoch(m.sessions[p.id].brokerEpoch, epoch)
		changed = changed || grow || keep != p.has(peerInISR)
		if grow {
			p.set(peerAdding)
			if e := m.sessions[p.id].brokerEpoch; e != kafka.NoBrokerEpoch {
				epoch = e
			}
		}
		if keep || grow {
			isr = append(isr, Member{p.id, epoch})
		}
	}
	if !changed {
		return nil
	}
	r.set(isrInFlight)
	return &Proposal{
		Topic: r.topic.name, TopicID: r.topic.id, Partition: r.partition,
		LeaderEpoch: r.leaderEpoch, PartitionEpoch: r.partitionEpoch, ISR: isr, r: r,
	}
}

// sameEpoch compares the epoch a follower fetches with to the one that the
// metadata have; either may be unknown.
func sameEpoch(fetched, registered kafka.BrokerEpoch) bool {
	return fetched == kafka.NoBrokerEpoch || registered == kafka.NoBrokerEpoch || fetched == registered
}

// Outcome is the controller's answer to a Proposal.
type Outcome struct {
	// Code is NONE where the state below is the partition's; INELIGIBLE_REPLICA
	// and OPERATION_NOT_ATTEMPTED, and codes that say that the request as a
	// whole was not handled, ask for another attempt later; others mean that
	// newer metadata is on its way.
	Code           kafka.ErrorCode
	Leader         kafka.BrokerID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	ISR            []kafka.BrokerID
}

// Complete takes the answer to a Proposal. Where it is to be tried again, the
// partition waits for RetryISR.
func (m *Manager) Complete(p *Proposal, o Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := p.r
	again := r.has(isrAgain)
	r.clear(isrInFlight | isrAgain)
	for i := range r.peers {
		r.peers[i].clear(peerAdding)
	}
	if r.leader != m.cfg.Self {
		return
	}
	if o.Code == kafka.None && o.Leader == m.cfg.Self && o.LeaderEpoch == r.leaderEpoch && o.PartitionEpoch > r.partitionEpoch {
		r.partitionEpoch = o.PartitionEpoch
		r.setISR(o.ISR)
		m.advance(r)
	}
	switch {
	case o.Code != kafka.None && retried(o.Code) && r.leaderEpoch == p.LeaderEpoch:
		r.set(isrQueued)
		m.isrLater = append(m.isrLater, r)
	case again || r.leaderEpoch != p.LeaderEpoch:
		m.queueISR(r)
	}
}

// retried reports whether another attempt can succeed without newer metadata.
func retried(c kafka.ErrorCode) bool {
	switch c {
	case kafka.UnknownTopicOrPartition, kafka.UnknownTopicID, kafka.FencedLeaderEpoch, kafka.InvalidUpdateVersion,
		kafka.InvalidRequest, kafka.NewLeaderElected:
		return false
	}
	return true
}

// RetryISR queues the partitions whose proposals failed for the time being,
// and gives their number.
func (m *Manager) RetryISR() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.isrLater)
	m.isrQueue = append(m.isrQueue, m.isrLater...)
	m.isrLater = nil
	if n > 0 {
		m.signalISR()
	}
	return n
}

// CheckLag looks for followers that have been behind for longer than LagMax,
// in all partitions led here. Call it every LagMax/2, as Kafka does.
func (m *Manager) CheckLag(now int64) {
	m.eachLed(func(r *replica) {
		for i := range r.peers {
			if m.lags(now, r, &r.peers[i]) {
				m.queueISR(r)
				return
			}
		}
	})
}

// BrokersChanged looks again at the partitions of which one of the brokers,
// now eligible, is a caught-up follower outside the ISR.
func (m *Manager) BrokersChanged(ids []kafka.BrokerID) {
	m.eachLed(func(r *replica) {
		for _, id := range ids {
			if p := r.peer(id); p != nil && !p.has(peerInISR) && m.caughtUp(r, p) {
				m.queueISR(r)
				return
			}
		}
	})
}
