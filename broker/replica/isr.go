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
// Every Proposal that Take gives must come back by Complete, once for each time
// that Take gave it.
//
// It is pending (Kafka's PendingPartitionChange) from the first Take until an
// answer tells what became of it, or metadata that is newer than it applies.
// Meanwhile the partition has no other Proposal, and its high watermark waits
// for the committed ISR and for whom the Proposal adds: the controller may have
// written it, whatever came of the answer. For the same reason it is asked again
// as it was: with another ISR and the old partition epoch the leader would be
// refused for good once the first was written.
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
	if r.has(isrPending | isrQueued) { // settled looks again
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
	return p.has(peerInISR) && m.behind(now, r, p)
}

// behind reports whether a follower has not had the whole log for too long; one
// that has it and fetches no longer is behind, too.
func (m *Manager) behind(now int64, r *replica, p *peer) bool {
	return now-m.inSyncAt(r, p) > int64(m.cfg.LagMax)
}

// Take gives up to limit proposals for partitions whose ISR should change, as
// of now, and more=true where further ones wait. Those to be asked again come
// first. A follower that is caught up and not eligible is looked at again by
// BrokersChanged.
func (m *Manager) Take(now int64, limit int, eligible Eligible) (proposals []*Proposal, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.isrResend) > 0 && len(proposals) < limit {
		p := m.isrResend[0]
		m.isrResend[0] = nil
		m.isrResend = m.isrResend[1:]
		if m.pending(p) {
			proposals = append(proposals, p)
		}
	}
	for len(m.isrQueue) > 0 && len(proposals) < limit {
		r := m.isrQueue[0]
		m.isrQueue[0] = nil
		m.isrQueue = m.isrQueue[1:]
		r.clear(isrQueued)
		if r.leader != m.cfg.Self || r.has(isrPending) {
			continue
		}
		if p := m.propose(now, r, eligible); p != nil {
			proposals = append(proposals, p)
		}
	}
	if len(m.isrResend) == 0 {
		m.isrResend = nil
	}
	if len(m.isrQueue) == 0 {
		m.isrQueue = nil
	}
	return proposals, len(m.isrResend)+len(m.isrQueue) > 0
}

// pending reports whether p is what its partition waits for. A partition has one
// Proposal at most with the same epochs that may have been written.
func (m *Manager) pending(p *Proposal) bool {
	r := p.r
	return r.has(isrPending) && r.leader == m.cfg.Self && r.leaderEpoch == p.LeaderEpoch && r.partitionEpoch == p.PartitionEpoch
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
		grow := !p.has(peerInISR) && m.caughtUp(r, p) && !m.behind(now, r, p) && ok && sameEpoch(m.sessions[p.id].brokerEpoch, epoch)
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
	r.set(isrPending)
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
	// Code is NONE where the state below is the partition's. INELIGIBLE_REPLICA
	// and OPERATION_NOT_ATTEMPTED say that nothing was written. Codes that say
	// that newer metadata is on its way leave the Proposal pending until it
	// comes; with all others, and with no answer, it is asked again.
	Code           kafka.ErrorCode
	Leader         kafka.BrokerID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	ISR            []kafka.BrokerID
}

// Complete takes the answer to a Proposal, and reports whether the partition
// waits for RetryISR. An answer that comes after newer metadata says nothing.
func (m *Manager) Complete(p *Proposal, o Outcome) (retry bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := p.r
	switch {
	case !m.pending(p):
		return false
	case o.Code == kafka.None && o.LeaderEpoch == r.leaderEpoch && o.PartitionEpoch >= r.partitionEpoch:
		// An equal partition epoch says that nothing had to be written.
		r.partitionEpoch = o.PartitionEpoch
		r.setISR(o.ISR)
		m.settled(r)
		return false
	case o.Code == kafka.IneligibleReplica, o.Code == kafka.OperationNotAttempted:
		m.settle(r)
		r.set(isrQueued)
		m.isrLater = append(m.isrLater, r)
		return true
	case o.Code == kafka.None, awaitsMetadata(o.Code):
		return false
	}
	m.isrUnanswered = append(m.isrUnanswered, p)
	return true
}

// settle ends the wait for a Proposal.
func (m *Manager) settle(r *replica) {
	r.clear(isrPending)
	for i := range r.peers {
		r.peers[i].clear(peerAdding)
	}
}

// settled is settle where r has what it needs to judge its followers anew.
func (m *Manager) settled(r *replica) {
	m.settle(r)
	m.advance(r)
	if m.mayGrow(r) {
		m.queueISR(r)
	}
}

// awaitsMetadata reports whether a refusal says that the leader knows less than
// the controller, so that no further attempt can succeed before it is told.
func awaitsMetadata(c kafka.ErrorCode) bool {
	switch c {
	case kafka.UnknownTopicOrPartition, kafka.UnknownTopicID, kafka.FencedLeaderEpoch, kafka.InvalidUpdateVersion,
		kafka.InvalidRequest, kafka.NewLeaderElected:
		return true
	}
	return false
}

// RetryISR queues what waits for another attempt, and gives its number.
func (m *Manager) RetryISR() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.isrLater) + len(m.isrUnanswered)
	m.isrQueue = append(m.isrQueue, m.isrLater...)
	m.isrResend = append(m.isrResend, m.isrUnanswered...)
	m.isrLater, m.isrUnanswered = nil, nil
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
