package stat

import (
	"math"
	"slices"
)

// QuantileUpper bounds the quantile p, over 0 and under 1, from above: the
// smallest order statistic that lies at or over it with the confidence, by the
// binomial distribution of the values under the quantile. ok is false where
// even the maximum does not (fewer than QuantileNeeds values), or a value is
// not finite.
func QuantileUpper(v []float64, p, confidence float64) (bound float64, ok bool) {
	if !share(p) || !share(confidence) || len(v) == 0 || !finite(v) {
		return 0, false
	}
	rank := upperRank(len(v), p, confidence)
	if rank > len(v) {
		return 0, false
	}
	return slices.Sorted(slices.Values(v))[rank-1], true
}

func share(p float64) bool { return p > 0 && p < 1 }

// upperRank is the smallest k with P(Binomial(n, p) >= k) <= 1 - confidence,
// n+1 where there is none. It sums the upper tail from its small end.
func upperRank(n int, p, confidence float64) int {
	logP, logQ := math.Log(p), math.Log1p(-p)
	all, _ := math.Lgamma(float64(n + 1))
	tail := 0.0
	for k := n; k >= 0; k-- {
		up, _ := math.Lgamma(float64(k + 1))
		down, _ := math.Lgamma(float64(n - k + 1))
		tail += math.Exp(all - up - down + float64(k)*logP + float64(n-k)*logQ)
		if tail > (1-confidence)*(1+1e-12) {
			return k + 1
		}
	}
	return 1
}

// QuantileNeeds is the smallest number of values for which QuantileUpper has
// an answer: 59 for 0.95 with confidence 0.95. It is 0 where p or confidence
// is not between 0 and 1.
func QuantileNeeds(p, confidence float64) int {
	if !share(p) || !share(confidence) {
		return 0
	}
	n := max(int(math.Floor(math.Log1p(-confidence)/math.Log(p)))-1, 1)
	for upperRank(n, p, confidence) > n {
		n++
	}
	return n
}
