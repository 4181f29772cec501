package raft

import (
	"slices"
	"time"

	"kbench/kafka"
)

// parked is a fetch that waits at the leader for the log to grow.
type parked struct {
	id      uint64
	request FetchRequest
	answer  FetchResponse // as at its arrival, sent when it expires
	until   time.Duration
}

// wantsHighWatermark reports whether the replica asked to be told of high
// watermarks and does not know hw yet (KIP-1166).
func (p *parked) wantsHighWatermark(hw kafka.Offset) bool { return hw > p.request.HighWatermark }

// handleFetch answers Fetch, or parks it: INCONSISTENT_CLUSTER_ID,
// INVALID_REQUEST, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
// NOT_LEADER_OR_FOLLOWER.
func (m *Machine) handleFetch(id uint64, r FetchRequest) {
	if !m.sameCluster(r.ClusterID) {
		m.reply(id, FetchResponse{Error: kafka.InconsistentClusterID, LeaderID: None, HighWatermark: kafka.NoOffset})
		return
	}
	if r.MaxWait < 0 || r.FetchOffset < 0 || r.LastFetchedEpoch < 0 || r.LastFetchedEpoch > r.CurrentLeaderEpoch || r.MaxBytes < 0 {
		m.reply(id, m.fetchError(kafka.InvalidRequest))
		return
	}
	if code := m.validateFollower(r.CurrentLeaderEpoch); code != kafka.None {
		m.reply(id, m.fetchError(code))
		return
	}
	answer := m.fetchAnswer(r, true)
	p := parked{id: id, request: r, answer: answer, until: m.now + r.MaxWait}
	push := !m.cfg.DisableHWPush && p.wantsHighWatermark(m.lead.hw)
	if answer.Read != nil || answer.Diverging != nil || answer.Snapshot != nil || r.MaxWait == 0 || push || !m.makeRoom(r.Replica) {
		m.reply(id, answer)
		return
	}
	m.lead.parked = append(m.lead.parked, p)
}

// fetchError is an answer with an error code and the leader that this node
// knows.
func (m *Machine) fetchError(code kafka.ErrorCode) FetchResponse {
	return FetchResponse{
		PartitionError: code, LeaderID: m.leaderID, LeaderEpoch: m.epoch,
		HighWatermark: kafka.NoOffset, LogStartOffset: m.log.start,
	}
}

// fetchAnswer is the leader's answer to a fetch as things are now. With ack the
// fetch is an acknowledgement: it has just arrived.
func (m *Machine) fetchAnswer(r FetchRequest, ack bool) FetchResponse {
	a := FetchResponse{LeaderID: m.cfg.NodeID, LeaderEpoch: m.epoch, LogStartOffset: m.log.start}
	a.Diverging, a.Snapshot = m.log.check(r.FetchOffset, r.LastFetchedEpoch)
	if a.Diverging == nil && a.Snapshot == nil {
		if ack {
			m.track(r.Replica, r.FetchOffset)
		}
		if r.FetchOffset < m.log.end {
			a.Read = &Read{r.FetchOffset, r.MaxBytes}
		}
	}
	a.HighWatermark = m.lead.hw
	return a
}

// makeRoom reports whether one more fetch can be parked. A replica parks one at
// a time: its older one is answered, since it has given that up.
func (m *Machine) makeRoom(k ReplicaKey) bool {
	if k.ID >= 0 {
		for i := range m.lead.parked {
			if p := &m.lead.parked[i]; p.request.Replica == k {
				m.reply(p.id, p.answer)
				m.lead.parked = slices.Delete(m.lead.parked, i, i+1)
				break
			}
		}
	}
	return len(m.lead.parked) < m.cfg.MaxParked
}

// wakeParked answers parked fetches afresh.
func (m *Machine) wakeParked(which func(parked) bool) {
	m.lead.parked = slices.DeleteFunc(m.lead.parked, func(p parked) bool {
		if !which(p) {
			return false
		}
		m.reply(p.id, m.fetchAnswer(p.request, false))
		return true
	})
}

// expireParked sends the answers of fetches that waited long enough as they
// were when the fetch arrived, old high watermark included (KAFKA-15100).
func (m *Machine) expireParked() {
	m.lead.parked = slices.DeleteFunc(m.lead.parked, func(p parked) bool {
		if p.until > m.now {
			return false
		}
		m.reply(p.id, p.answer)
		return true
	})
}

// refuseParked tells every parked fetch that this node leads no more.
func (m *Machine) refuseParked() {
	for _, p := range m.lead.parked {
		m.reply(p.id, m.fetchError(kafka.NotLeaderOrFollower))
	}
	m.lead.parked = slices.Delete(m.lead.parked, 0, len(m.lead.parked))
}

func (m *Machine) cancelParked(id uint64) {
	m.lead.parked = slices.DeleteFunc(m.lead.parked, func(p parked) bool { return p.id == id })
}
