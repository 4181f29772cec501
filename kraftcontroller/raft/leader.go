package raft

import (
	"cmp"
	"slices"
	"time"

	"kbench/kafka"
)

// leadership is the state of a Leader.
type leadership struct {
	epochStart kafka.Offset // of the LeaderChange record
	hw         kafka.Offset // NoOffset until a record of this epoch is committed
	since      time.Duration
	beginAt    time.Duration // next BeginQuorumEpoch to silent voters
	voters     []progress    // as Machine.voters
	observers  []progress    // by key
	parked     []parked      // in order of arrival
	change     *voterChange  // that is worked on, nil for none
	updated    []Voter       // static voters, with what they told since
	mustResign bool          // the removal of this node from the voters is committed
}

// progress is what a leader knows of a replica.
type progress struct {
	key       ReplicaKey
	end       kafka.Offset  // NoOffset where it never fetched
	fetchedAt time.Duration // -1 where it never fetched
	caughtUp  time.Duration // -1 where it never was
	endThen   kafka.Offset  // our log end at its last fetch
	call      bool          // BeginQuorumEpoch is due, as soon as a request can be sent
}

func newProgress(k ReplicaKey) progress {
	return progress{key: k, end: kafka.NoOffset, fetchedAt: -1, caughtUp: -1, endThen: kafka.NoOffset}
}

// becomeLeader opens the epoch with a LeaderChange record.
func (m *Machine) becomeLeader() {
	change := LeaderChange{LeaderID: m.cfg.NodeID}
	l := leadership{
		epochStart: m.log.end, hw: kafka.NoOffset, since: m.now, beginAt: m.now,
		voters: m.lead.voters[:0], observers: m.lead.observers[:0], parked: m.lead.parked[:0],
	}
	for i, v := range m.voters {
		l.voters = append(l.voters, newProgress(v.ReplicaKey))
		change.Voters = append(change.Voters, v.ReplicaKey)
		if m.nominee.ballots[i] == granted {
			change.GrantingVoters = append(change.GrantingVoters, v.ReplicaKey)
		}
	}
	m.lead = l
	m.retries = 0
	m.leaderID = m.cfg.NodeID
	m.changeRole(Leader)
	b := Batch{BaseOffset: m.log.end, Epoch: m.epoch, Changes: m.firstChanges()}
	b.LastOffset = b.BaseOffset + kafka.Offset(len(b.Changes))
	m.appendBatch(b, LogAppend{LeaderChange: &change, Changes: b.Changes})
}

// firstChanges are what goes into the log with the LeaderChange: the voters,
// where only the snapshot of formatting has them, so that they are replicated,
// or where they are wrong about the leader itself.
func (m *Machine) firstChanges() []QuorumChange {
	last := m.history[len(m.history)-1]
	self := m.selfVoter()
	if m.kraftVersion == 0 {
		m.lead.updated, _ = replaceVoter(m.voters, self, false)
		return nil
	}
	if last.offset >= 0 && !m.needsUpdate() {
		return nil
	}
	voters, _ := replaceVoter(m.voters, self, true)
	return []QuorumChange{
		{Offset: m.log.end + 1, KRaftVersion: m.kraftVersion},
		{Offset: m.log.end + 2, KRaftVersion: Unchanged, Voters: voters},
	}
}

func (m *Machine) appendBatch(b Batch, op LogAppend) {
	op.Batches = []Batch{b}
	m.log.append(b)
	m.changeQuorum(b.Changes)
	m.eff.Log = append(m.eff.Log, op)
	m.wakeParked(func(parked) bool { return true })
}

