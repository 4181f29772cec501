package stat

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// exactSignedRank is the largest number of differences whose signed-rank
// distribution is counted out; beyond it is taken as normal.
const exactSignedRank = 25

// SignedRank is Wilcoxon's test of whether differences lie around zero,
// two-sided. Equal sizes share the mean of their ranks. Zeros take part in the
// ranking and are then left out (Pratt), so that they never make a result more
// significant. The distribution is that over all signs of the ranks at hand,
// ties included: exact for up to 25 differences, normal with a continuity
// correction beyond. No differences or one that is not finite is an error; all
// zeros give 1.
func SignedRank(d []float64) (p float64, err error) {
	if len(d) == 0 {
		return 0, errors.New("signed-rank test: no differences")
	}
	if err := checkFinite("the differences", d); err != nil {
		return 0, err
	}
	ranks, positive := doubledRanks(d)
	total := 0
	for _, r := range ranks {
		total += r
	}
	// The distribution is symmetric: the nearer end decides.
	near := min(positive, total-positive)
	if len(ranks) == 0 || 2*near == total {
		return 1, nil
	}
	if len(d) <= exactSignedRank {
		return min(2*lowerTail(ranks, near), 1), nil
	}
	squares := 0.0
	for _, r := range ranks {
		squares += float64(r) * float64(r)
	}
	// Ranks are doubled: a half step of the correction is one.
	z := (float64(total)/2 - float64(near) - 1) / (math.Sqrt(squares) / 2)
	return min(2*stats.StdNormal.CDF(-z), 1), nil
}

// doubledRanks gives twice the ranks of the sizes that are not zero, which
// makes mean ranks whole, and the sum of those of positive differences.
func doubledRanks(d []float64) (ranks []int, positive int) {
	s := slices.Clone(d)
	slices.SortFunc(s, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && math.Abs(s[j]) == math.Abs(s[i]) {
			j++
		}
		twice := i + 1 + j // (first + last) / 2, doubled
		for _, x := range s[i:j] {
			if x == 0 {
				continue
			}
			ranks = append(ranks, twice)
			if x > 0 {
				positive += twice
			}
		}
		i = j
	}
	return ranks, positive
}

// lowerTail is the share of all choices of signs whose positive ranks sum to
// at most sum. It counts subsets by their sums.
func lowerTail(ranks []int, sum int) float64 {
	ways := make([]float64, sum+1)
	ways[0] = 1
	for _, r := range ranks {
		for s := sum; s >= r; s-- {
			ways[s] += ways[s-r]
		}
	}
	total := 0.0
	for _, w := range ways {
		total += w
	}
	return total / math.Exp2(float64(len(ranks)))
}

// Walsh estimates the middle of differences by the median of all means of two
// of them, each with itself included (Hodges and Lehmann 1963). Its interval
// holds the shifts that SignedRank does not reject, so that, ties aside, it
// leaves out 0 exactly where that test is significant. The estimate is NaN
// where there is no difference or one is not finite; ok is false where there
// are too few for the confidence (six for 0.95).
func Walsh(d []float64, confidence float64) (estimate float64, iv Interval, ok bool) {
	if len(d) == 0 || !finite(d) || !share(confidence) {
		return math.NaN(), Interval{}, false
	}
	s := slices.Sorted(slices.Values(d))
	n := len(s)
	pairs := n * (n + 1) / 2
	rank := func(k int) float64 {
		return orderStatistic(func(x float64) int { return meansUpTo(s, x) }, k)
	}
	estimate = rank((pairs+1)/2)/2 + rank(pairs/2+1)/2
	k := signedRankLimit(n, 1-confidence)
	if k < 1 {
		return estimate, Interval{}, false
	}
	return estimate, Interval{rank(k), rank(pairs + 1 - k)}, true
}

// meansUpTo counts the pairs i <= j of sorted values whose mean is at most x.
func meansUpTo(s []float64, x float64) int {
	count, j := 0, len(s)
	for i := range s {
		for j > i && s[i]/2+s[j-1]/2 > x {
			j--
		}
		if j <= i {
			break
		}
		count += j - i
	}
	return count
}

// signedRankLimit is one more than the largest sum of ranks that the test of n
// differences rejects at alpha, 0 where it rejects none.
func signedRankLimit(n int, alpha float64) int {
	if n > exactSignedRank {
		mean := float64(n) * float64(n+1) / 4
		sd := math.Sqrt(mean * float64(2*n+1) / 6)
		return max(int(math.Floor(mean-0.5-stats.StdNormal.InvCDF(1-alpha/2)*sd))+1, 0)
	}
	k := 0
	for k <= n*(n+1)/4 && 2*lowerTail(untied(n), 2*k) <= alpha {
		k++
	}
	return k
}

// SignedRankNeeds is the smallest number of pairs that SignedRank can call
// significant at alpha, whatever they show: six at 0.05.
func SignedRankNeeds(alpha float64) int {
	n := 1
	for signedRankLimit(n, alpha) == 0 {
		n++
	}
	return n
}

// untied gives the doubled ranks of n different sizes.
func untied(n int) []int {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = 2 * (i + 1)
	}
	return ranks
}
