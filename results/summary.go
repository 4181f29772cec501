package results

import (
	"fmt"
	"math"
	"slices"

	"github.com/montanaflynn/stats"

	"kbench/results/stat"
)

// Confidence of intervals and of the percentiles that are shown.
const Confidence = 0.95

// Summary describes a set of samples: nothing in it is interpolated except
// the median of an even number, which is the mean of the two in the middle.
type Summary struct {
	N      int
	Min    float64
	Median float64
	Max    float64
	// Lo and Hi bound the true median without an assumption about the
	// distribution (order statistics). HasCI is false where N is too small
	// for Confidence: fewer than six.
	Lo, Hi float64
	HasCI  bool

	sorted []float64
}

// Summarize describes values. Values that are not finite are an error, no
// values are a Summary with N = 0.
func Summarize(values []float64) (Summary, error) {
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Summary{}, fmt.Errorf("sample %d of %d is %v", i+1, len(values), v)
		}
	}
	s := Summary{N: len(values), sorted: slices.Sorted(slices.Values(values))}
	if s.N == 0 {
		return s, nil
	}
	s.Min, s.Median, s.Max = s.sorted[0], stat.Median(s.sorted), s.sorted[s.N-1]
	if lo, hi, ok := stat.MedianRanks(int64(s.N), Confidence); ok {
		s.Lo, s.Hi, s.HasCI = s.sorted[lo-1], s.sorted[hi-1], true
	}
	return s, nil
}

// Percentile is the nearest-rank percentile: the value of a sample. ok is
// false where n does not support p.
func (s Summary) Percentile(p float64) (v float64, ok bool) {
	if !Supports(int64(s.N), p) {
		return 0, false
	}
	v, err := stats.PercentileNearestRank(s.sorted, p)
	return v, err == nil
}

// Value returns a statistic of the summary; ok is false where the samples do
// not support it. n is always there.
func (s Summary) Value(stat Stat) (v float64, ok bool) {
	switch stat {
	case StatN:
		return float64(s.N), true
	case StatMin:
		return s.Min, s.N > 0
	case StatMedian:
		return s.Median, s.N > 0
	case StatMax:
		return s.Max, s.N > 0
	}
	p, ok := stat.Percentile()
	if !ok {
		return 0, false
	}
	return s.Percentile(p)
}

// Supports reports whether n values are enough to describe the percentile p:
// of n independent ones at least one lies beyond it with Confidence. The median
// needs 5 samples, p95 59, p99 299, p99.9 2995. Values that depend on each
// other, as those of one trial do, bound nothing by their number: for them a
// percentile describes what was measured, and what may be concluded goes by the
// number of repeats.
func Supports(n int64, p float64) bool {
	if n <= 0 || !(p > 0 && p < 100) {
		return false
	}
	q := p / 100
	return 1-math.Pow(max(q, 1-q), float64(n)) >= Confidence
}
