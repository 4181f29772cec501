package raftclient

import (
	"sync"
	"time"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// Metrics are what Kafka's raft-metrics tell of a node.
type Metrics struct {
	State                       raft.State
	Observer                    bool
	Leader                      kafka.BrokerID
	Epoch                       kafka.LeaderEpoch
	Voted                       kafka.BrokerID // in this epoch, -1 for nobody
	HighWatermark, LogEndOffset kafka.Offset
	LogEndEpoch                 kafka.LeaderEpoch
	Voters                      int
	UnknownVoters               int // of whom nobody has told where they listen
	// Appended and Fetched count records: those that this node wrote as a leader
	// and those that it fetched.
	Appended, Fetched Rate
	// Commit is the time from an append of this node to its commit, Election that
	// from a campaign to a known leader.
	Commit, Election Mean
	// Idle is the part of the time in which the node waited for something to do,
	// 0 to 1.
	Idle float64
}

// Rate is a number of records, and how many came a second on average since the
// node started.
type Rate struct {
	Total     int64
	PerSecond float64
}

// Mean is the mean and the largest of the durations so far, 0 without any.
type Mean struct{ Avg, Max time.Duration }

// meter gathers Metrics. Its owner is the client's loop; others read.
type meter struct {
	mu                sync.Mutex
	appended, fetched int64
	commit, election  spans
	idle              time.Duration

	// Owned by the loop.
	waiting   []appendedAt // not committed yet, in order
	campaigns time.Duration
}

type appendedAt struct {
	end kafka.Offset
	at  time.Duration
}

type spans struct {
	n        int64
	sum, max time.Duration
}

func (s *spans) add(d time.Duration) { s.n, s.sum, s.max = s.n+1, s.sum+d, max(s.max, d) }

func (s spans) mean() Mean {
	if s.n == 0 {
		return Mean{}
	}
	return Mean{s.sum / time.Duration(s.n), s.max}
}

// maxWaitingCommits bounds the appends whose commit is timed; later ones are
// not.
const maxWaitingCommits = 1 << 12

// observe takes note of what a step asked for.
func (m *meter) observe(now time.Duration, fx raft.Effects, role raft.Role) {
	for _, op := range fx.Log {
		a, ok := op.(raft.LogAppend)
		if !ok {
			continue
		}
		m.countAppend(now, a, role)
	}
	if fx.HighWatermark != kafka.NoOffset {
		m.committed(now, fx.HighWatermark)
	}
	if fx.Role != nil {
		m.roleChanged(now, *fx.Role)
	}
}

func (m *meter) countAppend(now time.Duration, a raft.LogAppend, role raft.Role) {
	records := int64(0)
	for _, b := range a.Batches {
		records += int64(b.LastOffset-b.BaseOffset) + 1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if role.State != raft.Leader {
		m.fetched += records
		return
	}
	m.appended += records
	if n := len(a.Batches); len(m.waiting) < maxWaitingCommits {
		m.waiting = append(m.waiting, appendedAt{a.Batches[n-1].LastOffset + 1, now})
	}
}

func (m *meter) committed(now time.Duration, hw kafka.Offset) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < len(m.waiting) && m.waiting[n].end <= hw {
		m.commit.add(now - m.waiting[n].at)
		n++
	}
	m.waiting = append(m.waiting[:0], m.waiting[n:]...)
}

func (m *meter) roleChanged(now time.Duration, r raft.Role) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.State != raft.Leader {
		m.waiting = m.waiting[:0]
	}
	switch campaigning := r.State == raft.Prospective || r.State == raft.Candidate; {
	case campaigning && m.campaigns == 0:
		m.campaigns = max(now, 1)
	case r.LeaderID != raft.None && m.campaigns > 0:
		m.election.add(now - m.campaigns)
		m.campaigns = 0
	}
}

func (m *meter) waited(d time.Duration) {
	m.mu.Lock()
	m.idle += d
	m.mu.Unlock()
}

// Metrics gives the figures of this moment.
func (c *Client) Metrics() Metrics {
	s, lived := c.view(), max(c.now(), time.Millisecond)
	m := Metrics{
		State: s.role.State, Observer: s.role.Observer, Leader: s.role.LeaderID, Epoch: s.role.Epoch, Voted: s.voted,
		HighWatermark: s.hw, LogEndOffset: s.end, LogEndEpoch: c.log.LastEpoch(), Voters: len(s.quorum.Voters),
	}
	for _, v := range s.quorum.Voters {
		if _, ok := c.Endpoint(v.ID); !ok {
			m.UnknownVoters++
		}
	}
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	rate := func(n int64) Rate { return Rate{n, float64(n) / lived.Seconds()} }
	m.Appended, m.Fetched = rate(c.meter.appended), rate(c.meter.fetched)
	m.Commit, m.Election = c.meter.commit.mean(), c.meter.election.mean()
	m.Idle = min(1, c.meter.idle.Seconds()/lived.Seconds())
	return m
}
