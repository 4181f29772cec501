package trend

import (
	"math"
	"slices"
)

// Bounds of what an outlier is: so many robust standard deviations from the
// median of the nights before. What lies farther is drawn in, so that a single
// bad night cannot be taken for a level, and two of them hardly.
const (
	outlierBeyond = 5
	outlierDrawn  = 3
	outlierNights = 30    // how many nights it is judged by
	outlierLeast  = 8     // with fewer nothing is an outlier
	outlierRun    = 3     // so many in a row, on one side, are no outliers but a level
	leastSpread   = 0.002 // of logarithms: repeated clocks are never more equal than that
)

// drawer draws outliers in, night by night, looking back only. Values are
// logarithms.
type drawer struct {
	raw     []float64
	values  []float64 // raw, with outliers drawn in
	outlier []bool
	ref     []float64 // what the next night is judged by
	start   int       // the first night of the level
	before  []float64 // ref of the level before, while this one may be an excursion
	run     int       // outliers at the end of the series, all on side
	side    float64
}

// append adds a night. It returns the first night whose value changed: an
// earlier one where outliers turned out to be a level.
func (d *drawer) append(y float64) (changed int) {
	at := len(d.raw)
	d.raw, d.values, d.outlier = append(d.raw, y), append(d.values, y), append(d.outlier, false)
	if d.returned(y) {
		return d.drawExcursion(y)
	}
	if len(d.ref) < outlierLeast {
		d.ref = append(d.ref, y)
		if len(d.ref) == outlierLeast {
			d.before = nil
			return d.judgeFirst()
		}
		return at
	}
	center, spread := medianSpread(d.ref)
	far := (y - center) / spread
	if math.Abs(far) <= outlierBeyond {
		d.run = 0
		d.ref = append(d.ref, y)
		if len(d.ref) > outlierNights {
			d.ref = d.ref[1:]
		}
		return at
	}
	if d.side*far < 0 {
		d.run = 0
	}
	d.run, d.side = d.run+1, far
	d.values[at] = center + math.Copysign(outlierDrawn*spread, far)
	d.outlier[at] = true
	if d.run < outlierRun {
		return at
	}
	// A level: what came before says nothing about it.
	first := at + 1 - d.run
	d.before, d.ref, d.start = d.ref, slices.Clone(d.raw[first:]), first
	copy(d.values[first:], d.raw[first:])
	for i := first; i <= at; i++ {
		d.outlier[i] = false
	}
	d.run = 0
	return first
}

// returned reports whether a night is of the level before again, so that the
// few nights of this one were an excursion.
func (d *drawer) returned(y float64) bool {
	if d.before == nil {
		return false
	}
	center, spread := medianSpread(d.before)
	now, _ := medianSpread(d.ref)
	return math.Abs(y-center) <= outlierBeyond*spread && math.Abs(y-center) < math.Abs(y-now)
}

// drawExcursion draws the nights of an excursion in: left as they are they
// would hide every later change in their spread.
func (d *drawer) drawExcursion(y float64) (changed int) {
	center, spread := medianSpread(d.before)
	last := len(d.raw) - 1
	for i := d.start; i < last; i++ {
		d.values[i] = center + math.Copysign(outlierDrawn*spread, d.raw[i]-center)
		d.outlier[i] = true
	}
	d.ref, d.before = append(d.before, y), nil
	changed, d.start = d.start, last
	return changed
}

// judgeFirst judges the first nights of a level by each other, as soon as they
// are enough. It returns the first night whose value changed.
func (d *drawer) judgeFirst() (changed int) {
	center, spread := medianSpread(d.ref)
	changed = len(d.raw) - 1
	far := func(i int) float64 { return (d.raw[i] - center) / spread }
	for i := d.start; i < len(d.raw); {
		end := i + 1
		if math.Abs(far(i)) > outlierBeyond {
			for end < len(d.raw) && math.Abs(far(end)) > outlierBeyond && far(end)*far(i) > 0 {
				end++
			}
			for j := i; j < end && end-i < outlierRun; j++ {
				d.values[j] = center + math.Copysign(outlierDrawn*spread, far(j))
				d.outlier[j] = true
				changed = min(changed, j)
			}
		}
		i = end
	}
	d.ref = d.ref[:0]
	for i := d.start; i < len(d.raw); i++ {
		if !d.outlier[i] {
			d.ref = append(d.ref, d.raw[i])
		}
	}
	return changed
}

// medianSpread is the median and the standard deviation that the median
// distance from it means for normal values.
func medianSpread(v []float64) (center, spread float64) {
	sorted := slices.Sorted(slices.Values(v))
	middle := func() float64 { return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2 }
	center = middle()
	for i, x := range sorted {
		sorted[i] = math.Abs(x - center)
	}
	slices.Sort(sorted)
	return center, max(1.4826*middle(), leastSpread)
}
