package raft

import "kbench/kafka"

// LeaderAndEpoch is who leads the quorum in an epoch: None while nobody is known
// to.
type LeaderAndEpoch struct {
	Leader kafka.BrokerID
	Epoch  kafka.LeaderEpoch
}

// Standing is what a node knows of its quorum and of its own log.
type Standing struct {
	NodeID        kafka.BrokerID
	Role          Role
	HighWatermark kafka.Offset // NoOffset where unknown
	LogStart      kafka.Offset
	Snapshot      SnapshotID // the latest one, the zero value for none
}

func (s *Standing) leads() bool { return s.Role.State == Leader && s.Role.LeaderID == s.NodeID }

// Due is what a state machine above the log has to be told next.
type Due uint8

// What may be due.
const (
	NothingDue  Due = iota // until the standing changes
	LeaderDue              // Delivery.Leader
	SnapshotDue            // Standing.Snapshot, whose end Skip is then told
	BatchesDue             // batches of the log from Delivery.Next on, each of which Take is asked for
)

// Delivery decides what the state machine above a node's log hears, and when:
// committed batches in their order, each once, a snapshot where the log does not
// reach back, and changes of leadership. A node hears that it leads only once
// all up to the start of its own epoch was delivered (KAFKA-15345); leaders in
// between may be left out, and epochs never go back.
type Delivery struct {
	next kafka.Offset
	told LeaderAndEpoch
}

// NewDelivery is that of a state machine that has heard nothing.
func NewDelivery() Delivery { return Delivery{told: LeaderAndEpoch{Leader: None}} }

// Next is the offset behind all that was delivered.
func (d *Delivery) Next() kafka.Offset { return d.next }

// Leader is the leadership that was told last.
func (d *Delivery) Leader() LeaderAndEpoch { return d.told }

// Due says what comes next. LeaderDue counts as told.
func (d *Delivery) Due(s *Standing) Due {
	if leader := (LeaderAndEpoch{s.Role.LeaderID, s.Role.Epoch}); leader != d.told {
		// A leader hears of itself when its own epoch start is committed and
		// handed over, everybody else at once.
		if !s.leads() || d.next > s.Role.EpochStart {
			d.told = leader
			return LeaderDue
		}
		if d.told.Leader != None && d.told.Epoch < leader.Epoch {
			d.told = LeaderAndEpoch{None, leader.Epoch}
			return LeaderDue
		}
	}
	switch {
	case (d.next < s.LogStart || d.next == 0) && s.Snapshot.EndOffset > d.next:
		return SnapshotDue
	case s.HighWatermark != kafka.NoOffset && d.next < s.HighWatermark:
		return BatchesDue
	}
	return NothingDue
}

// Take reports whether the batch from Next to end, exclusive, is committed, and
// counts it as delivered if so.
func (d *Delivery) Take(s *Standing, end kafka.Offset) bool {
	if end > s.HighWatermark {
		return false
	}
	d.next = end
	return true
}

// Skip counts a snapshot that ends at end as delivered.
func (d *Delivery) Skip(end kafka.Offset) { d.next = end }
