package stat

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	descriptive "github.com/montanaflynn/stats"
)

// Alpha is the level under which a difference is called significant.
const Alpha = 0.05

// Interval bounds an estimate. Both ends belong to it.
type Interval struct{ Lo, Hi float64 }

// Contains reports whether v lies in the interval.
func (i Interval) Contains(v float64) bool { return i.Lo <= v && v <= i.Hi }

// checkFinite refuses NaN and infinities, naming the sample and the place.
func checkFinite(name string, v []float64) error {
	for i, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("value %d of %d of %s is %v", i+1, len(v), name, x)
		}
	}
	return nil
}

func finite(v []float64) bool { return checkFinite("v", v) == nil }

// Median is the middle value, the mean of the two in the middle of an even
// number. It is NaN where there is no value or one is not finite.
func Median(v []float64) float64 {
	if !finite(v) {
		return math.NaN()
	}
	m, err := descriptive.Median(v)
	if err != nil {
		return math.NaN()
	}
	if math.IsInf(m, 0) { // the sum of two huge values
		s := slices.Sorted(slices.Values(v))
		m = s[len(s)/2-1]/2 + s[len(s)/2]/2
	}
	return m
}

// MedianInterval bounds the true median by order statistics, for any
// continuous distribution. ok is false where n is too small for the confidence
// (six values for 0.95) or a value is not finite.
func MedianInterval(v []float64, confidence float64) (iv Interval, ok bool) {
	lo, hi, ok := MedianRanks(int64(len(v)), confidence)
	if !ok || !finite(v) {
		return Interval{}, false
	}
	s := slices.Sorted(slices.Values(v))
	return Interval{s[lo-1], s[hi-1]}, true
}

// normalRanks is the sample size from which the binomial is taken as normal.
const normalRanks = 1000

// MedianRanks gives the ranks, from 1 to n, of the order statistics that bound
// the median of n values with the confidence. ok is false where n is too
// small.
func MedianRanks(n int64, confidence float64) (lo, hi int64, ok bool) {
	if n < 1 || !(confidence > 0 && confidence < 1) {
		return 0, 0, false
	}
	if n > normalRanks {
		half := stats.StdNormal.InvCDF((1+confidence)/2) * math.Sqrt(float64(n)) / 2
		lo, hi = int64(float64(n)/2-half), int64(math.Ceil(float64(n)/2+half))+1
		return lo, hi, lo >= 1 && hi <= n
	}
	ci := stats.QuantileCI(int(n), 0.5, confidence)
	lo, hi = int64(ci.LoOrder), int64(ci.HiOrder)
	return lo, hi, lo >= 1 && hi <= n && ci.Confidence >= confidence
}
