// Package trend finds the nights from which a figure's level is another, in
// the series that package history gives.
//
// Divide is E-divisive (Matteson and James, arXiv 1306.4933) as Hunter and
// Apache Otava run it (arXiv 2301.03034): windows of 50 nights that overlap by
// half, Student's t in place of permutations, so that equal series give equal
// answers, weak points at ten times the p-value first, then merged until what
// stays is significant and large enough. Its results equal those of Otava
// 0.8.0.
//
// That finds changes; it does not say when to wake somebody. On stationary
// noise with single outliers it reports points that are gone the next night.
// Analyze therefore puts a rule on top (see Rule) that knows outliers,
// neighbouring nights that resemble each other, noisy nights and accepted
// changes, and says of each change whether it is new.
//
//	analysis, err := trend.Analyze(series, accepts, trend.DefaultRule())
//	for _, c := range analysis.Changes {
//		fmt.Println(c.Night, c.Ratio, c.State)
//	}
//
// The analysis is pure and seedless. Text, JSON, SVG and HTML show it.
package trend
