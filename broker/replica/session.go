package replica

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/batch"
	"kbench/kafka"
)

const (
	// maxAnswered bounds the partitions of one answer to a follower; the rest
	// stay on the session's list for the next.
	maxAnswered = 10_000
	// finalEpoch in a request ends the session after it (KIP-227).
	finalEpoch = -1
)

// session is the incremental fetch session of one follower. A follower has
// one at most: a new one replaces it.
type session struct {
	follower    kafka.BrokerID
	brokerEpoch kafka.BrokerEpoch // that the follower says it has (KIP-903)
	id          int32             // above 0
	epoch       int32             // the next request must carry it
	lastFetch   int64             // ns
	answered    int64             // ns, when the last answer was made
	dirty       []*replica        // with peerDirty set; may hold some that are no longer in the session
	wake        chan struct{}     // capacity 1
}

func (s *session) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// FollowerFetch is one fetch of a follower between arrival and answer.
type FollowerFetch struct {
	m       *Manager
	s       *session
	code    kafka.ErrorCode // of the whole request
	refused []refusal       // partitions to answer with an error
	version int16
}

type refusal struct {
	topic     string
	topicID   kafka.UUID
	partition int32
	code      kafka.ErrorCode
	leader    kafka.BrokerID
	epoch     kafka.LeaderEpoch
	diverging kafka.Offset // where the follower must cut its log; NoOffset for none
}

// Fetch takes in a follower's request at its arrival: what it lists is the
// follower's log end, which is the acknowledgement of all before it.
func (m *Manager) Fetch(now int64, follower kafka.BrokerID, epoch kafka.BrokerEpoch, req *kmsg.FetchRequest) *FollowerFetch {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := &FollowerFetch{m: m, version: req.Version}
	if f.s, f.code = m.session(now, follower, epoch, req); f.code != kafka.None {
		return f
	}
	f.s.lastFetch = now
	m.forget(f.s, req)
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			m.fetchPartition(now, f, t, &t.Partitions[j])
		}
	}
	if req.SessionEpoch == finalEpoch {
		delete(m.sessions, follower)
	}
	return f
}

// session finds or begins the session that a request names.
func (m *Manager) session(now int64, follower kafka.BrokerID, epoch kafka.BrokerEpoch, req *kmsg.FetchRequest) (*session, kafka.ErrorCode) {
	s := m.sessions[follower]
	if req.SessionEpoch == 0 || req.SessionEpoch == finalEpoch && req.SessionID == 0 {
		if s != nil {
			m.endSession(s)
		}
		m.nextID = m.nextID%0x7fffffff + 1
		s = &session{follower: follower, brokerEpoch: epoch, id: m.nextID, epoch: 1, wake: make(chan struct{}, 1)}
		m.sessions[follower] = s
		return s, kafka.None
	}
	if s == nil || s.id != req.SessionID {
		return nil, kafka.FetchSessionIDNotFound
	}
	if req.SessionEpoch != s.epoch {
		return nil, kafka.InvalidFetchSessionEpoch
	}
	s.epoch = s.epoch%0x7fffffff + 1
	s.brokerEpoch = epoch
	return s, kafka.None
}

// endSession freezes what is known of the followers' progress, so that a
// partition that no later session lists falls behind.
func (m *Manager) endSession(s *session) {
	for _, t := range m.byName {
		for _, r := range t.parts {
			if r.leader != m.cfg.Self {
				continue
			}
			if p := r.peer(s.follower); p != nil && p.session == s.id {
				m.leaveSession(r, p)
			}
		}
	}
	delete(m.sessions, s.follower)
	s.wakeUp()
}

func (m *Manager) leaveSession(r *replica, p *peer) {
	p.caughtUp = m.inSyncAt(r, p)
	p.session = 0
	p.clear(peerDirty)
}

// forget takes partitions out of the session.
func (m *Manager) forget(s *session, req *kmsg.FetchRequest) {
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		for _, part := range t.Partitions {
			r, code := m.resolve(t.Topic, t.TopicID, part)
			if code != kafka.None || r.leader != m.cfg.Self {
				continue
			}
			if p := r.peer(s.follower); p != nil && p.session == s.id {
				m.leaveSession(r, p)
			}
		}
	}
}

// fetchPartition takes in one listed partition.
func (m *Manager) fetchPartition(now int64, f *FollowerFetch, t *kmsg.FetchRequestTopic, part *kmsg.FetchRequestTopicPartition) {
	r, code := m.resolve(t.Topic, t.TopicID, part.Partition)
	no := refusal{topic: t.Topic, topicID: t.TopicID, partition: part.Partition, leader: kafka.NoLeader, epoch: kafka.NoEpoch, diverging: kafka.NoOffset}
	var p *peer
	if code == kafka.None {
		no.leader, no.epoch = r.leader, r.leaderEpoch
		p = r.peer(f.s.follower)
		code = m.checkFetch(r, p, kafka.LeaderEpoch(part.CurrentLeaderEpoch))
	}
	if code != kafka.None {
		no.code = code
		f.refused = append(f.refused, no)
		return
	}
	offset := kafka.Offset(part.FetchOffset)
	if offset < 0 {
		no.code = kafka.OffsetOutOfRange
		f.refused = append(f.refused, no)
		return
	}
	if offset > r.logEnd {
		no.diverging = r.logEnd
		f.refused = append(f.refused, no)
		return
	}
	m.progress(now, f.s, r, p, offset)
}

