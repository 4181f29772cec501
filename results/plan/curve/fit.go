package curve

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Point is what was measured at one size.
type Point struct {
	X float64 // the size, such as partitions; over 0
	Y float64 // the cost, such as the median of the trials; over 0
	// Var is the variance of log Y that the trials show: a median of three
	// trials that scatter by 5 % has about 0.0011. Zero where it is not known.
	// It weighs sizes against each other and keeps a fit that happens to go
	// through every point from being believed to.
	Var float64
}

// Least is the number of sizes a fit needs: with two every line is perfect.
const Least = 3

// MostPoints bounds a ladder.
const MostPoints = 64

// ErrTooFew is a ladder of fewer than Least sizes.
var ErrTooFew = errors.New("too few sizes")

// rungSigma is how much one cluster differs from the next of its size where
// the trials do not tell: 2 %. A real ladder is never smoother for long.
const rungSigma = 0.02

// priorDegrees is the weight of what the trials and rungSigma say of the
// residual variance, in observations.
const priorDegrees = 1

// mostWeight bounds how much more one size counts than another.
const mostWeight = 25

// Fit is a fitted ladder. It is not changed after New and may be read from
// any goroutine.
type Fit struct {
	points  []Point   // ascending
	top     float64   // the largest size
	x       []float64 // sizes over top
	logY    []float64
	weight  []float64
	prior   float64 // variance expected beforehand
	Models  []Scored
	Chosen  Model
	pooled  []draw // of all candidates
	chosen  []draw
	chosenI int

	straight float64 // log evidence of the better straight candidate without the largest size
}

// Scored is a candidate and how it did.
type Scored struct {
	Model      Model
	Parameters int
	// Score is the sum over the sizes of the log density that a fit without
	// the size gives to it, in nats. SE is the standard error of its distance
	// from the best.
	Score, SE float64
	Weight    float64 // in the intervals, 0 to 1
	Error     float64 // median over the sizes of the relative error of a fit without it

	curved  bool
	without float64 // log evidence without the largest size
}

// New fits a ladder: points in any order, each size once. The error names a
// value that cannot be fitted, or is ErrTooFew.
func New(points []Point) (*Fit, error) {
	f := &Fit{points: slices.Clone(points)}
	slices.SortFunc(f.points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	if err := f.check(); err != nil {
		return nil, err
	}
	f.top = f.points[len(f.points)-1].X
	for _, p := range f.points {
		f.x = append(f.x, p.X/f.top)
		f.logY = append(f.logY, math.Log(p.Y))
	}
	f.weigh()
	var posts []posterior
	for _, c := range candidates(f.x) {
		posts = append(posts, f.posterior(c))
	}
	f.score(posts)
	f.choose()
	f.draw(posts)
	return f, nil
}

func (f *Fit) check() error {
	if len(f.points) > MostPoints {
		return fmt.Errorf("%d sizes; a fit takes at most %d", len(f.points), MostPoints)
	}
	for i, p := range f.points {
		switch {
		case !(p.X > 0) || math.IsInf(p.X, 0):
			return fmt.Errorf("a size of %v", p.X)
		case !(p.Y > 0) || math.IsInf(p.Y, 0):
			return fmt.Errorf("%v at size %v: only what is over zero has a relative error", p.Y, p.X)
		case !(p.Var >= 0) || math.IsInf(p.Var, 0):
			return fmt.Errorf("a variance of %v at size %v", p.Var, p.X)
		case i > 0 && p.X == f.points[i-1].X:
			return fmt.Errorf("size %v stands twice; pool its values", p.X)
		}
	}
	if len(f.points) < Least {
		return fmt.Errorf("%w: %d; a fit needs %d", ErrTooFew, len(f.points), Least)
	}
	return nil
}

// weigh sets each size's weight, 1 on average, from the variance of its value
// and the variance expected between clusters.
func (f *Fit) weigh() {
	var sum float64
	for _, p := range f.points {
		f.prior += (p.Var + rungSigma*rungSigma) / float64(len(f.points))
	}
	for _, p := range f.points {
		w := f.prior / (p.Var + rungSigma*rungSigma)
		w = min(max(w, 1/math.Sqrt(mostWeight)), math.Sqrt(mostWeight))
		f.weight = append(f.weight, w)
		sum += w
	}
	for i := range f.weight {
		f.weight[i] *= float64(len(f.weight)) / sum
	}
}

// unlikely is how much less evidence than the best a candidate may have to be
// chosen: with few sizes the standard error is so large that cross-validation
// alone would call a clear growth constant. Ten to one is strong evidence
// (Jeffreys, Theory of Probability, 3rd edition, appendix B).
const unlikely = 0.1

// choose takes the simplest candidate whose score is within one standard
// error of the best and whose evidence is not hopeless. One that leaves no
// size to judge it by cannot be chosen; it still widens the intervals.
func (f *Fit) choose() {
	best, most := math.Inf(-1), 0.0
	for _, m := range f.Models {
		most = max(most, m.Weight)
		if f.mayChoose(m) {
			best = max(best, m.Score)
		}
	}
	for _, strict := range []bool{true, false} {
		for i, m := range f.Models {
			if f.mayChoose(m) && m.Score >= best-m.SE && (m.Weight >= unlikely*most || !strict) {
				f.Chosen, f.chosenI = m.Model, i
				return
			}
		}
	}
}

// mayChoose asks for a size more than a fit without one size needs, and of a
// curve that the others show it too: where they are rather straight, it goes
// through the largest size and any slope beyond would do.
func (f *Fit) mayChoose(m Scored) bool {
	return !(m.curved && m.without < f.straight) && len(f.points) >= m.Parameters+1 && (m.Parameters < 3 || len(f.points) >= m.Parameters+2)
}
