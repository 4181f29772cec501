package replica

import (
	"kbench/broker/batch"
	"kbench/kafka"
)

// notEnoughReplicasAfterAppend is Kafka's code 20: the ISR shrank below
// min.insync.replicas while the batch waited.
const notEnoughReplicasAfterAppend kafka.ErrorCode = 20

// Append is one batch for one partition. The topic is named by TopicID where
// that is not zero.
type Append struct {
	Topic     string
	TopicID   kafka.UUID
	Partition int32
	Batch     batch.Header
	MinISR    int   // with acks=-1, the least size of the ISR; below 1 counts as 1
	Wait      *Acks // acks=-1: gets an entry that ends with the high watermark; nil for acks 0 and 1
}

// Appended is the outcome of an Append. Leader and LeaderEpoch tell a client
// that came to the wrong broker where to go, as far as is known here.
type Appended struct {
	Code        kafka.ErrorCode
	Base        kafka.Offset
	Leader      kafka.BrokerID
	LeaderEpoch kafka.LeaderEpoch
}

// Append gives the offsets of a batch. The code is UNKNOWN_TOPIC_OR_PARTITION
// or UNKNOWN_TOPIC_ID where this broker has no replica, KAFKA_STORAGE_ERROR where
// its log directory failed, NOT_LEADER_OR_FOLLOWER where it does not lead,
// NOT_ENOUGH_REPLICAS below the least ISR, or the refusal of the producer's
// sequence.
func (m *Manager) Append(now int64, a Append) Appended {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, code := m.resolve(a.Topic, a.TopicID, a.Partition)
	if code != kafka.None {
		return refuseAppend(code, kafka.NoLeader, kafka.NoEpoch)
	}
	if r.leader != m.cfg.Self {
		return refuseAppend(kafka.NotLeaderOrFollower, r.leader, r.leaderEpoch)
	}
	if a.Wait != nil && r.isrSize() < a.MinISR {
		return refuseAppend(kafka.NotEnoughReplicas, r.leader, r.leaderEpoch)
	}
	h := a.Batch
	if h.ProducerID != batch.NoProducer {
		at, duplicate, code := r.ext().producers.Check(h)
		if code != kafka.None {
			return refuseAppend(code, r.leader, r.leaderEpoch)
		}
		if duplicate {
			m.await(r, a, at+kafka.Offset(h.Count))
			return Appended{Base: at, Leader: r.leader, LeaderEpoch: r.leaderEpoch}
		}
	}
	base := r.logEnd
	m.bytes += int64(h.SizeBytes)
	m.appendToLog(now, r, h)
	m.await(r, a, r.logEnd)
	m.advance(r)
	return Appended{Base: base, Leader: r.leader, LeaderEpoch: r.leaderEpoch}
}

func refuseAppend(code kafka.ErrorCode, leader kafka.BrokerID, epoch kafka.LeaderEpoch) Appended {
	return Appended{Code: code, Base: kafka.NoOffset, Leader: leader, LeaderEpoch: epoch}
}

// resolve finds a replica by name or id that can be served.
func (m *Manager) resolve(name string, id kafka.UUID, p int32) (*replica, kafka.ErrorCode) {
	var r *replica
	if id.IsZero() {
		r = m.find(name, p)
	} else {
		r = m.findByID(id, p)
	}
	switch {
	case r == nil && !id.IsZero() && m.byID[id] == nil:
		return nil, kafka.UnknownTopicID
	case r == nil:
		return nil, kafka.UnknownTopicOrPartition
	case m.offline(r):
		return nil, kafka.KafkaStorageError
	}
	return r, kafka.None
}

// appendToLog moves the log end of a leader and wakes the followers that had
// all of it.
func (m *Manager) appendToLog(now int64, r *replica, h batch.Header) {
	h.BaseOffset, h.LeaderEpoch = r.logEnd, r.leaderEpoch
	for i := range r.peers {
		if p := &r.peers[i]; p.logEnd == r.logEnd { // it had everything until now
			p.caughtUp = m.inSyncAt(r, p)
		}
	}
	if h.ProducerID != batch.NoProducer {
		r.ext().producers.Add(h)
	}
	r.logEnd, r.lastEpoch = h.Next(), r.leaderEpoch
	m.markDirty(r, true)
}

// inSyncAt is the last time at which p is known to have had the whole log: for
// a follower that has it now that is its last fetch.
func (m *Manager) inSyncAt(r *replica, p *peer) int64 {
	if s := m.sessions[p.id]; s != nil && s.id == p.session && p.logEnd >= r.logEnd {
		return max(s.lastFetch, p.caughtUp)
	}
	return p.caughtUp
}

// advance moves the high watermark to what the whole ISR has; replicas being
// added count already (KIP-497). It never goes back.
func (m *Manager) advance(r *replica) {
	hw := r.logEnd
	for i := range r.peers {
		if p := &r.peers[i]; p.has(peerInISR | peerAdding) {
			hw = min(hw, p.logEnd)
		}
	}
	if hw <= r.highWatermark {
		return
	}
	r.highWatermark = hw
	m.markDirty(r, false)
	if r.extra != nil {
		r.completeAcks()
		r.wakeWatchers()
	}
}

// markDirty puts r on the lists of the sessions that hold it; wake also ends
// the followers' waits. A higher high watermark alone does not, as in Kafka.
func (m *Manager) markDirty(r *replica, wake bool) {
	for i := range r.peers {
		p := &r.peers[i]
		if p.session == 0 {
			continue
		}
		s := m.sessions[p.id]
		if s == nil || s.id != p.session {
			continue
		}
		if !p.has(peerDirty) {
			p.set(peerDirty)
			s.dirty = append(s.dirty, r)
		}
		if wake {
			s.wakeUp()
		}
	}
}
