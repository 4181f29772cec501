package curve

import "math"

// component is one shape with the posterior of its scale, given the data:
// the variance is nu*s2 over a chi-squared of nu degrees, and the logarithm
// of the scale is normal around mu.
type component struct {
	shape  shape
	log    []float64 // logarithm of the shape at each size
	mu     float64
	spread float64 // weighted sum of squares, the prior's share included
	weight float64 // sums to one over the candidate
}

// posterior is a candidate, fitted.
type posterior struct {
	candidate
	box        []axis      // what the components cover
	cells      [][]float64 // middles of the components' cells
	components []component
	evidence   float64 // log marginal likelihood, up to what all candidates share
}

// kept is how much less likely than the best a shape may be, in nats, before
// the refined grid leaves it out.
const kept = 9

// posterior sums a candidate's shapes over a coarse grid, narrows the box to
// where the mass lies, with either end left out or none, and sums again.
func (f *Fit) posterior(c candidate) posterior {
	p := posterior{candidate: c, box: c.axes}
	if len(c.axes) > 0 {
		p.box = f.narrow(c.axes, f.grid(c, cells(c.axes, func(a axis) int { return a.coarse })))
	}
	p.cells = cells(p.box, func(a axis) int { return a.fine })
	p.components = f.grid(c, p.cells)
	p.evidence = p.marginal(f.normalise(p.components, -1))
	return p
}

// marginal turns a sum over the components into the marginal likelihood over
// the prior's box; both are logarithms.
func (p *posterior) marginal(sum float64) float64 {
	return sum + math.Log(volume(p.axes, p.box)) - math.Log(float64(len(p.cells)))
}

// grid makes the components of parameters.
func (f *Fit) grid(c candidate, points [][]float64) []component {
	out := make([]component, len(points))
	logs := make([]float64, len(points)*len(f.x))
	for i, v := range points {
		out[i].log, logs = logs[:len(f.x):len(f.x)], logs[len(f.x):]
		out[i].become(c.shape(v), f.x)
	}
	return out
}

// become gives the component a shape.
func (c *component) become(s shape, xs []float64) {
	c.shape = s
	for i, x := range xs {
		c.log[i] = math.Log(s.relative(x))
	}
}

// narrow finds the smallest box of whole cells, one more on each side, that
// holds every cell within kept of the best.
func (f *Fit) narrow(axes []axis, comps []component) []axis {
	first, last := make([]int, len(axes)), make([]int, len(axes))
	for d := range axes {
		first[d], last[d] = axes[d].coarse, -1
	}
	level := make([]float64, len(comps))
	for _, out := range []int{-1, 0, len(f.x) - 1} { // the ends hold the shape
		best := math.Inf(-1)
		for i := range comps {
			level[i] = f.likelihood(&comps[i], out)
			best = max(best, level[i])
		}
		for i := range comps {
			if level[i] < best-kept {
				continue
			}
			rest := i
			for d := len(axes) - 1; d >= 0; d-- {
				at := rest % axes[d].coarse
				rest /= axes[d].coarse
				first[d], last[d] = min(first[d], at), max(last[d], at)
			}
		}
	}
	box := make([]axis, len(axes))
	for d, a := range axes {
		step := (a.hi - a.lo) / float64(a.coarse)
		box[d] = a
		box[d].lo = max(a.lo, a.lo+step*float64(first[d]-1))
		box[d].hi = min(a.hi, a.lo+step*float64(last[d]+2))
	}
	return box
}

// likelihood fits the scale of one shape without the size out (-1: with all)
// and returns its log marginal likelihood, up to what all shapes share.
func (f *Fit) likelihood(c *component, out int) float64 {
	var sum, mean float64
	n := 0
	for i, w := range f.weight {
		if i != out {
			mean += w * (f.logY[i] - c.log[i])
			sum += w
			n++
		}
	}
	c.mu = mean / sum
	c.spread = priorDegrees * f.prior
	for i, w := range f.weight {
		if i != out {
			d := f.logY[i] - c.log[i] - c.mu
			c.spread += w * d * d
		}
	}
	return -float64(n-1+priorDegrees) / 2 * math.Log(c.spread)
}

