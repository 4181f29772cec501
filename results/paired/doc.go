// Package paired judges an interleaved comparison: two sides that were run in
// pairs, one after the other, A B B A, on one machine.
//
// What a pair of cell-runs shares, the state of the machine at that time,
// cancels out in the ratio of its two values. The value of a cell-run is the
// median of its trials: trials of one cluster are not independent, so that
// they must not count as pairs of their own. Where a trial gives many values, as
// propagation does, the 99th percentile is compared beside it.
//
// The test is Wilcoxon's signed-rank test over the logarithms of the ratios.
// Estimate and interval are those that belong to it (Hodges and Lehmann 1963):
// the median of all Walsh averages, and the values that the test does not
// refuse, so that test and interval never contradict each other. They hold for
// any distribution that both sides share, and cost little power: a change of
// 10 % under 5 % of noise is found with ten pairs in 95 of 100 comparisons,
// where the bootstrap interval of the median finds 92. That interval is given
// beside them (10,000 resamples, fixed seed).
//
// One metric is primary and named beforehand; it alone decides. At several
// points of a sweep its p-values are corrected by Holm; all other metrics are
// a second family of their own, corrected likewise. Several may be primary: then
// the variant is faster only where each of them is, at each point, and for such a
// verdict no p-value needs a correction (intersection-union test): it is not told
// wrongly more often than any one of them. The number of pairs is
// fixed before the first one runs: a comparison with fewer is no verdict,
// since stopping at will is choosing the result.
//
// The package reads a results.Run and nothing else. It is pure and may be used
// from any goroutine.
//
//	a, err := paired.Analyse(run, paired.Options{})
//	fmt.Println(a.Points[0].Sentence(a), a.ExitCode(false))
package paired
