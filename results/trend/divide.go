package trend

import (
	"fmt"
	"math"
	"slices"
)

// Params are those of E-divisive as Otava runs it.
type Params struct {
	Window       int     // nights in a window, at least 2
	MaxP         float64 // of a change point, over 0 to 1
	MinMagnitude float64 // relative change that counts, such as 0.05
}

// DefaultParams are Otava's window and p-value, and 5 %.
func DefaultParams() Params { return Params{Window: 50, MaxP: 0.001, MinMagnitude: 0.05} }

// Split is a change point: the first value of another level.
type Split struct {
	Index     int // from 1
	Before    float64
	After     float64 // means of the values up to the neighbouring splits
	SDBefore  float64
	SDAfter   float64
	P         float64
	Magnitude float64 // the larger of the relative changes forth and back
}

// Divide finds the change points of a series, in order. It is an error where a
// parameter or a value is out of its range; fewer than three values have none.
func Divide(values []float64, p Params) ([]Split, error) {
	if p.Window < 2 || !(p.MaxP > 0 && p.MaxP <= 1) || !(p.MinMagnitude >= 0) {
		return nil, fmt.Errorf("window %d, p %v, magnitude %v: the window is 2 or more, p over 0 and up to 1, the magnitude 0 or more", p.Window, p.MaxP, p.MinMagnitude)
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("value %d of %d is %v", i+1, len(values), v)
		}
	}
	d := divider{params: p}
	return d.divide(values), nil
}

// divider divides a series and its beginnings. It remembers what it found in
// windows that lie before reuse.
type divider struct {
	params Params
	done   []window // in order; each begins where the one before says
}

// window is a part of a series in which divisions were looked for.
type window struct {
	start, end int
	found      []int
	next       int // where the following window starts
}

func (d *divider) divide(values []float64) []Split {
	weak := d.weak(values)
	splits := make([]split, len(weak))
	for i, at := range weak {
		splits[i].at = at
	}
	for i := range splits {
		splits[i].measure(values, splits, i)
	}
	splits = merge(splits, values, d.params)
	out := make([]Split, len(splits))
	for i, s := range splits {
		out[i] = Split{
			Index: s.at, Before: s.before, After: s.after, SDBefore: s.sdBefore, SDAfter: s.sdAfter,
			P: s.p, Magnitude: s.magnitude(),
		}
	}
	return out
}

// firstPass relaxes the p-value: a point that is weak by itself may become
// strong when its neighbours are gone.
func firstPass(p float64) float64 {
	switch {
	case p < 0.05:
		return p * 10
	case p < 0.5:
		return p * 2
	}
	return p
}

// weak collects the divisions of all windows, in order.
func (d *divider) weak(values []float64) []int {
	maxP := firstPass(d.params.MaxP)
	var all []int
	start := 0
	for _, w := range d.done {
		all, start = append(all, w.found...), w.next
	}
	for start < len(values) {
		w := window{start: start, end: min(start+d.params.Window, len(values))}
		for _, at := range divideWindow(values[w.start:w.end], maxP) {
			w.found = append(w.found, start+at)
		}
		w.next = start + d.params.Window/2
		if len(w.found) > 0 {
			w.next = max(w.next, w.found[len(w.found)-1])
		}
		d.done = append(d.done, w)
		all, start = append(all, w.found...), w.next
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// forget drops the windows that a change of the values from index on touches.
func (d *divider) forget(index int) {
	d.done = d.done[:max(0, len(d.done))]
	for i, w := range d.done {
		// A window that was cut by the end of the series reached for more.
		if w.end > index || w.end < w.start+d.params.Window {
			d.done = d.done[:i]
			return
		}
	}
}

// divideWindow divides the part that divides best, as long as the division is
// significant.
func divideWindow(v []float64, maxP float64) []int {
	d := newDivergence(v)
	var cuts []int
	for {
		at, lo, hi := -1, 0, 0
		best := math.Inf(-1)
		for i, start := 0, 0; i <= len(cuts); i++ {
			end := len(v)
			if i < len(cuts) {
				end = cuts[i]
			}
			if end-start > 1 {
				if tau, q := d.best(start, end); q > best {
					at, lo, hi, best = tau, start, end, q
				}
			}
			start = end
		}
		if at < 0 {
			return cuts
		}
		if c := compare(v[lo:at], v[at:hi]); !(c.p <= maxP) {
			return cuts
		}
		cuts = append(cuts, at)
		slices.Sort(cuts)
	}
}

// split is a change point while points are merged.
type split struct {
	at int
	comparison
}

// measure compares the parts up to the neighbouring points.
func (s *split) measure(values []float64, all []split, i int) {
	lo, hi := 0, len(values)
	if i > 0 {
		lo = all[i-1].at
	}
	if i+1 < len(all) {
		hi = all[i+1].at
	}
	s.comparison = compare(values[lo:s.at], values[s.at:hi])
}

// merge takes the weakest point away until all are significant, then the
// smallest until all are large enough. After each removal the point in its
// place and the one behind are measured anew, as Otava does; the one before
// keeps what it had.
func merge(points []split, values []float64, p Params) []split {
	for len(points) > 0 {
		drop := 0
		for i := range points {
			if points[i].p > points[drop].p {
				drop = i
			}
		}
		if points[drop].p < p.MaxP {
			drop = 0
			for i := range points {
				if points[i].magnitude() < points[drop].magnitude() {
					drop = i
				}
			}
			if points[drop].magnitude() > p.MinMagnitude {
				break
			}
		}
		points = slices.Delete(points, drop, drop+1)
		for i := drop; i < min(drop+2, len(points)); i++ {
			points[i].measure(values, points, i)
		}
	}
	return points
}
