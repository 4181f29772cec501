// Package harness is the life of a run: plan, cluster up, warm-up, drive,
// verify, write the run folder, tear down.
//
// It owns the order of things, the deadlines and the clean-up, and leaves to
// others what a node does (cmd/kbench node), where it runs (harness/provider),
// what load is (workloads) and what numbers mean (results). cmd/kbench calls
// Run; one goroutine drives a run, workloads start their own and join them.
//
// What is run is a sequence of units: single cells of the spec's matrix, or the
// pairs that Interleave orders. A unit in which a cell is invalid is run again
// on new clusters, as often as Retries allows; every attempt is in the manifest
// and its samples in the folder, and only the last one counts. A broken
// invariant is never tried again.
package harness
