// Package compare sets runs, targets or variants side by side and says where
// they differ by more than noise.
//
// What is compared. Sides are runs, and within them targets or variants where
// asked for. Two cells are compared at the same point of the sweep, and only
// where everything else is equal: every setting of the cell but those that
// variants declare, the workloads with their parameters (but how many trials),
// the provider, the metadata store of the same target, and the environment,
// field by field. Whatever differs is named and refused, unless the caller
// names it to be ignored. Cells that are not valid are left out and named; what
// one side alone measured is listed and enters nothing.
//
// How it is decided. The values of a cell are its trials, all repeats
// together. The test is Mann-Whitney's; the change is the median of all ratios
// of a value of one side to one of the other, with the interval that belongs
// to that test (stat.ShiftRatio), so that both always agree. It may differ a
// little from the ratio of the two medians, which stand beside it. There is a
// difference where p is at most 0.05 and the interval leaves out 1, else `~`:
// not known to differ, which is not known to be equal. The p-values of headline
// phases are corrected together by Holm, since many of them mean many chances
// to be wrong; other phases are shown as they are and are secondary.
//
// Metrics that are taken by histogram (propagation, unavailability) have many
// values in a trial, which are not independent: thousands of them would make
// any difference significant. Their medians and 99th percentiles are shown,
// from merged histograms; tested are those of the repeats, one value each, and
// with fewer repeats than the test needs the answer is `~`.
//
// p speaks of the trials of these clusters. Two runs of one build may differ by
// more, since a cluster is laid out anew: interleaved pairs (package paired)
// answer for that.
//
// The package reads results.Run values and nothing else. It is pure and runs on
// the caller's goroutine.
//
//	c, err := compare.New([]compare.Input{{Label: "old", Run: a}, {Label: "new", Run: b}}, compare.Options{})
//	fmt.Print(c.Text())
package compare
