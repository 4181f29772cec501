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
