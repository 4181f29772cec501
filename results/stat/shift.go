package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// orderStatistic is the k-th smallest of values that only upTo knows: how many
// of them are at most x. It halves the range of all numbers, in their order,
// until one is left: that value itself, after at most 64 questions.
func orderStatistic(upTo func(x float64) int, k int) float64 {
	lo, hi := position(math.Inf(-1)), position(math.Inf(1))
	for lo < hi {
		if mid := lo + (hi-lo)/2; upTo(numberAt(mid)) >= k {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return numberAt(lo)
}

const signBit = 1 << 63

// position numbers the floating-point numbers in their order.
func position(x float64) uint64 {
	if b := math.Float64bits(x); b&signBit != 0 {
		return ^b
	} else {
		return b | signBit
	}
}

// numberAt undoes position.
func numberAt(p uint64) float64 {
	if p&signBit != 0 {
		return math.Float64frombits(p &^ signBit)
	}
	return math.Float64frombits(^p)
}

// ShiftRatio is by which factor values of b are larger than those of a: the
// median of all ratios b[j]/a[i] (Hodges and Lehmann 1963, on the logarithmic
// scale). Its interval holds the factors that MannWhitney does not reject, so
// that, ties aside, it leaves out 1 exactly where that test is significant; it
// is exact as far as the test is. Both samples are measurements: not negative.
// ratio is NaN and ok false as of RatioInterval; ok is also false where the
// samples are too small for the confidence.
func ShiftRatio(a, b []float64, confidence float64) (ratio float64, iv Interval, ok bool) {
	if len(a) == 0 || len(b) == 0 || !measured(a) || !measured(b) || !share(confidence) {
		return math.NaN(), Interval{}, false
	}
	r := ratios{slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))}
	pairs := len(a) * len(b)
	ratio = r.rank((pairs + 1) / 2)
	if pairs%2 == 0 {
		// The geometric mean, so that swapping the sides inverts the ratio.
		if other := r.rank(pairs/2 + 1); other != ratio {
			ratio = math.Sqrt(ratio) * math.Sqrt(other)
		}
	}
	k := shiftRank(len(a), len(b), confidence)
	if k < 1 || math.IsInf(ratio, 0) {
		return ratio, Interval{}, false
	}
	iv = Interval{r.rank(k), r.rank(pairs + 1 - k)}
	return ratio, iv, !math.IsInf(iv.Hi, 0)
}

// shiftRank is the rank, from 1, of the ratio that bounds the interval: one
// more than the largest U that the test rejects, 0 where it rejects none. It
// is exact up to the sizes for which MannWhitney is.
func shiftRank(n, m int, confidence float64) int {
	alpha := 1 - confidence
	if n <= stats.MannWhitneyExactLimit && m <= stats.MannWhitneyExactLimit {
		ways, all := rankSums(n, m)
		k, tail := 0, 0.0
		for ; k < len(ways); k++ {
			if tail += ways[k] / all; 2*tail > alpha {
				break
			}
		}
		return k
	}
	mean := float64(n) * float64(m) / 2
	sd := math.Sqrt(mean * float64(n+m+1) / 6)
	return max(int(math.Floor(mean-0.5-stats.StdNormal.InvCDF(1-alpha/2)*sd))+1, 0)
}

// rankSums counts the ways to split n+m different values into n and m that
// have U = 0, 1 and so on up to the middle, and all ways. They are the
// coefficients of the Gaussian binomial (Mann and Whitney 1947): a product of
// (1 - q^(m+i)) / (1 - q^i).
func rankSums(n, m int) (ways []float64, all float64) {
	ways, all = make([]float64, n*m/2+1), 1
	ways[0] = 1
	for i := 1; i <= n; i++ {
		for u := len(ways) - 1; u >= m+i; u-- {
			ways[u] -= ways[u-m-i]
		}
		for u := i; u < len(ways); u++ {
			ways[u] += ways[u-i]
		}
		all *= float64(m+i) / float64(i)
	}
	return ways, all
}

// ratios are all quotients of b over a, both sorted, without listing them.
type ratios struct{ a, b []float64 }

// rank gives the k-th smallest ratio, from 1.
func (r ratios) rank(k int) float64 { return orderStatistic(r.upTo, k) }

// upTo counts the ratios that are at most x. The larger a is, the more values
// of b are under its x-fold.
func (r ratios) upTo(x float64) int {
	count, j := 0, 0
	for _, a := range r.a {
		for j < len(r.b) && quotient(r.b[j], a) <= x {
			j++
		}
		count += j
	}
	return count
}
