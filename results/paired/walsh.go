package paired

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"kbench/results/stat"
)

// maxCounted is the largest number of differences whose signed-rank
// distribution is counted out here; beyond it is taken as normal.
const maxCounted = 100

// walsh is the estimate that belongs to the signed-rank test: the median of
// the averages of every two differences, each with itself too, and the
// interval of the shifts that the test does not refuse at the level alpha. ok
// is false where there are too few differences for any refusal: five at 0.05.
func walsh(d []float64, alpha float64) (center float64, iv stat.Interval, ok bool) {
	averages := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i := range d {
		for j := range i + 1 {
			averages = append(averages, d[i]/2+d[j]/2)
		}
	}
	slices.Sort(averages)
	center = stat.Median(averages)
	cut := refused(len(d), alpha/2)
	if cut == 0 {
		return center, iv, false
	}
	return center, stat.Interval{Lo: averages[cut-1], Hi: averages[len(averages)-cut]}, true
}

// refused counts the smallest rank sums of n differences that together have at
// most the probability tail.
func refused(n int, tail float64) int {
	most := n * (n + 1) / 2
	if n > maxCounted {
		mean, sd := float64(most)/2, math.Sqrt(float64(most)*float64(2*n+1)/12)
		return max(int(math.Floor(mean-stats.StdNormal.InvCDF(1-tail)*sd+0.5)), 0)
	}
	// share[s] is the probability that the positive ranks sum to s.
	share := make([]float64, most+1)
	share[0] = 1
	for rank := 1; rank <= n; rank++ {
		for s := most; s >= 0; s-- {
			share[s] /= 2
			if s >= rank {
				share[s] += share[s-rank] / 2
			}
		}
	}
	sum := 0.0
	for s, p := range share {
		if sum += p; sum > tail {
			return s
		}
	}
	return 0
}

// pairsAtLeast is the smallest number of pairs that can decide anything at the
// level alpha.
func pairsAtLeast(alpha float64) int {
	n := 1
	for refused(n, alpha/2) == 0 {
		n++
	}
	return n
}