// normalise sets the weights of a candidate's components without the size out
// and returns the logarithm of their sum.
func (f *Fit) normalise(comps []component, out int) float64 {
	best := math.Inf(-1)
	for i := range comps {
		comps[i].weight = f.likelihood(&comps[i], out)
		best = max(best, comps[i].weight)
	}
	var sum float64
	for i := range comps {
		comps[i].weight = math.Exp(comps[i].weight - best)
		sum += comps[i].weight
	}
	for i := range comps {
		comps[i].weight /= sum
	}
	return best + math.Log(sum)
}

// degrees of freedom of the variance, with n sizes.
func degrees(n int) int { return n - 1 + priorDegrees }

// predict is the log density that a candidate fitted without the size out
// gives to it, and the logarithm of its most likely value. The components are
// left fitted without it.
func (f *Fit) predict(comps []component, out int) (density, centre float64) {
	f.normalise(comps, out)
	var weights float64
	for i, w := range f.weight {
		if i != out {
			weights += w
		}
	}
	nu := float64(degrees(len(f.x) - 1))
	var sum float64
	for i := range comps {
		c := &comps[i]
		scale2 := c.spread / nu * (1/f.weight[out] + 1/weights)
		d := f.logY[out] - c.log[out] - c.mu
		sum += c.weight * math.Pow(1+d*d/(nu*scale2), -(nu+1)/2) / math.Sqrt(scale2)
		centre += c.weight * (c.mu + c.log[out])
	}
	return math.Log(max(sum, 1e-300)) + studentConstant(nu), centre
}

// studentConstant is the logarithm of the density of Student's t at zero.
func studentConstant(nu float64) float64 {
	a, _ := math.Lgamma((nu + 1) / 2)
	b, _ := math.Lgamma(nu / 2)
	return a - b - math.Log(nu*math.Pi)/2
}

// score judges every candidate by leave-one-out and weighs it by its evidence.
func (f *Fit) score(posts []posterior) {
	n := len(f.x)
	densities := make([][]float64, len(posts))
	best, bestEvidence := 0, math.Inf(-1)
	f.straight = math.Inf(-1)
	for i, p := range posts {
		s := Scored{Model: p.model, Parameters: p.parameters, curved: p.parameters > 2}
		var errs []float64
		densities[i] = make([]float64, n)
		for out := range n {
			d, centre := f.predict(p.components, out)
			densities[i][out] = d
			s.Score += d
			errs = append(errs, math.Abs(math.Expm1(centre-f.logY[out])))
		}
		s.Error = middle(errs)
		s.without = p.marginal(f.normalise(p.components, n-1))
		if !s.curved {
			f.straight = max(f.straight, s.without)
		}
		f.normalise(p.components, -1)
		f.Models = append(f.Models, s)
		if f.mayChoose(s) && (s.Score > f.Models[best].Score || !f.mayChoose(f.Models[best])) {
			best = i
		}
		bestEvidence = max(bestEvidence, p.evidence)
	}
	var sum float64
	for i := range posts {
		f.Models[i].SE = distanceError(densities[i], densities[best])
		f.Models[i].Weight = math.Exp(posts[i].evidence - bestEvidence)
		sum += f.Models[i].Weight
	}
	for i := range f.Models {
		f.Models[i].Weight /= sum
	}
}

// distanceError is the standard error of the sum of the differences.
func distanceError(a, b []float64) float64 {
	var mean, squares float64
	for i := range a {
		mean += (a[i] - b[i]) / float64(len(a))
	}
	for i := range a {
		d := a[i] - b[i] - mean
		squares += d * d
	}
	n := float64(len(a))
	return math.Sqrt(squares / (n - 1) * n)
}
