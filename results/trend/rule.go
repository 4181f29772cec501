package trend

import (
	"math"
	"slices"
)

// Rule says which change points are reported.
//
// Otava's are those that E-divisive gives, all of them. On 1,000 stationary
// nights (log-normal with sigma 0.02 to 0.2, AR(1) with coefficient 0.3, 2 %
// outliers of five times) that run every night they alert 10 to 13 times. The
// rule on top reports of these points only such as keep all of:
//
//   - single outliers are drawn in before (shown as they are, flagged);
//   - at least MinNights nights stand on either side;
//   - a t-test of the logarithms on both sides, with as many independent nights
//     as the correlation of neighbouring nights leaves (n(1-r)/(1+r)), gives at
//     most AlertP, and over all series that are watched together at most four
//     times that (see For);
//   - the levels differ by MinMagnitude at least.
//
// One series alerts 0.8 times in 1,000 nights of that noise, 20 series together
// 3 to 5 times. A step of 10 % in medians of ten trials with 5 % noise is found
// within 4 nights in 94 to 98 of 100 where one series is watched and in 91 to 92
// where 20 are.
type Rule struct {
	Params
	Plain     bool // report what Otava reports, exactly
	MinNights int
	AlertP    float64
	Recent    int // nights within which a change can be news
	News      int // a change that was first reported in so many last nights is new
}

// DefaultRule is the rule above with 3 nights, 0.0001 and 14 nights.
func DefaultRule() Rule {
	return Rule{Params: DefaultParams(), MinNights: 3, AlertP: 1e-4, Recent: 14, News: 1}
}

// moreAlerts is how many times AlertP all series together may spend. One series
// leaves room up to the one alert in 200 nights that a reader bears.
const moreAlerts = 4

// For gives the rule for one of so many series that are watched together: of
// more than moreAlerts each may alert more seldom.
func (r Rule) For(series int) Rule {
	r.AlertP *= min(1, moreAlerts/float64(max(series, 1)))
	return r
}

// levelNights bounds how far a level is looked at on either side of a change:
// slow drift is not the change's.
const levelNights = 60

// found is a reported change in the nights that are used.
type found struct {
	at, hi int     // the first night of the level and the first behind it
	lo     int     // where the level before begins
	before float64 // means of the logarithms
	after  float64
	p      float64
}

// judge keeps what the rule reports of the splits of a series. values are
// logarithms with outliers drawn in.
//
// A split that the rule does not keep is taken away and its neighbours are
// measured anew, as E-divisive merges: of two splits around the first nights of
// a level, some of them drawn in, one stays and then stands on all of them.
func (r Rule) judge(splits []Split, values []float64) []found {
	cuts := make([]int, len(splits))
	for i, s := range splits {
		cuts[i] = s.Index
	}
	out := measureAll(cuts, values)
	if r.Plain {
		for i, s := range splits {
			out[i].before, out[i].after, out[i].p = logOf(s.Before), logOf(s.After), s.P
		}
		return out
	}
	for len(cuts) > 0 {
		drop := r.short(cuts, values)
		if drop < 0 {
			drop = r.weak(out)
		}
		if drop < 0 {
			break
		}
		cuts = slices.Delete(cuts, drop, drop+1)
		out = measureAll(cuts, values)
	}
	return out
}

// short finds a split to take away where fewer than MinNights stand beside it,
// the last first; -1 where there is none.
func (r Rule) short(cuts []int, values []float64) int {
	for i, end := len(cuts)-1, len(values); i >= 0; i, end = i-1, cuts[i] {
		if end-cuts[i] >= r.MinNights {
			continue
		}
		if i+1 == len(cuts) {
			return i
		}
		// The nights go to the side that leaves the stronger split.
		without := func(k int) float64 {
			return measureAll(slices.Delete(slices.Clone(cuts), k, k+1), values)[i].p
		}
		if without(i) < without(i+1) {
			return i
		}
		return i + 1
	}
	if cuts[0] < r.MinNights {
		return 0
	}
	return -1
}

// weak finds the split of the largest p over AlertP, else that of the smallest
// change under MinMagnitude; -1 where there is none.
func (r Rule) weak(all []found) int {
	weakest, smallest := 0, 0
	size := func(i int) float64 { return math.Abs(all[i].after - all[i].before) }
	for i := range all {
		if !(all[i].p <= all[weakest].p) {
			weakest = i
		}
		if size(i) < size(smallest) {
			smallest = i
		}
	}
	switch {
	case !(all[weakest].p <= r.AlertP):
		return weakest
	case size(smallest) < math.Log1p(r.MinMagnitude):
		return smallest
	}
	return -1
}

// measureAll measures each split by the levels beside it.
func measureAll(cuts []int, values []float64) []found {
	out := make([]found, len(cuts))
	for i, at := range cuts {
		f := found{at: at, hi: len(values)}
		if i > 0 {
			f.lo = cuts[i-1]
		}
		if i+1 < len(cuts) {
			f.hi = cuts[i+1]
		}
		f.lo, f.hi = max(f.lo, at-levelNights), min(f.hi, at+levelNights)
		f.measure(values)
		out[i] = f
	}
	return out
}

// mostCorrelated bounds the estimate of the correlation: of few nights it is a
// guess.
const mostCorrelated = 0.6

// measure tests the two levels with the independent nights that they are
// worth. p is NaN where nothing varies and the levels are equal.
func (f *found) measure(values []float64) {
	left, right := values[f.lo:f.at], values[f.at:f.hi]
	n1, n2 := float64(len(left)), float64(len(right))
	f.before, f.after = sum(left)/n1, sum(right)/n2
	var squares, products float64
	for _, level := range []struct {
		v    []float64
		mean float64
	}{{left, f.before}, {right, f.after}} {
		last := 0.0
		for i, x := range level.v {
			rest := x - level.mean
			squares += rest * rest
			if i > 0 {
				products += rest * last
			}
			last = rest
		}
	}
	if n1+n2 <= 2 {
		f.p = 1
		return
	}
	var r float64
	if squares > 0 {
		r = min(max(products/squares, 0), mostCorrelated)
	}
	inflated := (1 + r) / (1 - r)
	variance := squares / (n1 + n2 - 2) * inflated * (1/n1 + 1/n2)
	f.p = twoSided((f.after-f.before)/math.Sqrt(variance), max((n1+n2)/inflated-2, 1))
}

// same reports whether two reports, of different nights, mean one change.
func (f found) same(o found, within int) bool {
	d := f.at - o.at
	return -within <= d && d <= within && (f.after > f.before) == (o.after > o.before)
}