func (m *Machine) handleAppend(a Append) {
	res := AppendResult{Token: a.Token, BaseOffset: kafka.NoOffset, LastOffset: kafka.NoOffset}
	switch {
	case m.state != Leader || a.Epoch != m.epoch:
		res.Err = kafka.NotLeaderOrFollower
	case a.Count < 1:
		res.Err = kafka.InvalidRequest
	default:
		b := Batch{BaseOffset: m.log.end, LastOffset: m.log.end + kafka.Offset(a.Count) - 1, Epoch: m.epoch}
		m.appendBatch(b, LogAppend{Records: a.Records})
		res.BaseOffset, res.LastOffset = b.BaseOffset, b.LastOffset
	}
	m.eff.Appended = append(m.eff.Appended, res)
}

func (m *Machine) pollLeader() {
	if m.now >= m.quorumBy() || m.lead.mustResign {
		m.resign()
		return
	}
	if c := m.lead.change; c != nil && m.now >= c.until {
		m.endChange(kafka.RequestTimedOut, "")
	}
	m.expireParked()
	// A fetch tells the leader all that an answer to BeginQuorumEpoch would, so
	// only voters that are silent are called (KAFKA-16536).
	period := m.cfg.FetchTimeout / 2
	due := m.now >= m.lead.beginAt
	if due {
		m.lead.beginAt = m.now + period
	}
	for i, v := range m.otherVoters {
		p := &m.lead.voters[i]
		p.call = (p.call || due) && (p.fetchedAt < 0 || m.now-p.fetchedAt >= period)
		if p.call && m.canSend(v.ID) {
			p.call = false
			m.send(v.ID, BeginQuorumEpochRequest{ClusterID: m.clusterID(), Voter: v.ReplicaKey, LeaderID: m.cfg.NodeID, LeaderEpoch: m.epoch})
		}
	}
}

func (m *Machine) leaderDeadline() time.Duration {
	d := m.quorumBy()
	if len(m.voters) > 1 {
		d = min(d, m.lead.beginAt)
	}
	for i := range m.lead.parked {
		d = min(d, m.lead.parked[i].until)
	}
	if m.lead.change != nil {
		d = min(d, m.lead.change.until)
	}
	return d
}