func (m *Manager) checkFetch(r *replica, p *peer, epoch kafka.LeaderEpoch) kafka.ErrorCode {
	switch {
	case r.leader != m.cfg.Self:
		return kafka.NotLeaderOrFollower
	case epoch != kafka.NoEpoch && epoch < r.leaderEpoch:
		return kafka.FencedLeaderEpoch
	case epoch > r.leaderEpoch:
		return kafka.UnknownLeaderEpoch
	case p == nil: // not assigned, as far as this leader knows
		return kafka.UnknownTopicOrPartition
	}
	return kafka.None
}

// progress records that a follower has the log up to offset. Every answer
// brings a follower to the log end of that moment, so one that moved on had
// all of it when the last answer was made.
func (m *Manager) progress(now int64, s *session, r *replica, p *peer, offset kafka.Offset) {
	if p.logEnd != kafka.NoOffset && offset > p.logEnd {
		p.caughtUp = max(p.caughtUp, s.answered)
	}
	joined := p.session != s.id
	p.logEnd, p.session = offset, s.id
	if offset >= r.logEnd {
		p.caughtUp = now
	}
	if joined {
		p.clear(peerDirty)
	}
	if offset < r.logEnd || joined && r.highWatermark > 0 {
		if !p.has(peerDirty) {
			p.set(peerDirty)
			s.dirty = append(s.dirty, r)
		}
		if offset < r.logEnd {
			s.wakeUp()
		}
	}
	m.advance(r)
	if !p.has(peerInISR) && m.mayGrow(r) {
		m.queueISR(r)
	}
}

// Ready reports whether there is something to answer now; Wake is readable
// when that may have changed.
func (f *FollowerFetch) Ready() bool {
	if f.code != kafka.None || len(f.refused) > 0 {
		return true
	}
	select {
	case <-f.s.wake:
		return true
	default:
		return false
	}
}

// Wake is readable when a partition of the session has something new.
func (f *FollowerFetch) Wake() <-chan struct{} { return f.s.wake }

// Answer fills the response. Partitions of the session that did not change
// are not in it.
func (f *FollowerFetch) Answer(now int64, resp *kmsg.FetchResponse) {
	if f.code != kafka.None {
		resp.ErrorCode = int16(f.code)
		return
	}
	m := f.m
	m.mu.Lock()
	defer m.mu.Unlock()
	resp.SessionID = f.s.id
	a := answer{resp: resp, byName: f.version < 13}
	for i := range f.refused {
		a.refuse(&f.refused[i])
	}
	s := f.s
	n := 0
	for n < len(s.dirty) && a.count < maxAnswered {
		r := s.dirty[n]
		n++
		if p := r.peer(s.follower); p != nil && p.session == s.id && p.has(peerDirty) && r.leader == m.cfg.Self {
			p.clear(peerDirty)
			a.state(r, p.logEnd)
		}
	}
	s.answered = now
	if n == len(s.dirty) {
		s.dirty = nil
		select { // all that woke is answered
		case <-s.wake:
		default:
		}
		return
	}
	s.dirty = s.dirty[n:]
	s.wakeUp()
}

// answer builds a response; consecutive partitions of a topic share an entry.
type answer struct {
	resp   *kmsg.FetchResponse
	byName bool
	count  int
}

func (a *answer) partition(name string, id kafka.UUID, p int32) *kmsg.FetchResponseTopicPartition {
	a.count++
	n := len(a.resp.Topics)
	if n == 0 || a.resp.Topics[n-1].TopicID != id || a.resp.Topics[n-1].Topic != name {
		t := kmsg.NewFetchResponseTopic()
		t.Topic, t.TopicID = name, id
		a.resp.Topics = append(a.resp.Topics, t)
		n++
	}
	t := &a.resp.Topics[n-1]
	t.Partitions = append(t.Partitions, kmsg.NewFetchResponseTopicPartition())
	part := &t.Partitions[len(t.Partitions)-1]
	part.Partition = p
	return part
}

func (a *answer) refuse(no *refusal) {
	part := a.partition(no.topic, no.topicID, no.partition)
	part.ErrorCode = int16(no.code)
	part.HighWatermark = -1
	if no.diverging != kafka.NoOffset {
		part.DivergingEpoch.Epoch, part.DivergingEpoch.EndOffset = int32(no.epoch), int64(no.diverging)
	}
	if no.code == kafka.NotLeaderOrFollower || no.code == kafka.FencedLeaderEpoch {
		part.CurrentLeader.LeaderID, part.CurrentLeader.LeaderEpoch = int32(no.leader), int32(no.epoch)
	}
}

// state answers a follower that has the log up to from.
func (a *answer) state(r *replica, from kafka.Offset) {
	part := a.partition(r.topic.name, r.topic.id, r.partition)
	part.HighWatermark = int64(r.highWatermark)
	part.LastStableOffset = int64(r.highWatermark)
	part.LogStartOffset = 0
	part.RecordBatches = r.tail(from, r.logEnd)
}

// tail gives the offsets from..end as batches without records, never nil.
func (r *replica) tail(from, end kafka.Offset) []byte {
	if from >= end {
		return []byte{}
	}
	epoch := max(r.lastEpoch, 0)
	if r.extra == nil {
		return batch.AppendSpan(nil, from, end, epoch)
	}
	return r.extra.producers.AppendTail(nil, from, end, epoch)
}
