package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how often a bootstrap draws. With fewer values than the others
// say, its 95 % intervals hold the truth less than nine times in ten and are
// not shown.
const (
	resamples  = 10_000
	ratioNeeds = 4 // on each side
	pairsNeed  = 6
)

// resampler draws medians of samples of n with replacement from n sorted
// values. It draws ranks and counts them, so that nothing is sorted.
type resampler struct {
	sorted []float64
	counts []int32
}

func newResampler(v []float64) *resampler {
	return &resampler{slices.Sorted(slices.Values(v)), make([]int32, len(v))}
}

// median draws one resample and gives its median.
func (r *resampler) median(rng *rand.PCG) float64 {
	n := uint64(len(r.sorted))
	clear(r.counts)
	for i := uint64(0); i < n; i += 2 {
		// One draw of 64 bits gives two ranks of 32.
		u := rng.Uint64()
		r.counts[(u>>32)*n>>32]++
		if i+1 < n {
			r.counts[(u&math.MaxUint32)*n>>32]++
		}
	}
	middle := int32((n + 1) / 2)
	i, seen := 0, r.counts[0]
	for seen < middle {
		i++
		seen += r.counts[i]
	}
	if n%2 == 1 || seen > middle {
		return r.sorted[i]
	}
	j := i + 1
	for r.counts[j] == 0 {
		j++
	}
	return r.sorted[i]/2 + r.sorted[j]/2
}

// percentiles gives the interval that holds the confidence's share of drawn,
// which it sorts.
func percentiles(drawn []float64, confidence float64) Interval {
	slices.Sort(drawn)
	cut := int((1 - confidence) / 2 * float64(len(drawn)))
	return Interval{drawn[cut], drawn[len(drawn)-1-cut]}
}

// RatioInterval is median(b) / median(a) and its bootstrap interval (percentile
// method, 10,000 resamples of each side). Both samples are measurements: not
// negative. The ratio of two zeros is 1, of anything else to zero +Inf; it is
// NaN where a sample is empty or holds a negative value or one that is not
// finite. ok is false where there is no interval: fewer than four values on a
// side, or a ratio or bound that is not finite.
func RatioInterval(a, b []float64, confidence float64, seed uint64) (ratio float64, iv Interval, ok bool) {
	if len(a) == 0 || len(b) == 0 || !measured(a) || !measured(b) || !share(confidence) {
		return math.NaN(), Interval{}, false
	}
	ratio = quotient(Median(b), Median(a))
	if min(len(a), len(b)) < ratioNeeds || math.IsInf(ratio, 0) {
		return ratio, Interval{}, false
	}
	rng := rand.NewPCG(seed, resamples)
	ra, rb := newResampler(a), newResampler(b)
	drawn := make([]float64, resamples)
	for i := range drawn {
		drawn[i] = quotient(rb.median(rng), ra.median(rng))
	}
	iv = percentiles(drawn, confidence)
	if math.IsInf(iv.Hi, 0) || math.IsInf(iv.Lo, 0) {
		return ratio, Interval{}, false
	}
	return ratio, iv, true
}

func quotient(b, a float64) float64 {
	if a == b {
		return 1
	}
	return b / a
}

// measured reports whether all values are finite and none is negative.
func measured(v []float64) bool {
	return finite(v) && !slices.ContainsFunc(v, func(x float64) bool { return x < 0 })
}
