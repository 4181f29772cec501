package stat

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the p-values of one family of tests so that the chance of any
// false alarm among them stays under the level (step-down Bonferroni). The
// result is in the order of p. NaN stands for a test that could not be made:
// it stays NaN and does not count.
func Holm(p []float64) []float64 {
	order := make([]int, 0, len(p))
	out := make([]float64, len(p))
	for i, v := range p {
		if out[i] = math.NaN(); !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	least := 0.0
	for done, i := range order {
		least = max(least, min(p[i]*float64(len(order)-done), 1))
		out[i] = least
	}
	return out
}
