// Package harness is the life of a run: plan, cluster up, warm-up, drive,
// verify, write the run folder, tear down.
//
// It owns the order of things, the deadlines and the clean-up, and leaves to
// others what a node does (cmd/kbench node), where it runs (harness/provider),
// what load is (workloads) and what numbers mean (results). cmd/kbench calls
// Run; one goroutine drives a run, workloads start their own and join them.
package harness
