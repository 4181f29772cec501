package replica

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/batch"
	"kbench/kafka"
)

const (
	// maxListed bounds the partitions that one request adds to the session, so
	// that no request grows with the cluster; a session is built up by several.
	maxListed = 10_000
	// partitionMaxBytes is Kafka's replica.fetch.max.bytes.
	partitionMaxBytes = 1 << 20
)

// Fetcher is the follower's end of the fetch session with one leader broker:
// what the next request must list. One goroutine drives it by Build, Handle
// and Reset.
type Fetcher struct {
	m       *Manager
	leader  kafka.BrokerID
	queue   []*replica // to be listed, with fetchQueued set
	forget  []PartitionRef
	delayed []delayed // refused by the leader, oldest first
	members int       // partitions followed from this leader
	session int32
	epoch   int32         // of the next request; 0 begins a session
	wake    chan struct{} // capacity 1
}

type delayed struct {
	r  *replica
	at int64 // ns
}

// Leader is the broker that the Fetcher fetches from.
func (f *Fetcher) Leader() kafka.BrokerID { return f.leader }

// Wake is readable when a partition was added or removed.
func (f *Fetcher) Wake() <-chan struct{} { return f.wake }

// fetcher finds or makes the fetcher of a leader broker.
func (m *Manager) fetcher(leader kafka.BrokerID) *Fetcher {
	f := m.fetchers[leader]
	if f == nil {
		f = &Fetcher{m: m, leader: leader, wake: make(chan struct{}, 1)}
		m.fetchers[leader] = f
		m.born = append(m.born, f)
	}
	return f
}

// add begins to follow r, whose leader is f.leader.
func (f *Fetcher) add(r *replica) {
	f.members++
	f.enqueue(r)
}

// drop ends to follow r. Entries of the queue and of the delayed list that lost
// their flag or have another leader are skipped later.
func (f *Fetcher) drop(r *replica) {
	f.members--
	if r.has(fetchMember) {
		f.forget = append(f.forget, PartitionRef{Topic: r.topic.name, TopicID: r.topic.id, Partition: r.partition})
	}
	r.clear(fetchMember | fetchQueued | fetchDelayed)
}

func (f *Fetcher) enqueue(r *replica) {
	if r.has(fetchQueued) {
		return
	}
	r.clear(fetchDelayed)
	r.set(fetchQueued)
	f.queue = append(f.queue, r)
	f.signal()
}

func (f *Fetcher) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Build fills a request with what changed since the last one. It gives false
// where there is nothing to fetch: no partition is followed and the leader
// knows it. wait is how long the leader may hold the request: 0 while more
// partitions are to be listed, less than most where a refused partition is due
// earlier.
func (m *Manager) Build(now int64, f *Fetcher, req *kmsg.FetchRequest, most time.Duration) (wait time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.due(now)
	if f.members == 0 && len(f.forget) == 0 {
		f.queue, f.delayed = nil, nil
		return 0, false
	}
	if f.members == 0 && f.epoch == 0 { // no session: nothing to forget
		f.forget, f.queue, f.delayed = nil, nil, nil
		return 0, false
	}
	req.SessionID, req.SessionEpoch = f.session, f.epoch
	f.list(req)
	f.listForgotten(req)
	switch {
	case len(f.queue) > 0 || len(f.forget) > 0:
		return 0, true
	case len(f.delayed) > 0:
		return min(most, max(time.Duration(f.delayed[0].at-now), time.Millisecond)), true
	}
	return most, true
}

// due moves refused partitions whose time has come to the queue.
func (f *Fetcher) due(now int64) {
	n := 0
	for n < len(f.delayed) && f.delayed[n].at <= now {
		if r := f.delayed[n].r; r.has(fetchDelayed) && r.leader == f.leader {
			f.enqueue(r)
		}
		n++
	}
	f.delayed = f.delayed[n:]
	if len(f.delayed) == 0 {
		f.delayed = nil
	}
}

func (f *Fetcher) list(req *kmsg.FetchRequest) {
	n, listed := 0, 0
	for n < len(f.queue) && listed < maxListed {
		r := f.queue[n]
		f.queue[n] = nil
		n++
		if r.leader != f.leader || !r.has(fetchQueued) {
			continue
		}
		r.clear(fetchQueued)
		r.set(fetchMember)
		listed++
		appendFetch(req, r)
	}
	f.queue = f.queue[n:]
	if len(f.queue) == 0 {
		f.queue = nil
	}
}

func appendFetch(req *kmsg.FetchRequest, r *replica) {
	n := len(req.Topics)
	if n == 0 || req.Topics[n-1].Topic != r.topic.name {
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = r.topic.name, r.topic.id
		req.Topics = append(req.Topics, t)
		n++
	}
	t := &req.Topics[n-1]
	t.Partitions = append(t.Partitions, kmsg.NewFetchRequestTopicPartition())
	p := &t.Partitions[len(t.Partitions)-1]
	p.Partition, p.CurrentLeaderEpoch = r.partition, int32(r.leaderEpoch)
	p.FetchOffset, p.LastFetchedEpoch = int64(r.logEnd), int32(r.lastEpoch)
	p.LogStartOffset, p.PartitionMaxBytes = 0, partitionMaxBytes
}

