package results

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Distribution is a set of latencies: a histogram, counts of what lay outside
// its range, and the exact minimum and maximum. Distributions are merged,
// never averaged. It is not safe for concurrent use while it is merged into.
type Distribution struct {
	hist  *hdrhistogram.Histogram
	below int64
	above int64
	min   int64 // MaxInt64 while empty
	max   int64 // MinInt64 while empty
}

// NewDistribution is empty.
func NewDistribution() *Distribution {
	return &Distribution{hist: newHistogram(), min: math.MaxInt64, max: math.MinInt64}
}

// Count is how many values there are, those out of range included.
func (d *Distribution) Count() int64 { return d.hist.TotalCount() + d.below + d.above }

// OutOfRange counts values under LowestLatency and over HighestLatency.
func (d *Distribution) OutOfRange() (below, above int64) { return d.below, d.above }

// Min is the exact smallest value; ok is false where there is none.
func (d *Distribution) Min() (v time.Duration, ok bool) {
	return time.Duration(d.min), d.Count() > 0
}

// Max is the exact largest value; ok is false where there is none.
func (d *Distribution) Max() (v time.Duration, ok bool) {
	return time.Duration(d.max), d.Count() > 0
}

// Quantile returns the nearest-rank percentile p, over 0 and under 100: the
// value of an actual sample, within the histogram's three digits. ok is false
// where there is no value. Whether n supports p is Supports' business.
func (d *Distribution) Quantile(p float64) (v time.Duration, ok bool) {
	n := d.Count()
	if n == 0 || !(p > 0 && p < 100) {
		return 0, false
	}
	// The small step back keeps 99 % of 100 at rank 99 in spite of rounding.
	return d.atRank(int64(math.Ceil(p/100*float64(n) - 1e-6))), true
}

// atRank is the value of the rank-th smallest sample, from 1 to Count.
func (d *Distribution) atRank(rank int64) time.Duration {
	inside := d.hist.TotalCount()
	switch {
	case rank <= d.below:
		return time.Duration(d.min)
	case rank > d.below+inside:
		return time.Duration(d.max)
	}
	// The histogram rounds to the nearest rank.
	at := d.hist.ValueAtPercentile(float64(rank-d.below) / float64(inside) * 100)
	return time.Duration(min(max(at, d.min), d.max, int64(HighestLatency)))
}

// Merge adds the values of o to d. It is an error where counts would be lost.
func (d *Distribution) Merge(o *Distribution) error {
	if dropped := d.hist.Merge(o.hist); dropped != 0 {
		return fmt.Errorf("merge histograms: %d values lie outside the range %v to %v", dropped, LowestLatency, HighestLatency)
	}
	d.below += o.below
	d.above += o.above
	d.min, d.max = min(d.min, o.min), max(d.max, o.max)
	return nil
}

// mustMerge merges distributions of this package's own geometry.
func (d *Distribution) mustMerge(o *Distribution) {
	if err := d.Merge(o); err != nil {
		panic("results: " + err.Error())
	}
}
