package curve

import (
	"math"
	"slices"
)

// Confidence of every interval.
const Confidence = 0.95

// Interval bounds a value; Hi is +Inf where nothing bounds it.
type Interval struct{ Lo, Hi float64 }

// Contains reports whether v lies in the interval, ends included.
func (i Interval) Contains(v float64) bool { return v >= i.Lo && v <= i.Hi }

// Estimate is the cost at one size.
type Estimate struct {
	X     float64
	Value float64  // of the chosen candidate
	Curve Interval // where the true curve lies
	Next  Interval // where a new measurement lies: another cluster, as many trials
}

// At is the cost at size x, over 0. How far x lies beyond the ladder is the
// caller's to say.
func (f *Fit) At(x float64) Estimate {
	e := Estimate{X: x, Value: middle(f.values(f.chosen, x, 0))}
	e.Curve = within(f.values(f.pooled, x, 0), e.Value)
	e.Next = within(f.values(f.pooled, x, 1), e.Value)
	return e
}

// values are the costs at x that the draws allow; noise 1 adds what differs
// between clusters.
func (f *Fit) values(ds []draw, x, noise float64) []float64 {
	out := make([]float64, len(ds))
	for i, d := range ds {
		out[i] = math.Exp(d.mu+noise*d.sigma*d.noise) * d.shape.relative(x/f.top)
	}
	return out
}

// Crossing is the size at which the cost reaches y.
type Crossing struct {
	Value    float64 // of the chosen candidate; 0: never under y; +Inf: never reached
	Interval Interval
}

// Crossing finds where the curve reaches the cost y, over 0.
func (f *Fit) Crossing(y float64) Crossing {
	c := Crossing{Value: middle(f.crossings(f.chosen, y))}
	c.Interval = within(f.crossings(f.pooled, y), c.Value)
	return c
}

func (f *Fit) crossings(ds []draw, y float64) []float64 {
	out := make([]float64, len(ds))
	for i, d := range ds {
		out[i] = f.top * d.shape.reaches(y/math.Exp(d.mu))
	}
	return out
}

// within is the interval of the values, widened to hold the estimate.
func within(values []float64, estimate float64) Interval {
	slices.Sort(values)
	tail := (1 - Confidence) / 2
	return Interval{min(quantile(values, tail), estimate), max(quantile(values, 1-tail), estimate)}
}

// Parameters describe the chosen candidate, in the units of x and y. What it
// does not have is zero.
type Parameters struct {
	Offset   float64 // the cost that does not depend on the size
	Slope    float64 // cost for each unit of size: of linear and before a knee
	After    float64 // the same after the knee
	Knee     float64 // size
	Exponent float64
	Top      float64 // the fitted cost at the largest size
}

// Parameters are medians over the chosen candidate's draws.
func (f *Fit) Parameters() Parameters {
	all := make([][]float64, 6)
	for _, d := range f.chosen {
		y, s := math.Exp(d.mu), d.shape
		p := Parameters{Offset: y * (1 - s.w), Top: y}
		switch f.Chosen {
		case Linear:
			p.Slope = y * s.w / f.top
		case Power:
			p.Exponent = s.p
		case Knee:
			p.Knee, p.After = s.knee*f.top, y*s.w/(1-s.knee)/f.top
		case TwoSlopes:
			p.Knee, p.Slope = s.knee*f.top, y*s.w/s.top()/f.top
			p.After = p.Slope * s.rho
		}
		for i, v := range []float64{p.Offset, p.Slope, p.After, p.Knee, p.Exponent, p.Top} {
			all[i] = append(all[i], v)
		}
	}
	return Parameters{middle(all[0]), middle(all[1]), middle(all[2]), middle(all[3]), middle(all[4]), middle(all[5])}
}

// Informs is the share of the variance of where the cost reaches y, on a
// logarithmic scale, that a measurement at x would remove: the squared
// correlation of the two over what the data allow. Crossings are taken as at
// most farthest.
func (f *Fit) Informs(x, y, farthest float64) float64 {
	nearest := f.points[0].X / 10
	var a, b, aa, bb, ab float64
	for i, c := range f.crossings(f.pooled, y) {
		d := f.pooled[i]
		v, c := d.mu+d.sigma*d.noise+math.Log(d.shape.relative(x/f.top)), math.Log(min(max(c, nearest), farthest))
		a, b, aa, bb, ab = a+v, b+c, aa+v*v, bb+c*c, ab+v*c
	}
	n := float64(len(f.pooled))
	va, vb, cov := aa/n-a*a/n/n, bb/n-b*b/n/n, ab/n-a*b/n/n
	if va <= 1e-12 || vb <= 1e-12 {
		return 0
	}
	return cov * cov / va / vb
}
