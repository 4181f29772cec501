package trend

import "math"

// divergence holds the distances of one window's values and finds where a
// part of the window divides best.
type divergence struct {
	n     int
	dist  []float64 // n × n, |v[i] - v[j]|
	ahead []float64 // n × n, at (t, k) the distances from t to t+1 … k
	back  []float64 // at t the distances from t to 0 … t-1
}

func newDivergence(v []float64) *divergence {
	n := len(v)
	d := &divergence{n: n, dist: make([]float64, n*n), ahead: make([]float64, n*n), back: make([]float64, n)}
	for i := range v {
		var run float64
		for j := range v {
			x := math.Abs(v[i] - v[j])
			d.dist[i*n+j] = x
			if j > i {
				run += x
				d.ahead[i*n+j] = run
				d.back[j] += x
			}
		}
	}
	return d
}

// best finds, in the part [start, end) of at least two values, the division
// whose sides [start, tau) and [tau, kappa) have the largest energy distance q
// over all tau and kappa; tau is returned. The kappa lets a change be seen
// before another follows.
//
// With n and m values on the sides
//
//	q = 2/(n+m) Σ|x-y| - 2m/((n+m)(n-1)) Σ|x-x'| - 2n/((n+m)(m-1)) Σ|y-y'|
//
// whose three sums follow from running sums in constant time each. Of equal
// divisions the first counts.
func (d *divergence) best(start, end int) (tau int, q float64) {
	size := end - start
	// within[i] is Σ|x-x'| over the pairs of [start, start+i].
	within := make([]float64, size)
	for i := 1; i < size; i++ {
		t := start + i
		var outside float64 // distances to what lies before the part
		for j := range start {
			outside += d.dist[j*d.n+t]
		}
		within[i] = within[i-1] + (d.back[t] - outside)
	}
	// across[k] grows with tau to Σ of ahead over [start, tau), for each kappa.
	across := make([]float64, size)
	tail := d.tails(start, end)
	tau, q = start+1, math.Inf(-1)
	for t := start + 1; t < end; t++ {
		n := float64(t - start)
		for k := t; k < end; k++ { // kappa-1
			across[k-start] += d.ahead[(t-1)*d.n+k]
			m, both := float64(k-t+1), float64(k-start+1)
			v := 2 / both * (across[k-start] - within[t-start-1])
			if n > 1 {
				v -= 2 * m / (both * (n - 1)) * within[t-start-1]
			}
			if m > 1 {
				v -= 2 * n / (both * (m - 1)) * tail[(t-start)*size+k-start]
			}
			if v > q {
				tau, q = t, v
			}
		}
	}
	return tau, q
}

// tails gives, at (t, k) counted from start, Σ|y-y'| over the pairs of [t, k].
func (d *divergence) tails(start, end int) []float64 {
	size := end - start
	out := make([]float64, size*size)
	for k := 1; k < size; k++ {
		var run float64
		for t := k - 1; t >= 0; t-- {
			run += d.ahead[(start+t)*d.n+start+k]
			out[t*size+k] = run
		}
	}
	return out
}
