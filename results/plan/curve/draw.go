package curve

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// draws is how many curves stand for the posterior: the 2.5 % quantile of
// 2,400 has a standard error of a third of a percent point.
const draws = 2400

// draw is one curve that the data allow.
type draw struct {
	shape  shape
	mu     float64 // logarithm of the cost at the largest size
	middle float64 // what mu scatters around, for the shape
	sigma  float64 // of the logarithm of a rung's value around the curve
	noise  float64 // a standard normal, for the rung measured anew
}

// draw fills the pooled and the chosen draws. The chosen ones, of which only
// medians are shown, keep each shape's scale at its middle: they scatter less.
func (f *Fit) draw(posts []posterior) {
	rng := rand.New(rand.NewPCG(0x6b62656e6368, 0x706c616e))
	for i, p := range posts {
		f.pooled = append(f.pooled, f.sample(p, int(math.Round(draws*f.Models[i].Weight)), rng)...)
	}
	f.chosen = f.sample(posts[f.chosenI], draws/3, rng)
	for i := range f.chosen {
		f.chosen[i].mu = f.chosen[i].middle
	}
}

// sample draws n curves of a candidate by importance: shapes from anywhere in
// the cells of the grid, the likely ones more often, then of these by what the
// grid got wrong (sampling importance resampling: Rubin 1988). So the answer
// does not depend on where the grid happens to lie.
func (f *Fit) sample(p posterior, n int, rng *rand.Rand) []draw {
	if n == 0 {
		return nil
	}
	proposed := p.components
	if len(p.box) > 0 {
		proposed = f.propose(p, 2*n, rng)
	}
	var total float64
	for _, w := range f.weight {
		total += w
	}
	nu := degrees(len(f.x))
	out := make([]draw, 0, n)
	for _, i := range systematic(proposed, n, rng) {
		c := &proposed[i]
		var chi2 float64
		for range nu {
			z := rng.NormFloat64()
			chi2 += z * z
		}
		sigma := math.Sqrt(c.spread / max(chi2, 1e-9))
		out = append(out, draw{c.shape, c.mu + rng.NormFloat64()*sigma/math.Sqrt(total), c.mu, sigma, rng.NormFloat64()})
	}
	return out
}

// propose draws n shapes and weighs them. Cells are taken by the root of
// their weight, so that the neighbours of a narrow peak are visited too.
func (f *Fit) propose(p posterior, n int, rng *rand.Rand) []component {
	sums := make([]float64, len(p.components))
	var sum float64
	for i, c := range p.components {
		sum += math.Sqrt(c.weight)
		sums[i] = sum
	}
	out := make([]component, n)
	logs := make([]float64, n*len(f.x))
	v := make([]float64, len(p.box))
	best := math.Inf(-1)
	for k := range out {
		i := min(sort.SearchFloat64s(sums, rng.Float64()*sum), len(sums)-1)
		for d, a := range p.box {
			v[d] = p.cells[i][d] + (a.hi-a.lo)/float64(a.fine)*(rng.Float64()-0.5)
		}
		out[k].log, logs = logs[:len(f.x):len(f.x)], logs[len(f.x):]
		out[k].become(p.shape(v), f.x)
		out[k].weight = f.likelihood(&out[k], -1) - math.Log(max(p.components[i].weight, 1e-300))/2
		best = max(best, out[k].weight)
	}
	for k := range out {
		out[k].weight = math.Exp(out[k].weight - best)
	}
	return out
}

// systematic takes n of the components by their weights, evenly: one is taken
// as often as its share of n, rounded up or down.
func systematic(comps []component, n int, rng *rand.Rand) []int {
	var sum float64
	for i := range comps {
		sum += comps[i].weight
	}
	out := make([]int, 0, n)
	start, passed, i := rng.Float64(), 0.0, 0
	for k := range n {
		at := (float64(k) + start) / float64(n) * sum
		for i < len(comps)-1 && passed+comps[i].weight < at {
			passed += comps[i].weight
			i++
		}
		out = append(out, i)
	}
	return out
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
