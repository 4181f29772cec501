package report

import "math"

// envelope keeps a series in a bounded number of bins, each with the least and
// the greatest value of its stretch of time, whatever the order in which the
// values come. Bins double in width when they become too many.
type envelope struct {
	most  int   // bins
	width int64 // ns
	first int64 // number of the first bin: its start is first*width
	bins  []bin
}

// bin is empty where lo is over hi.
type bin struct{ lo, hi float64 }

var emptyBin = bin{math.Inf(1), math.Inf(-1)}

func newEnvelope(most int, width int64) *envelope { return &envelope{most: most, width: width} }

// add takes a value at a time that is not negative. A nil envelope keeps none.
func (e *envelope) add(ns int64, v float64) {
	if e == nil || math.IsNaN(v) || math.IsInf(v, 0) || ns < 0 {
		return
	}
	for {
		at := ns / e.width
		if len(e.bins) == 0 {
			e.first, e.bins = at, []bin{emptyBin}
		}
		if first, last := min(at, e.first), max(at, e.first+int64(len(e.bins))-1); last-first < int64(e.most) {
			e.grow(first, last)
			b := &e.bins[at-e.first]
			b.lo, b.hi = min(b.lo, v), max(b.hi, v)
			return
		}
		e.halve()
	}
}

func (e *envelope) grow(first, last int64) {
	for ; e.first > first; e.first-- {
		e.bins = append(e.bins, emptyBin)
		copy(e.bins[1:], e.bins)
		e.bins[0] = emptyBin
	}
	for e.first+int64(len(e.bins)) <= last {
		e.bins = append(e.bins, emptyBin)
	}
}

// halve makes bins twice as wide.
func (e *envelope) halve() {
	out := make([]bin, 0, len(e.bins)/2+1)
	for i, b := range e.bins {
		if at := (e.first+int64(i))/2 - e.first/2; at == int64(len(out)) {
			out = append(out, b)
		} else {
			out[at].lo, out[at].hi = min(out[at].lo, b.lo), max(out[at].hi, b.hi)
		}
	}
	e.first, e.width, e.bins = e.first/2, 2*e.width, out
}

// shrink halves until there are at most n bins.
func (e *envelope) shrink(n int) {
	for len(e.bins) > max(n, 1) {
		e.halve()
	}
}

// points gives the middles of the bins that are not empty, in seconds from a
// start.
func (e *envelope) points(startNs int64) (at, lo, hi []float64) {
	for i, b := range e.bins {
		if b.lo <= b.hi {
			mid := (float64(e.first+int64(i)) + 0.5) * float64(e.width)
			// The first bin may begin before the start.
			at, lo, hi = append(at, max(mid-float64(startNs), 0)/1e9), append(lo, b.lo), append(hi, b.hi)
		}
	}
	return at, lo, hi
}
