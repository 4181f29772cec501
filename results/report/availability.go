package report

import (
	"cmp"
	"slices"

	"kbench/results"
)

// Availability is what became of the produces to the probed partitions in one
// valid trial, by the step of time in which they were due.
type Availability struct {
	Cell     string      `json:"cell"`
	Workload string      `json:"workload"`
	Repeat   int         `json:"repeat"`
	Trial    int         `json:"trial"`
	StepNs   int64       `json:"stepNs"` // the width of each element of due and acked, the first of which begins with the trial
	Due      []int64     `json:"due"`
	Acked    []int64     `json:"acked"`
	Faults   []FaultSpan `json:"faults"`
}

// FaultSpan is a fault on its trial's clock.
type FaultSpan struct {
	Node     string `json:"node"`
	How      string `json:"how"`
	FromNs   int64  `json:"fromNs"`             // since the trial began
	HealedNs int64  `json:"healedNs,omitempty"` // when it was undone; absent where that is not told
	ToNs     int64  `json:"toNs"`               // when the cluster was healthy again; the trial's end where that is not told
}

const (
	// untoldStep is the width of a step where an event does not tell it: folders of
	// before had one of a second.
	untoldStep = int64(1e9)
	// maxAvailability bounds the steps of one trial, an hour in tenths of a second:
	// a longer one has wider steps. maxAvailabilityAll bounds those of all trials in
	// one report.
	maxAvailability    = 36_000
	maxAvailabilityAll = 10 * maxAvailability
	// longestTrial bounds how far from its first step a step may lie.
	longestTrial = int64(7 * 24 * 60 * 60e9)
)

// share is the part of a step's produces that was acknowledged; ok is false
// where none was due.
func (a *Availability) share(i int) (share float64, ok bool) {
	if a.Due[i] == 0 {
		return 0, false
	}
	return float64(a.Acked[i]) / float64(a.Due[i]), true
}

// sums are those of all steps.
func (a *Availability) sums() (due, acked int64) {
	for i := range a.Due {
		due, acked = due+a.Due[i], acked+a.Acked[i]
	}
	return due, acked
}

// trialCurve is an availability as it comes, one event a step.
type trialCurve struct {
	Availability
	fromNs, toNs int64 // of its trial, CLOCK_MONOTONIC
}

type curveKey struct {
	cell, workload string
	repeat, trial  int
}

func curveOf(e results.Event) curveKey { return curveKey{e.Cell, e.Workload, e.Repeat, e.Trial} }

// step takes one step of a trial under way. Counts that cannot be are left out.
func (s *story) step(e results.Event) {
	due, acked, step := int64(number(e.Data["due"])), int64(number(e.Data["acked"])), int64(number(e.Data["stepNs"]))
	if due <= 0 || acked < 0 || acked > due {
		return
	}
	c := s.underWay[curveOf(e)]
	if c == nil {
		if step <= 0 || step > longestTrial {
			step = untoldStep
		}
		c = &trialCurve{fromNs: e.MonoNs, Availability: Availability{
			Cell: e.Cell, Workload: e.Workload, Repeat: e.Repeat, Trial: e.Trial, StepNs: step, Faults: []FaultSpan{},
		}}
		s.underWay[curveOf(e)] = c
	}
	since := e.MonoNs - c.fromNs
	if e.MonoNs < c.fromNs || since > longestTrial {
		return
	}
	for since/c.StepNs >= maxAvailability {
		c.widen()
	}
	i := since / c.StepNs
	for int64(len(c.Due)) <= i {
		c.Due, c.Acked = append(c.Due, 0), append(c.Acked, 0)
	}
	c.Due[i] += due
	c.Acked[i] += acked
}

// widen makes one step of every two.
func (a *Availability) widen() {
	n := (len(a.Due) + 1) / 2
	for i := range n {
		due, acked := a.Due[2*i], a.Acked[2*i]
		if 2*i+1 < len(a.Due) {
			due, acked = due+a.Due[2*i+1], acked+a.Acked[2*i+1]
		}
		a.Due[i], a.Acked[i] = due, acked
	}
	a.Due, a.Acked, a.StepNs = a.Due[:n], a.Acked[:n], 2*a.StepNs
}

// endCurve keeps the curve of a trial that is valid.
func (s *story) endCurve(e results.Event) {
	c := s.underWay[curveOf(e)]
	delete(s.underWay, curveOf(e))
	if valid, _ := e.Data["valid"].(bool); c == nil || !valid {
		return
	}
	if s.steps+len(c.Due) > maxAvailabilityAll {
		s.curvesMore++
		return
	}
	s.steps += len(c.Due)
	c.toNs = max(int64(number(e.Data["endNs"])), c.fromNs)
	s.curves = append(s.curves, c)
}

// dropCurves forgets what an attempt measured that is not counted.
func (s *story) dropCurves(cell string, repeat int) {
	s.curves = slices.DeleteFunc(s.curves, func(c *trialCurve) bool { return c.Cell == cell && c.Repeat == repeat })
}

// availabilities gives the curves in the order of cells, each with the faults of
// its trial. The timelines must be settled.
func (s *story) availabilities(place map[string]int) []Availability {
	slices.SortStableFunc(s.curves, func(a, b *trialCurve) int {
		return cmp.Or(cmp.Compare(place[a.Cell], place[b.Cell]), cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(a.fromNs, b.fromNs))
	})
	out := make([]Availability, 0, len(s.curves))
	for _, c := range s.curves {
		for _, w := range s.timelineOf(c.Cell, c.Repeat).faults {
			// A trial that was run again has the same number.
			if w.workload != c.Workload || w.trial != c.Trial || w.fromNs < c.fromNs || w.fromNs > c.toNs {
				continue
			}
			f := FaultSpan{Node: w.node, How: w.how, FromNs: w.fromNs - c.fromNs, ToNs: cmp.Or(w.toNs, c.toNs) - c.fromNs}
			if w.healedNs != 0 {
				f.HealedNs = w.healedNs - c.fromNs
			}
			c.Faults = append(c.Faults, f)
		}
		out = append(out, c.Availability)
	}
	return out
}
