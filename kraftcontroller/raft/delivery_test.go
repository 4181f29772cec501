package raft

import (
	"testing"

	"kbench/kafka"
)

// TestDelivery tells a voter's story: it follows, loads a snapshot, takes what is
// committed, is elected and removed from the lead.
func TestDelivery(t *testing.T) {
	d := NewDelivery()
	s := Standing{NodeID: 1, Role: Role{State: Follower, Epoch: 3, LeaderID: 2}, HighWatermark: kafka.NoOffset, LogStart: 4, Snapshot: SnapshotID{EndOffset: 6, Epoch: 2}}
	due := func(what string, want Due) {
		t.Helper()
		if got := d.Due(&s); got != want {
			t.Fatalf("%s: %d is due, want %d", what, got, want)
		}
	}
	told := func(want LeaderAndEpoch) {
		t.Helper()
		if d.Leader() != want {
			t.Fatalf("told of %v, want %v", d.Leader(), want)
		}
	}
	due("a leader is known", LeaderDue)
	told(LeaderAndEpoch{2, 3})
	due("the log begins behind what was delivered", SnapshotDue)
	d.Skip(6)
	due("no high watermark", NothingDue)
	s.HighWatermark = 9
	due("records are committed", BatchesDue)
	if !d.Take(&s, 8) || d.Take(&s, 10) || d.Next() != 8 {
		t.Fatalf("batches up to 8 and not 10 are committed, next is %d", d.Next())
	}
	s.LogStart, s.Snapshot = 7, SnapshotID{EndOffset: 10, Epoch: 3}
	due("a later snapshot is of no use where the log reaches back", BatchesDue)

	s.Role = Role{State: Leader, Epoch: 4, LeaderID: 1, EpochStart: 10}
	due("it is elected, and the leader before is gone", LeaderDue)
	told(LeaderAndEpoch{None, 4})
	due("what the leader before committed", BatchesDue)
	s.HighWatermark = 10
	if !d.Take(&s, 10) {
		t.Fatal("10 is committed")
	}
	due("its epoch start is not committed", NothingDue)
	s.HighWatermark = 11
	due("its epoch start is committed and not handed over", BatchesDue)
	if !d.Take(&s, 11) {
		t.Fatal("11 is committed")
	}
	due("it leads", LeaderDue)
	told(LeaderAndEpoch{1, 4})
	s.Role = Role{State: Resigned, Epoch: 4, LeaderID: None}
	due("it leads no more", LeaderDue)
	told(LeaderAndEpoch{None, 4})
	due("the end", NothingDue)
}
