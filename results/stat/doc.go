// Package stat is the statistics that kbench decides by, on plain slices of
// numbers: intervals, tests, corrections and outlier flags for small samples
// of skewed latencies. It assumes no distribution where it can do without.
//
// It knows neither runs nor metrics. Every function is pure: it leaves its
// arguments as they are, draws only from the seed that it is given, and may be
// called from any goroutine. Where a sample cannot support an answer there is
// none: ok is false or an error says why, never a number that looks like one.
//
//	ratio, iv, ok := stat.RatioInterval(before, after, 0.95, 1)
//	p, err := stat.MannWhitney(before, after)
//	if err == nil && ok && p < stat.Alpha && !iv.Contains(1) {
//		fmt.Printf("%+.1f %%", (ratio-1)*100)
//	}
//
// Sources: order statistics and the binomial for quantiles (Conover, Practical
// Nonparametric Statistics), Mann and Whitney 1947, Wilcoxon 1945 with zeros
// by Pratt 1959, Efron 1979 for the bootstrap, Holm 1979, Rosner 1983.
package stat
