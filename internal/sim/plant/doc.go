// Package plant puts bugs into copies of the source and shows that a simulation
// finds them: a checker that cannot fail proves nothing.
//
// It owns how a bug is written down, applied and compiled in; the source itself
// knows nothing of it. Tests of the simulations call it. A simulation has a test
// TestHunt that runs seeds until the first violation and prints
// "HUNT <seed> <invariant> <text>", or "HUNT none"; Teeth runs it in binaries that
// it builds, one bug at a time.
//
//	var bugs = []plant.Bug{{
//		Name:       "double-vote",
//		Edits:      []plant.Edit{{"raft/election.go", "return m.voted.includes(candidate)", "return true"}},
//		Invariants: []string{"VoteOncePerEpoch"},
//	}}
//	plant.Check(t, root, bugs)                 // they still apply
//	plant.Teeth(t, root, bugs, 5000, passes)   // they are found
package plant
