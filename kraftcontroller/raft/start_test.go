package raft

import "testing"

// A node that led when it was stopped does not lead before it is elected again,
// also in the moment before its first step.
func TestFormerLeaderNamesNobody(t *testing.T) {
	cfg := Config{NodeID: 1, Voters: []Voter{{ReplicaKey: ReplicaKey{ID: 1}}}}
	m, err := New(cfg, Persisted{QuorumState: QuorumState{LeaderID: 1, LeaderEpoch: 3, VotedKey: ReplicaKey{ID: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if r := m.Role(); r.LeaderID != None || r.Epoch != 3 || r.State == Leader {
		t.Errorf("before the first step: %+v", r)
	}
	m.Step(0, Tick{})
	if r := m.Role(); r.LeaderID == 1 && r.State != Leader {
		t.Errorf("not the leader and names itself: %+v", r)
	}
}
