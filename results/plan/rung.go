package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"kbench/results"
	"kbench/results/stat"
)

// rung is what was measured of one subject at one number of partitions.
type rung struct {
	partitions int
	values     []float64             // valid trials of all pooled runs; empty where a histogram holds them
	dist       *results.Distribution // nil where values do
	runs       []string              // their ids, for the reader
}

func (r rung) n() int64 {
	if r.dist != nil {
		return r.dist.Count()
	}
	return int64(len(r.values))
}

// rungs collects a subject's rungs, ascending; cells without a valid value
// give none.
func (se *series) rungs(s subject) ([]rung, error) {
	var out []rung
	for _, m := range se.cells {
		if len(out) == 0 || out[len(out)-1].partitions != m.cell.Partitions {
			out = append(out, rung{partitions: m.cell.Partitions})
		}
		if err := out[len(out)-1].add(m, s); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(out, func(r rung) bool { return r.n() == 0 }), nil
}

// add pools the values of a cell. Histograms are merged, values are listed.
func (r *rung) add(m measured, s subject) error {
	key := sampleKey{m.cell.ID, s.workload, s.name()}
	dist, values := m.run.hists[key], m.run.samples[key]
	if r.n() > 0 && (dist == nil) != (r.dist == nil) {
		return fmt.Errorf("%s of %s: one run holds histograms, another values; plan them apart", s.name(), m.cell.ID)
	}
	switch {
	case dist == nil:
		r.values = append(r.values, values...)
	case r.dist == nil:
		r.dist = dist
	default: // the first one belongs to its run
		both := results.NewDistribution()
		if err := errors.Join(both.Merge(r.dist), both.Merge(dist)); err != nil {
			return fmt.Errorf("%s of %s: %w", s.name(), m.cell.ID, err)
		}
		r.dist = both
	}
	r.runs = append(r.runs, m.run.Manifest.ID)
	return nil
}

// atRank is the rank-th smallest value, from 1 to n.
func (r rung) atRank(rank int64) float64 {
	if r.dist == nil {
		return slices.Sorted(slices.Values(r.values))[rank-1]
	}
	lo, _ := r.dist.Min()
	hi, _ := r.dist.Max()
	switch rank {
	case 1:
		return float64(lo)
	case r.n():
		return float64(hi)
	}
	v, _ := r.dist.Quantile((float64(rank) - 0.5) / float64(r.n()) * 100)
	return float64(v)
}

// value is the statistic of the rung: of a percentile the one-sided bound that
// it keeps with 95 % confidence, on the side that is worse. The error says why
// the rung has none.
func (r rung) value(st results.Stat, better results.Direction) (float64, error) {
	n := r.n()
	if n == 0 {
		return 0, fmt.Errorf("%s partitions have no valid value", count(float64(r.partitions)))
	}
	switch st {
	case results.StatMin:
		return r.atRank(1), nil
	case results.StatMax:
		return r.atRank(n), nil
	case results.StatMedian:
		if r.dist == nil {
			return stat.Median(r.values), nil
		}
		return r.atRank((n + 1) / 2), nil
	}
	p, ok := st.Percentile()
	if !ok {
		return 0, fmt.Errorf("%s is no statistic of a cost", st)
	}
	p /= 100
	if better == results.Higher {
		p = 1 - p // the bound is sought from the other end
	}
	rank := upperRank(n, p)
	if rank == 0 {
		return 0, fmt.Errorf("%s needs %d valid values a rung for a 95 %% bound, %s partitions have %d", st, stat.QuantileNeeds(p, stat95), count(float64(r.partitions)), n)
	}
	if better == results.Higher {
		rank = n + 1 - rank
	}
	return r.atRank(rank), nil
}

// stat95 is the confidence of a percentile's bound.
const stat95 = 0.95

// upperRank is the smallest order statistic that bounds the quantile p of n
// values from above with 95 % confidence (binomial; Conover, Practical
// Nonparametric Statistics, 3rd edition, section 3.2), 0 where none does.
func upperRank(n int64, p float64) int64 {
	// log of P(X = k) for X binomial(n, p), summed from k = 0.
	cdf, log := 0.0, float64(n)*math.Log1p(-p)
	for k := int64(0); k < n; k++ {
		cdf += math.Exp(log)
		if cdf >= stat95 {
			return k + 1
		}
		log += math.Log(float64(n-k)/float64(k+1)) + math.Log(p) - math.Log1p(-p)
	}
	return 0
}

// spread is the standard deviation of the logarithms of the trials and its
// degrees of freedom. Values that are nothing beside the median count as a
// thousandth of it.
func (r rung) spread() (sigma float64, degrees int) {
	n := r.n()
	if n < 2 {
		return 0, 0
	}
	if r.dist != nil {
		// The quartiles of a normal are 1.349 deviations apart.
		lo, hi := r.atRank((n+3)/4), r.atRank((3*n+3)/4)
		if lo <= 0 || hi <= 0 {
			return 0, 0
		}
		return math.Log(hi/lo) / 1.349, int(min(n-1, 1000))
	}
	floor := stat.Median(r.values) / 1000
	if !(floor > 0) {
		return 0, 0
	}
	var mean, squares float64
	for _, v := range r.values {
		mean += math.Log(max(v, floor)) / float64(n)
	}
	for _, v := range r.values {
		d := math.Log(max(v, floor)) - mean
		squares += d * d
	}
	return math.Sqrt(squares / float64(n-1)), int(n - 1)
}
