package curve

import "math"

// shape is the growing part of a cost: y = (1-w) + w*h(x), where h is x to
// the power p, with a bend at knee where rho is not 1. x is in units of the
// largest measured size, so that h(1) = 1.
type shape struct {
	w    float64 // share of the growing part at x = 1, 0 to 1
	p    float64 // exponent, over 0
	knee float64 // over 0; not used where rho is 1
	rho  float64 // slope after the knee by slope before it; +Inf: flat before it
}

// relative is the cost at x as a multiple of the cost at x = 1.
func (s shape) relative(x float64) float64 { return 1 - s.w + s.w*s.growth(x) }

func (s shape) growth(x float64) float64 {
	switch {
	case s.rho == 1:
		return math.Pow(x, s.p)
	case math.IsInf(s.rho, 1):
		return max(0, x-s.knee) / (1 - s.knee)
	}
	return (x + (s.rho-1)*max(0, x-s.knee)) / s.top()
}

// top is the unscaled growth of two slopes at x = 1.
func (s shape) top() float64 { return 1 + (s.rho-1)*(1-s.knee) }

// reaches is the x at which the cost is c times that at x = 1: 0 where it is
// more than that everywhere, +Inf where it never is.
func (s shape) reaches(c float64) float64 {
	h := (c - (1 - s.w)) / s.w // of growth; w = 0 gives an infinity or NaN
	switch {
	case s.w == 0 && c < 1 || h < 0:
		return 0
	case s.w == 0:
		return math.Inf(1)
	case s.rho == 1:
		return math.Pow(h, 1/s.p)
	case math.IsInf(s.rho, 1):
		return s.knee + h*(1-s.knee)
	}
	v := h * s.top()
	if v <= s.knee {
		return v
	}
	return (v + (s.rho-1)*s.knee) / s.rho
}