// listForgotten lists what the session must forget; a partition that came back
// in the meantime stays.
func (f *Fetcher) listForgotten(req *kmsg.FetchRequest) {
	n := 0
	for n < len(f.forget) && n < maxListed {
		p := f.forget[n]
		n++
		if r, code := f.m.resolve(p.Topic, p.TopicID, p.Partition); code == kafka.None && r.leader == f.leader && r.has(fetchMember|fetchQueued) {
			continue
		}
		if f.epoch == 0 {
			continue
		}
		k := len(req.ForgottenTopics)
		if k == 0 || req.ForgottenTopics[k-1].Topic != p.Topic || req.ForgottenTopics[k-1].TopicID != p.TopicID {
			t := kmsg.NewFetchRequestForgottenTopic()
			t.Topic, t.TopicID = p.Topic, p.TopicID
			req.ForgottenTopics = append(req.ForgottenTopics, t)
			k++
		}
		req.ForgottenTopics[k-1].Partitions = append(req.ForgottenTopics[k-1].Partitions, p.Partition)
	}
	f.forget = f.forget[n:]
	if len(f.forget) == 0 {
		f.forget = nil
	}
}

// Handle takes the answer to the last Build. An error ends the session: call
// Reset and begin anew.
func (m *Manager) Handle(now int64, f *Fetcher, resp *kmsg.FetchResponse) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := kafka.ErrorCode(resp.ErrorCode).Err(); err != nil {
		return err
	}
	f.session = resp.SessionID
	if f.session == 0 { // the leader keeps no session: list everything each time
		m.reset(f)
	} else {
		f.epoch = f.epoch%0x7fffffff + 1
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			part := &t.Partitions[j]
			r, code := m.resolve(t.Topic, t.TopicID, part.Partition)
			if code == kafka.None && r.leader == f.leader {
				m.handlePartition(now, f, r, part)
			}
		}
	}
	return nil
}

func (m *Manager) handlePartition(now int64, f *Fetcher, r *replica, part *kmsg.FetchResponseTopicPartition) {
	if part.ErrorCode != 0 {
		m.delay(now, f, r)
		return
	}
	if end := kafka.Offset(part.DivergingEpoch.EndOffset); end >= 0 {
		r.truncate(end)
		f.enqueue(r)
		return
	}
	moved, ok := r.replicate(part.RecordBatches)
	if hw := min(kafka.Offset(part.HighWatermark), r.logEnd); hw > r.highWatermark {
		r.highWatermark = hw
	}
	switch {
	case !ok:
		m.delay(now, f, r)
	case moved:
		f.enqueue(r)
	}
}

// delay leaves a partition alone for the back-off, out of the session.
func (m *Manager) delay(now int64, f *Fetcher, r *replica) {
	if r.has(fetchQueued | fetchDelayed) {
		return
	}
	r.clear(fetchMember)
	r.set(fetchDelayed)
	f.delayed = append(f.delayed, delayed{r, now + int64(m.cfg.FetchBackoff)})
}

// replicate appends the leader's batches; ok is false for bytes that do not
// continue the log.
func (r *replica) replicate(b []byte) (moved, ok bool) {
	for len(b) > 0 {
		h, rest, err := batch.Read(b)
		if err != nil || h.BaseOffset > r.logEnd {
			return moved, false
		}
		b = rest
		if h.Next() <= r.logEnd {
			continue
		}
		if h.ProducerID != batch.NoProducer {
			r.ext().producers.Add(h)
		}
		r.logEnd, r.lastEpoch, moved = h.Next(), h.LeaderEpoch, true
	}
	return moved, true
}

// truncate cuts the log where it diverges from the leader's.
func (r *replica) truncate(end kafka.Offset) {
	if end >= r.logEnd {
		return
	}
	r.logEnd = end
	r.highWatermark = min(r.highWatermark, end)
	if r.extra != nil {
		r.extra.producers.Truncate(end)
	}
}

// Reset ends the session: after a broken connection everything followed is to
// be listed again.
func (m *Manager) Reset(f *Fetcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset(f)
}

func (m *Manager) reset(f *Fetcher) {
	f.session, f.epoch, f.forget, f.queue, f.delayed = 0, 0, nil, nil, nil
	for _, t := range m.byName {
		for _, r := range t.parts {
			if r.leader == f.leader {
				r.clear(fetchMember | fetchQueued | fetchDelayed)
				f.enqueue(r)
			}
		}
	}
}

// Idle reports whether no partition is followed from the leader.
func (m *Manager) Idle(f *Fetcher) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return f.members == 0
}
