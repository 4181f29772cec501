package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// GESD flags outliers by the generalized extreme Studentized deviate test
// (Rosner 1983) at level alpha: up to maxOutliers values that lie too far from
// the mean of the others, where these are about normal. It returns their
// indices in rising order; nothing is dropped. Latencies are nearer to normal
// as logarithms. The answer is nil where fewer than three values are there or
// one is not finite.
func GESD(v []float64, maxOutliers int, alpha float64) []int {
	n := len(v)
	if n < 3 || !finite(v) || !share(alpha) {
		return nil
	}
	rest := make([]int, n)
	for i := range rest {
		rest[i] = i
	}
	var taken []int
	outliers := 0
	// A deviate needs two values to stand out from.
	for i := 1; i <= min(maxOutliers, n-2); i++ {
		at, r := farthest(v, rest)
		if !(r > 0) {
			break
		}
		taken = append(taken, rest[at])
		rest = slices.Delete(rest, at, at+1)
		if r > gesdLimit(n, i, alpha) {
			outliers = i
		}
	}
	return slices.Sorted(slices.Values(taken[:outliers]))
}

// farthest finds the value of rest that is farthest from their mean, in
// standard deviations, as an index into rest.
func farthest(v []float64, rest []int) (at int, r float64) {
	// Scaled, so that squares of huge values stay finite.
	scale := 0.0
	for _, i := range rest {
		scale = max(scale, math.Abs(v[i]))
	}
	if scale == 0 {
		return 0, 0
	}
	n, mean := float64(len(rest)), 0.0
	for _, i := range rest {
		mean += v[i] / scale / n
	}
	squares, most := 0.0, -1.0
	for k, i := range rest {
		d := math.Abs(v[i]/scale - mean)
		squares += d * d
		if d > most {
			at, most = k, d
		}
	}
	sd := math.Sqrt(squares / (n - 1))
	// Equal values differ by rounding alone.
	if sd < 1e-14 {
		return 0, 0
	}
	return at, most / sd
}

// gesdLimit is the critical value lambda of step i, from 1, of n values.
func gesdLimit(n, i int, alpha float64) float64 {
	left := float64(n - i)
	p := 1 - alpha/(2*(left+1))
	t := stats.InvCDF(stats.TDist{V: left - 1})(p)
	return left * t / math.Sqrt((left-1+t*t)*(left+1))
}
