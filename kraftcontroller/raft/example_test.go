package raft_test

import (
	"fmt"

	"kbench/kraftcontroller/raft"
)

// A quorum of one: the node elects itself in its first Step, and what it
// appends is committed when its own disk has it.
func Example() {
	m, err := raft.New(
		raft.Config{NodeID: 1, Voters: []raft.Voter{{ReplicaKey: raft.ReplicaKey{ID: 1}}}},
		raft.Persisted{QuorumState: raft.EmptyQuorumState()},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, _ := m.Step(0, raft.Tick{})
	fmt.Println("persist epoch", e.Persist.LeaderEpoch, "state", e.Role.State)
	e, _ = m.Step(0, raft.Append{Token: 7, Epoch: 1, Count: 3, Records: "a b c"})
	fmt.Println("appended", e.Appended[0].BaseOffset, "to", e.Appended[0].LastOffset)
	e, _ = m.Step(0, raft.FlushDone{Seq: 1}) // the LeaderChange record
	fmt.Println("high watermark", e.HighWatermark)
	e, _ = m.Step(0, raft.FlushDone{Seq: 2})
	fmt.Println("high watermark", e.HighWatermark)
	// Output:
	// persist epoch 1 state Leader
	// appended 1 to 3
	// high watermark 1
	// high watermark 4
}
