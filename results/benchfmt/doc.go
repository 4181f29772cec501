// Package benchfmt writes a run folder in the Go benchmark format, so that
// benchstat, benchseries and the like work on it.
//
// A line is one value: of a trial, or, for metrics that are taken by histogram
// (propagation, unavailability), the median or p99 of one repeat: only these are
// independent. So benchstat's median of such a metric is the one of the repeats'
// medians, whereas reports and comparisons show that of all values; their tests
// and intervals are the same. Values of invalid trials and cells are left out.
//
//	goos: linux
//	environment: 5d2f0a6c1b7e9d33
//	BenchmarkRecoveryController/target=zk/variant=base/partitions=10k/phase=load 1 81200000 ns/op
//	BenchmarkPropagation/target=zk/variant=base/partitions=10k/phase=last/stat=p99 3000 4100000 ns/op
//	BenchmarkCreation/target=zk/variant=base/partitions=10k/phase=rate 1 5210 parts/s
//
// File configuration is what two comparable runs have in common, since
// benchstat puts files of other configuration into tables of their own and
// compares nothing between them. What tells runs apart (commit, spec, start)
// stands in comments above. To set targets side by side: benchstat -col /target.
//
// The package reads a results.Run, is pure and runs on the caller's goroutine.
package benchfmt
