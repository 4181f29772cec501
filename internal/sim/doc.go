// Package sim runs a quorum of kraftcontroller/raft machines in a simulated
// world: a seeded scheduler with a virtual clock, a network that loses, delays,
// duplicates and reorders messages and falls into partitions, and disks that
// forget what was not synced when a node crashes, are slow, or fail an fsync,
// clocks that run at different speeds, and voters that come and go. After every
// event it judges the named invariants of Raft and of Kafka's log.
//
// In a world with metadata (Options.Metadata) each controller runs its machine
// over its log as well; brokers observe the log and make images of it as real ones
// do, register, heartbeat, change ISRs, lose directories, leave and ask what
// clients and operators ask. Judged then are the invariants of Kafka's controllers
// too, see ledger.
//
// It owns the world and the judgement; it knows the packages raft, machine and
// broker/loader and must not know files, sockets, clocks or the shells around
// them. A run is single-threaded and a function of its Options: the same seed
// gives the same trace, so a seed that fails is a test case. Tests call it,
// several runs at once on goroutines of their own.
//
//	r := sim.Run(sim.Options{Seed: 42, Events: 5000})
//	if r.Violation != nil {
//		fmt.Println(r.Violation) // which invariant, when, at which node
//	}
package sim
