package curve

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// draws is how many curves stand for the posterior: the 2.5 % quantile of
// 4,000 has a standard error of a quarter of a percent point.
const draws = 4000

// draw is one curve that the data allow.
type draw struct {
	shape shape
	mu    float64 // logarithm of the cost at the largest size
	sigma float64 // of the logarithm of a rung's value around the curve
	noise float64 // a standard normal, for the rung measured anew
}

// draw fills the pooled and the chosen draws.
func (f *Fit) draw(posts []posterior) {
	rng := rand.New(rand.NewPCG(0x6b62656e6368, 0x706c616e))
	var total float64
	for _, w := range f.weight {
		total += w
	}
	for i, p := range posts {
		n := int(math.Round(draws * f.Models[i].Weight))
		f.pooled = f.appendDraws(f.pooled, p, n, total, rng)
	}
	f.chosen = f.appendDraws(nil, posts[f.chosenI], draws/4, total, rng)
}

func (f *Fit) appendDraws(to []draw, p posterior, n int, total float64, rng *rand.Rand) []draw {
	sums := make([]float64, len(p.components))
	var sum float64
	for i, c := range p.components {
		sum += c.weight
		sums[i] = sum
	}
	nu := degrees(len(f.x))
	for range n {
		c := p.components[min(sort.SearchFloat64s(sums, rng.Float64()*sum), len(sums)-1)]
		var chi2 float64
		for range nu {
			z := rng.NormFloat64()
			chi2 += z * z
		}
		sigma := math.Sqrt(c.spread / max(chi2, 1e-9))
		to = append(to, draw{c.shape, c.mu + rng.NormFloat64()*sigma/math.Sqrt(total), sigma, rng.NormFloat64()})
	}
	return to
}

// quantile is the nearest-rank quantile of sorted values.
func quantile(sorted []float64, p float64) float64 {
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// middle is the median, by rank.
func middle(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
