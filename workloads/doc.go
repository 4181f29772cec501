// Package workloads says what load is, when each operation is due and which
// fault comes when: one file per workload, listed in a registry.
//
// It owns the clocks of every measured quantity (design, section 1), the
// open-loop generators and black-box probes that take them, and the rules that
// make a trial invalid. It must not know how a cluster is run (it sees a
// Cluster), how samples are stored (it writes to a Recorder) or what they mean:
// statistics are the business of results.
//
// Pacing threads run in real time where the kernel allows it (see enterPacing);
// everything else of a generator is an ordinary client.
//
// The harness calls Workload.Run from one goroutine; a workload starts its own
// goroutines and joins them before it returns. Nodes are reached as any Kafka
// client reaches them, over kafka/wire, so that a workload runs unchanged
// against our nodes and against real Kafka; traces of our own nodes add the
// white-box phases where there are any.
//
//	w, _ := workloads.Lookup("controlled-shutdown")
//	err := w.Run(ctx, workloads.Env{Cluster: cluster, Recorder: recorder, Seed: 7,
//		Params: workloads.Params{Trials: 10}})
package workloads
