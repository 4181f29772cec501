// Package gate decides whether a run is good enough: it keeps its thresholds,
// and it is no worse than the nights before it.
//
// A threshold is judged as it is written. A relative one takes as baseline the
// median, over the baseline nights, of the same statistic.
//
// Every headline figure without a relative threshold on its median is judged
// against history. Trials of one night share that night's machine, so that a
// test over trials alone calls every restless night a regression. Therefore
// the night is the unit: its median is compared with the medians of the
// baseline nights by a prediction interval for one further value, Student's t
// over the logarithms with n-1 degrees of freedom and the spread s·√(1+1/n)
// (Hahn and Meeker, Statistical Intervals). Correlation of neighbouring nights
// widens the error of the mean and narrows that of the prediction by about the
// same, so that the formula holds for AR(1) noise too. A regression is what
//
//   - lies beyond the prediction, one-sided, at the level Alpha corrected by
//     Holm over all headline figures of the run,
//   - by Mann and Whitney's test of tonight's trials against those of all
//     baseline nights, where at least four trials are there,
//   - is worse than the baseline by more than the smallest effect that matters
//     and by more than the absolute floor.
//
// All of it must hold. The effect is asked of the estimate, not of the lower
// end of its interval: with ten trials under 5 % of noise an interval that
// clears 5 % would find a regression of 10 % in two of three nights only, the
// rule above finds it in more than nine of ten of a single figure or six, where
// nights differ by 1 % at most. The noise of whole nights is not averaged out by
// trials and Holm divides the level: of 16 figures, one of them worse by 10 %,
// it is found in 88, 80, 42 and 25 of 100 nights where nights differ by 0, 1, 2
// and 3 %. What stays is found again on the nights that follow, by package trend
// too, which looks at several nights together.
//
// Baseline nights are comparable ones (package history says which) since the
// last accepted change, the newest Window of them. A night that was surely a
// regression by this same rule, at a tenth of the level, does not enter: a
// regression that nobody accepted must not become what is usual. Nights that
// stand out (GESD) take no part in mean and spread; both are said.
//
// No data is never a pass: a run that is not valid, a threshold without a
// value and a figure that vanished are Invalid, which is a state of its own.
// Improvements are reported and never fail.
//
// The package reads a results.Run and a history.Log, both in memory, and is
// used by one command; it may be called from any goroutine.
//
//	report, err := gate.Judge(run, log, gate.Options{})
//	os.Exit(report.ExitCode)
package gate
