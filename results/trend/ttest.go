package trend

import (
	"math"

	"github.com/aclements/go-moremath/mathx"
)

// sum adds in pairs, in the order that numpy does: the spread of equal values
// is then zero exactly, or exactly what it is there.
func sum(v []float64) float64 {
	const lanes, block = 8, 128
	switch n := len(v); {
	case n < lanes:
		var s float64
		for _, x := range v {
			s += x
		}
		return s
	case n <= block:
		var r [lanes]float64
		copy(r[:], v)
		i := lanes
		for ; i+lanes <= n; i += lanes {
			for j := range r {
				r[j] += v[i+j]
			}
		}
		s := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for ; i < n; i++ {
			s += v[i]
		}
		return s
	default:
		half := n / 2
		half -= half % lanes
		return sum(v[:half]) + sum(v[half:])
	}
}

// moments are the mean and the standard deviation over n, not n-1.
func moments(v []float64) (mean, sd float64) {
	n := float64(len(v))
	mean = sum(v) / n
	squares := make([]float64, len(v))
	for i, x := range v {
		squares[i] = (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(sum(squares) / n)
}

// comparison is Student's two-sided t-test of two parts of a series.
type comparison struct {
	before, after     float64 // means
	sdBefore, sdAfter float64
	p                 float64 // NaN where both parts are one and the same constant
}

// compare tests whether two parts, neither empty, have one mean. Their
// variances are taken as equal and, as Otava has it, over n: with few values
// the test is a little bold, which the merge's strict p-value pays for.
func compare(left, right []float64) comparison {
	var c comparison
	c.before, c.sdBefore = moments(left)
	c.after, c.sdAfter = moments(right)
	n1, n2 := float64(len(left)), float64(len(right))
	if n1+n2 <= 2 {
		c.p = 1
		return c
	}
	df := n1 + n2 - 2
	pooled := ((n1-1)*c.sdBefore*c.sdBefore + (n2-1)*c.sdAfter*c.sdAfter) / df
	t := (c.before - c.after) / math.Sqrt(pooled*(1/n1+1/n2))
	c.p = twoSided(t, df)
	return c
}

// twoSided is the probability of a |t| at least as large, by the incomplete
// beta function: exact to many digits however small it is.
func twoSided(t, df float64) float64 {
	switch {
	case math.IsNaN(t):
		return math.NaN()
	case math.IsInf(t, 0):
		return 0
	}
	return mathx.BetaInc(df/(df+t*t), df/2, 0.5)
}

// magnitude is the larger of the relative changes forth and back; a mean of
// zero gives none in its direction.
func (c comparison) magnitude() float64 {
	rel := func(from, to float64) float64 {
		if from == 0 {
			return 0
		}
		return math.Abs(to/from - 1)
	}
	return max(rel(c.before, c.after), rel(c.after, c.before))
}
