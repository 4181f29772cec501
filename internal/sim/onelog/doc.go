// Package onelog simulates one metadata log over a disk that loses what was not
// synced, tears last writes and fails: a seeded run of appends, flushes,
// truncations, snapshots, received snapshots, crashes and disk errors over the
// real metalog.Log, each judged against a model of what the log must hold.
//
// It owns the model and the judgement. It must not know who leads or what a record
// means; kbench/internal/sim simulates that. A run is single-threaded and a
// function of its Options. Tests call it.
//
//	r := onelog.Run(onelog.Options{Seed: 7, Events: 400})
//	if r.Violation != nil {
//		fmt.Println(r.Violation) // which invariant, and at which event
//	}
package onelog
