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