// quorumBy is when the leader must resign unless more voters fetch: 1.5 fetch
// timeouts after the time since which a majority, itself included, has been
// heard of (KAFKA-15489). Kafka counts in rounds and may resign later.
func (m *Machine) quorumBy() time.Duration {
	need := m.majority()
	if m.isVoter {
		need--
	}
	if need == 0 {
		return Never
	}
	at := m.scratchAt[:0]
	for i := range m.otherVoters {
		at = append(at, max(m.lead.voters[i].fetchedAt, m.lead.since))
	}
	m.scratchAt = at
	slices.SortFunc(at, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return at[need-1] + m.cfg.FetchTimeout*3/2
}

// advanceHighWatermark moves the high watermark to what a majority of the
// voters holds durably, once that includes a record of this epoch: before,
// a record of an older epoch that a majority holds can still be lost
// (KAFKA-12619).
func (m *Machine) advanceHighWatermark() {
	ends := m.scratchEnd[:0]
	for i, v := range m.voters {
		end := m.lead.voters[i].end
		if v.ID == m.cfg.NodeID {
			end = m.flushed
		}
		ends = append(ends, end)
	}
	m.scratchEnd = ends
	slices.Sort(ends)
	hw := ends[len(ends)-m.majority()]
	if hw <= m.lead.epochStart || hw <= m.lead.hw {
		return
	}
	m.lead.hw = hw
	m.hw = max(m.hw, hw)
	m.changeCommitted()
	if !m.cfg.DisableHWPush {
		m.wakeParked(func(parked) bool { return true }) // also those of replicas that do not say what they know, as Kafka does
	}
}

// track records a valid fetch of a replica, which acknowledges the log below
// offset.
func (m *Machine) track(k ReplicaKey, offset kafka.Offset) {
	if k.ID < 0 || k.ID == m.cfg.NodeID {
		return
	}
	p, isVoter := m.progressOf(k)
	if p == nil {
		return
	}
	switch {
	case offset >= m.log.end:
		p.caughtUp = m.now
	case p.endThen != kafka.NoOffset && offset >= p.endThen:
		p.caughtUp = max(p.caughtUp, p.fetchedAt)
	}
	p.fetchedAt, p.endThen, p.end = m.now, m.log.end, offset
	if isVoter {
		m.advanceHighWatermark()
	}
}

// progressOf finds the progress of a voter, or finds or makes that of an
// observer; nil where there are too many.
func (m *Machine) progressOf(k ReplicaKey) (p *progress, isVoter bool) {
	for i, v := range m.voters {
		if v.includes(k) {
			return &m.lead.voters[i], true
		}
	}
	i, found := slices.BinarySearchFunc(m.lead.observers, k, func(p progress, k ReplicaKey) int { return compareKeys(p.key, k) })
	if !found {
		if len(m.lead.observers) >= m.cfg.MaxObservers {
			m.lead.observers = slices.DeleteFunc(m.lead.observers, m.isExpired)
			if len(m.lead.observers) >= m.cfg.MaxObservers {
				return nil, false
			}
			return m.progressOf(k)
		}
		m.lead.observers = slices.Insert(m.lead.observers, i, newProgress(k))
	}
	return &m.lead.observers[i], false
}

// adoptVoters gives each voter of a new set its progress, as far as it is known,
// and makes observers of those that are voters no more. The new majority has
// 1.5 fetch timeouts to show itself: those that make it now may not have fetched
// lately. A second change must wait for it, so that this happens once.
func (m *Machine) adoptVoters() {
	m.lead.since = m.now
	old := m.lead.voters
	m.lead.voters = make([]progress, 0, len(m.voters))
	for _, v := range m.voters {
		p := newProgress(v.ReplicaKey)
		if i := slices.IndexFunc(old, func(p progress) bool { return v.includes(p.key) || p.key.includes(v.ReplicaKey) }); i >= 0 {
			p = old[i]
			p.key = v.ReplicaKey
			old = slices.Delete(slices.Clone(old), i, i+1)
		} else if i := slices.IndexFunc(m.lead.observers, func(p progress) bool { return v.includes(p.key) }); i >= 0 {
			p = m.lead.observers[i]
			m.lead.observers = slices.Delete(m.lead.observers, i, i+1)
		}
		m.lead.voters = append(m.lead.voters, p)
	}
	for _, p := range old {
		if p.key.ID == m.cfg.NodeID {
			continue
		}
		if i, found := slices.BinarySearchFunc(m.lead.observers, p.key, func(p progress, k ReplicaKey) int { return compareKeys(p.key, k) }); !found {
			m.lead.observers = slices.Insert(m.lead.observers, i, p)
		}
	}
}

func (m *Machine) isExpired(p progress) bool { return m.now-p.fetchedAt >= m.cfg.ObserverExpiry }

func compareKeys(a, b ReplicaKey) int {
	if c := cmp.Compare(a.ID, b.ID); c != 0 {
		return c
	}
	return slices.Compare(a.DirectoryID[:], b.DirectoryID[:])
}

// describe answers DescribeQuorum; anyone but the leader says
// NOT_LEADER_OR_FOLLOWER.
func (m *Machine) describe() DescribeQuorumResponse {
	r := DescribeQuorumResponse{LeaderID: m.leaderID, LeaderEpoch: m.epoch, HighWatermark: kafka.NoOffset}
	if m.state != Leader {
		r.PartitionError = kafka.NotLeaderOrFollower
		return r
	}
	r.HighWatermark = m.lead.hw
	for i, v := range m.voters {
		p := m.lead.voters[i]
		if v.ID == m.cfg.NodeID {
			p.end, p.fetchedAt, p.caughtUp = m.log.end, m.now, m.now
		}
		r.Voters = append(r.Voters, ReplicaState{p.key, p.end, p.fetchedAt, p.caughtUp})
	}
	for _, p := range m.lead.observers {
		if !m.isExpired(p) {
			r.Observers = append(r.Observers, ReplicaState{p.key, p.end, p.fetchedAt, p.caughtUp})
		}
	}
	return r
}
