// Package simulated makes runs whose truth is known: the same values, files
// and manifests that a real run leaves, without a cluster. Statistics, gates,
// plans and reports are tested on them.
//
// Write goes through results.Writer, so that its folders are what the harness
// writes; New holds the same in memory, for thousands of nights in one test.
// Both draw from the seed alone: equal truths give equal values. The package
// knows nothing of clusters and is used by tests only; it runs on the
// goroutine of its caller.
//
//	run, err := simulated.New(simulated.Truth{
//		Name: "nightly", Targets: []string{"zk", "kraft"}, Partitions: []int{1000, 10_000},
//		Metrics: []string{"controlled-shutdown.moved"}, Trials: 10, Seed: 1,
//		Value: func(p simulated.Point) float64 { return float64(p.Partitions) * 1e4 },
//		Noise: &simulated.Noise{Sigma: 0.05},
//	})
package simulated
