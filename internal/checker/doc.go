// Package checker judges a cluster after the fact: from the history of what
// was acknowledged, what brokers served at the end, what probes saw meanwhile
// and what nodes traced, it decides whether an invariant of the metadata plane
// was broken.
//
// It owns the invariants and the form in which a history is stored in a run
// folder, so that an old run can be judged again. It knows no cluster, network
// or clock, but for the bound of a search: its input is plain data. The harness calls it when a cell ends,
// the simulator after each schedule; everything runs on the caller's
// goroutine.
//
//	verdict := checker.Check(checker.History{
//		Operations: []checker.Operation{{Kind: checker.CreateTopic, Topic: "a", Partitions: 3, Outcome: checker.Acknowledged}},
//		Views:      []checker.View{{Broker: 1}, {Broker: 2}}, // both lost the topic
//	})
//	// verdict.OK() is false: acknowledged: topic "a" is missing on broker 1 …
package checker
