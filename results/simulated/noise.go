package simulated

import (
	"math"
	"math/rand/v2"
)

// Noise is multiplicative: a value is its truth times a factor. Factors are
// log-normal around a median of 1, follow an AR(1) process, and a share of
// them are outliers. The zero Noise is none.
type Noise struct {
	Sigma    float64 // standard deviation of the factor's logarithm, 0 or more
	AR       float64 // correlation of neighbours' logarithms, over -1 and under 1
	Outliers float64 // share of factors that are outliers, 0 to 1
	Factor   float64 // by which an outlier is multiplied; 0 means 1
}

// Series draws the factors of length values that follow each other. Their
// spread does not depend on AR: the process is stationary from its start.
func (n Noise) Series(rng *rand.Rand, length int) []float64 {
	out := make([]float64, length)
	innovation := math.Sqrt(1 - n.AR*n.AR)
	var x float64
	for i := range out {
		if z := rng.NormFloat64(); i == 0 {
			x = z
		} else {
			x = n.AR*x + innovation*z
		}
		out[i] = math.Exp(n.Sigma * x)
		if n.Outliers > 0 && rng.Float64() < n.Outliers && n.Factor > 0 {
			out[i] *= n.Factor
		}
	}
	return out
}
