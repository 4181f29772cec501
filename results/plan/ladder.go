package plan

import (
	"fmt"
	"math"
	"strings"

	"kbench/results"
	"kbench/results/plan/curve"
)

// ladder is one statistic of one subject over the rungs of a series, fitted
// where it can be.
type ladder struct {
	side   string
	name   string // of the subject, with the workload where it needs one
	metric string // metric.phase, or what of the memory
	stat   string
	unit   results.Unit
	better results.Direction
	rungs  []rungReport
	fit    *curve.Fit
	err    error // why there is no fit

	series  *series
	subject subject
}

// rungReport is one rung as it is shown and fitted.
type rungReport struct {
	Partitions int      `json:"partitions"`
	N          int64    `json:"n"`     // valid values
	Value      float64  `json:"value"` // of the statistic, in the ladder's unit
	Min        float64  `json:"min"`
	Max        float64  `json:"max"`
	Runs       []string `json:"runs,omitempty"`
	variance   float64  // of the logarithm of Value
}

// newLadder takes one statistic of every rung and fits it.
func newLadder(se *series, s subject, st results.Stat) *ladder {
	l := &ladder{side: se.label, name: s.title(), metric: s.name(), stat: string(st), unit: s.metric.Unit, better: s.metric.Better, series: se, subject: s}
	rungs, err := se.rungs(s)
	if err != nil {
		l.err = err
		return l
	}
	l.take(rungs, st)
	l.doFit()
	return l
}

// take fills the ladder's rungs.
func (l *ladder) take(rungs []rung, st results.Stat) {
	pooled := pooledVariance(rungs)
	for _, r := range rungs {
		v, err := r.value(st, l.better)
		if err != nil {
			l.err = err
			return
		}
		l.rungs = append(l.rungs, rungReport{
			Partitions: r.partitions, N: r.n(), Value: v, Min: r.atRank(1), Max: r.atRank(r.n()), Runs: r.runs,
			variance: r.variance(pooled) * ofStat(st, r.n()),
		})
	}
}

// unknownSpread stands for the trials' where no rung has two of them.
const unknownSpread = 0.05

// borrowed is the weight, in degrees of freedom, of the spread of all rungs in
// that of one: three trials do not tell much.
const borrowed = 4

// pooledVariance is the variance of the logarithms of the trials within their
// rungs.
func pooledVariance(rungs []rung) float64 {
	var squares float64
	degrees := 0
	for _, r := range rungs {
		sigma, d := r.spread()
		squares += sigma * sigma * float64(d)
		degrees += d
	}
	if degrees == 0 {
		return unknownSpread * unknownSpread
	}
	return squares / float64(degrees)
}

// variance of the logarithm of one trial of the rung.
func (r rung) variance(pooled float64) float64 {
	sigma, d := r.spread()
	return (borrowed*pooled + float64(d)*sigma*sigma) / float64(borrowed+d)
}

// ofStat is the variance of a statistic of n normal values as a share of that
// of one: the median's (Kenney and Keeping, Mathematics of Statistics, 1962:
// pi/2n for many, nearer to 1/n for few), and for what lies in a tail the
// maximum's of a handful.
func ofStat(st results.Stat, n int64) float64 {
	switch {
	case st != results.StatMedian:
		return 0.5
	case n < 3:
		return 1 / float64(n)
	case n <= 10:
		return 1.35 / float64(n)
	}
	return math.Pi / 2 / float64(n)
}

// doFit fits what was taken. A rate is fitted as the time for each unit.
func (l *ladder) doFit() {
	if l.err != nil {
		return
	}
	if len(l.rungs) < curve.Least {
		l.err = &tooFew{l}
		return
	}
	var points []curve.Point
	for _, r := range l.rungs {
		if !(r.Value > 0) || math.IsInf(r.Value, 0) {
			l.err = fmt.Errorf("the %s at %s partitions is %s: growth is relative, and to nothing it is not", l.stat, count(float64(r.Partitions)), format(r.Value, l.unit))
			return
		}
		points = append(points, curve.Point{X: float64(r.Partitions), Y: l.cost(r.Value), Var: r.variance})
	}
	l.fit, l.err = curve.New(points)
}

// cost is what grows with the cluster; it is its own inverse.
func (l *ladder) cost(v float64) float64 {
	if l.better == results.Higher {
		return 1 / v
	}
	return v
}

// interval turns an interval of costs back.
func (l *ladder) interval(iv curve.Interval) Range {
	lo, hi := l.cost(iv.Lo), l.cost(iv.Hi)
	if lo > hi {
		lo, hi = hi, lo
	}
	return Range{lo, hi}
}

// Range is an interval with 95 % confidence, in the unit of what it is of.
type Range struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

// top and bottom are the ends of the measured ladder, in partitions.
func (l *ladder) top() float64    { return float64(l.rungs[len(l.rungs)-1].Partitions) }
func (l *ladder) bottom() float64 { return float64(l.rungs[0].Partitions) }

// at is the fitted value at a number of partitions.
func (l *ladder) at(partitions float64) Prediction {
	e := l.fit.At(partitions)
	return Prediction{
		Partitions: partitions, Value: l.cost(e.Value), Curve: l.interval(e.Curve), Next: l.interval(e.Next),
		Beyond: beyond(partitions, l.top()),
	}
}

// Prediction is a fitted value.
type Prediction struct {
	Partitions float64 `json:"partitions"`
	Value      float64 `json:"value"`
	Curve      Range   `json:"curve"` // where the true curve lies
	Next       Range   `json:"next"`  // where the next measurement of this size lies
	// Beyond is how many times the largest measured rung this is, 0 within
	// the ladder: then the value is an extrapolation.
	Beyond float64 `json:"beyond,omitempty"`
}

func beyond(partitions, top float64) float64 {
	if partitions <= top {
		return 0
	}
	return partitions / top
}

// tooFew is a ladder of too few rungs for any fit.
type tooFew struct{ l *ladder }

func (e *tooFew) Error() string {
	var have []string
	for _, r := range e.l.rungs {
		have = append(have, count(float64(r.Partitions)))
	}
	rungs := "rungs"
	if len(have) == 1 {
		rungs = "rung"
	}
	return fmt.Sprintf("%d valid %s (%s); a fit needs at least %d, and 6 to tell a bend from a line", len(have), rungs, strings.Join(have, ", "), curve.Least)
}
