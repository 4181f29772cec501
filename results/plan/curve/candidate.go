package curve

import "math"

// Model names a candidate.
type Model string

// The candidates, from simple to rich. Where two explain the data equally
// well the one that stands first is shown.
const (
	Constant  Model = "constant"
	Linear    Model = "linear"
	Power     Model = "power"
	Knee      Model = "knee"       // flat, then linear
	TwoSlopes Model = "two slopes" // linear, then linear with another slope
)

// candidate is a family of shapes: a box of parameters with a uniform prior.
type candidate struct {
	model Model
	// parameters counts all that is fitted, the scale included.
	parameters int
	axes       []axis
	shape      func(v []float64) shape
}

// axis is one parameter's range and how finely it is first looked at.
type axis struct {
	lo, hi       float64
	coarse, fine int // cells before and after the box is narrowed
}

// The exponents of power and the ratios of two slopes, as logarithms. A
// recovery that grows faster than the cube, or a slope that changes by more
// than 30 times, has not been seen in any published ladder.
const (
	lowestExponent  = 1.0 / 3
	highestExponent = 3.0
	lowestBend      = 1.0 / 30
	highestBend     = 30.0
)

// leastGrowth is the share of the cost that grows which no ladder could tell
// from none, and the share that stays which none could tell from none.
const leastGrowth = 0.02

// candidates gives the families for a ladder of sizes, ascending, in units of
// the largest. A knee lies where two rungs at least stand on each side of it or
// on it: through one rung beyond it any slope would fit.
func candidates(x []float64) []candidate {
	// The share w is looked at by its odds: what can be told apart is a ratio
	// at both ends.
	odds := axis{math.Log(leastGrowth), math.Log(1 / (leastGrowth * x[0])), 24, 30}
	exponent := axis{math.Log(lowestExponent), math.Log(highestExponent), 12, 20}
	all := []candidate{
		{Constant, 1, nil, func([]float64) shape { return shape{p: 1, rho: 1} }},
		{Linear, 2, []axis{{odds.lo, odds.hi, 60, 80}}, func(v []float64) shape { return shape{w: share(v[0]), p: 1, rho: 1} }},
		{Power, 3, []axis{odds, exponent}, func(v []float64) shape { return shape{w: share(v[0]), p: math.Exp(v[1]), rho: 1} }},
	}
	if len(x) < 5 {
		return all
	}
	knee := axis{math.Log(x[1]), math.Log(x[len(x)-3]), 7, 9}
	bend := axis{math.Log(lowestBend), math.Log(highestBend), 7, 8}
	odds.coarse, odds.fine = 16, 20
	return append(all,
		candidate{Knee, 3, []axis{{odds.lo, odds.hi, 20, 30}, {knee.lo, knee.hi, 12, 30}}, func(v []float64) shape {
			return shape{w: share(v[0]), p: 1, knee: math.Exp(v[1]), rho: math.Inf(1)}
		}},
		candidate{TwoSlopes, 4, []axis{odds, knee, bend}, func(v []float64) shape {
			return shape{w: share(v[0]), p: 1, knee: math.Exp(v[1]), rho: math.Exp(v[2])}
		}},
	)
}

// share turns the logarithm of odds into a share.
func share(logOdds float64) float64 { return 1 / (1 + math.Exp(-logOdds)) }

// cells lists the middles of the grid of the axes, n of them on each. The
// outermost axis turns slowest.
func cells(axes []axis, n func(axis) int) [][]float64 {
	out := [][]float64{nil}
	for _, a := range axes {
		var next [][]float64
		for _, head := range out {
			k := n(a)
			for i := range k {
				v := a.lo + (a.hi-a.lo)*(float64(i)+0.5)/float64(k)
				next = append(next, append(append([]float64(nil), head...), v))
			}
		}
		out = next
	}
	return out
}

// volume is the share of the prior's box that a narrowed box is.
func volume(whole, part []axis) float64 {
	v := 1.0
	for i := range whole {
		if whole[i].hi > whole[i].lo {
			v *= (part[i].hi - part[i].lo) / (whole[i].hi - whole[i].lo)
		}
	}
	return v
}
