package chart

import (
	"math"
	"strconv"
	"time"
)

// scale maps values to places.
type scale struct {
	lo, hi   float64 // values
	from, to float64 // places
	log      bool
}

// linear makes a scale from zero, or from lo where it is given, to hi.
func linear(lo, hi, from, to float64) scale {
	if !(hi > lo) {
		hi = lo + 1
	}
	return scale{lo: lo, hi: hi, from: from, to: to}
}

// logarithmic makes a scale over positive values with some air at its ends.
func logarithmic(lo, hi, from, to float64) scale {
	if !(lo > 0) || !(hi >= lo) || math.IsInf(hi, 0) {
		lo, hi = 1, 10
	}
	// Within these, no quotient overflows.
	lo, hi = min(max(lo, 1e-100), 1e300), min(max(hi, 1e-100), 1e300)
	air := math.Exp(0.06 * (math.Log(hi) - math.Log(lo)))
	if hi < 1.6*lo { // nearly equal values stand in the middle
		air = 1.6
	}
	return scale{lo: max(lo/air, 1e-200), hi: min(hi*air, 1e305), from: from, to: to, log: true}
}

// holds reports whether a value has a place.
func (s scale) holds(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!s.log || v > 0)
}

// at is the place of a value.
func (s scale) at(v float64) float64 {
	f := (v - s.lo) / (s.hi - s.lo)
	if s.log {
		f = (math.Log(v) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo))
	}
	return s.from + f*(s.to-s.from)
}

// ticks gives about n round values within the scale.
func (s scale) ticks(n int) []float64 {
	if s.log {
		return s.logTicks(n)
	}
	step := roundUp((s.hi - s.lo) / float64(max(n, 1)))
	var out []float64
	first := math.Ceil(s.lo/step - 1e-9)
	for i := range 50 {
		v := (first + float64(i)) * step
		if v > s.hi+step*1e-9 {
			break
		}
		out = append(out, v)
	}
	return out
}

// roundUp gives the next of 1, 2 and 5 times a power of ten.
func roundUp(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// logTicks takes the densest of some rounds of values that is not too dense.
func (s scale) logTicks(n int) []float64 {
	var best []float64
	for _, digits := range [][]float64{{1}, {1, 3}, {1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		var out []float64
		for e := math.Floor(math.Log10(s.lo)); e <= math.Ceil(math.Log10(s.hi)); e++ {
			for _, m := range digits {
				if v := m * math.Pow(10, e); v >= s.lo*(1-1e-9) && v <= s.hi*(1+1e-9) {
					out = append(out, v)
				}
			}
		}
		if len(out) > n && len(best) >= 2 {
			break
		}
		best = out
	}
	if len(best) < 3 { // less than a decade: even steps
		return scale{lo: s.lo, hi: s.hi}.ticks(n - 1)
	}
	for stride := 2; len(best) > n; stride++ { // many decades
		var out []float64
		for i := 0; i < len(best); i += stride {
			out = append(out, best[i])
		}
		best = out
	}
	return best
}

// Label writes a value at an axis.
type Label func(float64) string

// Duration writes nanoseconds as 500 ms or 2.5 s.
func Duration(ns float64) string {
	for _, u := range []struct {
		name string
		size time.Duration
	}{{" s", time.Second}, {" ms", time.Millisecond}, {" µs", time.Microsecond}} {
		if math.Abs(ns) >= 0.9999*float64(u.size) {
			return short(ns/float64(u.size)) + u.name
		}
	}
	return short(ns) + " ns"
}

// Rate writes a number per second as 5k/s.
func Rate(v float64) string { return Count(v) + "/s" }

// Count writes 12k for 12,000.
func Count(v float64) string {
	switch a := math.Abs(v); {
	case a >= 999_950:
		return short(v/1e6) + "M"
	case a >= 1000:
		return short(v/1000) + "k"
	}
	return short(v)
}

// Bytes writes 1.5 MB for 1,500,000.
func Bytes(v float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{" TB", 1e12}, {" GB", 1e9}, {" MB", 1e6}, {" kB", 1e3}} {
		if math.Abs(v) >= 0.9999*u.size {
			return short(v/u.size) + u.name
		}
	}
	return short(v) + " B"
}

// Plain writes a number as it is.
func Plain(v float64) string { return short(v) }

// short writes three digits at most and no trailing zeros.
func short(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(noise(v), 'g', 3, 64)
}

// noise makes 0 of what is left of sums of floats.
func noise(v float64) float64 {
	if math.Abs(v) < 1e-9 {
		return 0
	}
	return v
}
