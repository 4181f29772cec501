package trend

import (
	"fmt"
	"math"
	"slices"
	"time"

	"kbench/results"
	"kbench/results/history"
	"kbench/results/stat"
)

// State says what a change is to its reader.
type State string

// States of changes. New is an alert.
const (
	New  State = "new"  // first reported tonight, or in the last nights that the rule takes as news
	Open State = "open" // reported before, not accepted, still recent
	Past State = "past"
)

// Use says whether a night's value was used.
type Use string

// Nights that are not used are shown.
const (
	Used    Use = "used"
	Outlier Use = "outlier" // used, drawn in
	Noisy   Use = "noisy"   // its own repeats differ
	Invalid Use = "invalid"
)

// Point is a night of the series.
type Point struct {
	history.Reading
	Use Use
}

// Change is a night from which the level is another.
type Change struct {
	Point  int // its night, an index into the analysis' Points
	Before float64
	After  float64 // levels in the series' unit: medians of nights, means where the rule is plain
	Ratio  float64 // After/Before
	P      float64 // 0 where nothing varies on either side
	State  State
	Worse  bool
	Since  time.Time // the night that reported it first, where it is recent
}

// Analysis is a series and what the rule says of it.
type Analysis struct {
	history.Series
	Points    []Point
	Changes   []Change         // in order
	Accepts   []history.Accept // of this series, in order
	Spread    float64          // of the nights around their levels, as a standard deviation of logarithms; NaN where fewer than 3
	Elsewhere int              // nights that measured the figure under other settings or in another environment
}

// Analyze judges one series. A night's own A/A noise counts from half of the
// rule's magnitude on. Each accepted change begins the series anew: what lies
// before it is judged by itself and alerts no more.
func Analyze(s history.Series, accepts []history.Accept, r Rule) (Analysis, error) {
	a := Analysis{Series: s, Spread: math.NaN()}
	if r.Window < 2 || !(r.MaxP > 0 && r.MaxP <= 1) || !(r.MinMagnitude >= 0 && r.MinMagnitude < 10) {
		return a, fmt.Errorf("window %d, p %v, magnitude %v: the window is 2 or more, p over 0 and up to 1, the magnitude 0 to 1000 %%", r.Window, r.MaxP, r.MinMagnitude)
	}
	for _, acc := range accepts {
		if acc.Covers(s.Cell, s.Name()) {
			a.Accepts = append(a.Accepts, acc)
		}
	}
	var used []int
	for i, reading := range s.Readings {
		p := Point{reading, Used}
		switch {
		case reading.Why != "" || reading.N == 0:
			p.Use = Invalid
		case !r.Plain && reading.Noisy(r.MinMagnitude/2):
			p.Use = Noisy
		default:
			used = append(used, i)
		}
		a.Points = append(a.Points, p)
	}
	var rests []float64
	for _, era := range a.eras(used, r) {
		rests = append(rests, a.analyzeEra(era, r)...)
	}
	if len(rests) >= 3 {
		_, a.Spread = moments(rests)
	}
	return a, nil
}

// eras cuts the used nights where a change was accepted.
func (a *Analysis) eras(used []int, r Rule) [][]int {
	var eras [][]int
	for _, acc := range a.Accepts {
		cut, _ := slices.BinarySearchFunc(used, acc.RunAt, func(i int, at time.Time) int { return a.Points[i].At.Compare(at) })
		if cut > 0 && !r.Plain {
			eras, used = append(eras, used[:cut]), used[cut:]
		}
	}
	return append(eras, used)
}

// analyzeEra reports the changes of one era and returns how far its nights lie
// from their levels, in logarithms. Only the last era has news.
func (a *Analysis) analyzeEra(era []int, r Rule) (rests []float64) {
	if len(era) == 0 {
		return nil
	}
	last := a.last(era)
	s := newScan(r)
	var changes []found
	for i, at := range era {
		s.append(a.Points[at].Median)
		if i+1 == len(era) || last && i+1 > len(era)-r.Recent {
			changes = s.report()
		}
	}
	for i, outlier := range s.drawer.outlier {
		if outlier {
			a.Points[era[i]].Use = Outlier
		}
	}
	for _, f := range changes {
		a.Changes = append(a.Changes, a.change(f, era, s, last))
	}
	return s.rests(changes)
}

// last reports whether no used night follows the era.
func (a *Analysis) last(era []int) bool {
	for _, p := range a.Points[era[len(era)-1]+1:] {
		if p.Use == Used {
			return false
		}
	}
	return true
}

func (a *Analysis) change(f found, era []int, s *scan, last bool) Change {
	c := Change{Point: era[f.at], Before: expOf(f.before), After: expOf(f.after), P: f.p, State: Past}
	if !s.rule.Plain { // as they were measured, not as they were drawn in
		c.Before, c.After = a.median(era[f.lo:f.at]), a.median(era[f.at:f.hi])
	}
	c.Ratio = expOf(logOf(c.After) - logOf(c.Before))
	m, _, err := results.FindMetric(a.Name())
	c.Worse = (f.after > f.before) == !(err == nil && m.Better == results.Higher)
	if !last || !s.recent(f) || s.rule.Plain && a.accepted(c.Point, s.rule.MinNights) {
		return c
	}
	night := s.firstSaid(f)
	c.Since = a.Points[era[night-1]].At
	c.State = Open
	if len(s.values)-night < s.rule.News {
		c.State = New
	}
	return c
}

// median is that of some nights' medians.
func (a *Analysis) median(nights []int) float64 {
	v := make([]float64, len(nights))
	for i, at := range nights {
		v[i] = a.Points[at].Median
	}
	return stat.Median(v)
}

// accepted reports whether a change near a point was accepted.
func (a *Analysis) accepted(point, within int) bool {
	for _, acc := range a.Accepts {
		at, _ := slices.BinarySearchFunc(a.Points, acc.RunAt, func(p Point, at time.Time) int { return p.At.Compare(at) })
		if d := at - point; -within <= d && d <= within {
			return true
		}
	}
	return false
}

// rests are the distances of the nights from the means of their levels.
func (s *scan) rests(changes []found) []float64 {
	var out []float64
	values := s.logs()
	for i, start := 0, 0; i <= len(changes) && len(values) > 0; i++ {
		end := len(values)
		if i < len(changes) {
			end = changes[i].at
		}
		level := values[start:end]
		if len(level) > 0 {
			mean := sum(level) / float64(len(level))
			for _, v := range level {
				out = append(out, v-mean)
			}
		}
		start = end
	}
	return out
}

// Alerts are the changes that are new.
func (a *Analysis) Alerts() []Change {
	return slices.DeleteFunc(slices.Clone(a.Changes), func(c Change) bool { return c.State != New })
}
