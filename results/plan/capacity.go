package plan

import (
	"fmt"
	"math"

	"kbench/results"
)

// Status says what kind of answer an objective got.
type Status string

// The kinds of answers.
const (
	Within       Status = "within"       // the capacity lies in the measured ladder
	Extrapolated Status = "extrapolated" // it lies beyond, by no more than is allowed
	Beyond       Status = "beyond"       // it lies farther than that, or nowhere: only a lower bound is given
	Unmet        Status = "unmet"        // the smallest rung misses the objective already
	Refused      Status = "refused"      // there is no answer; Why says why
)

// MostBeyond is how many times the largest measured rung an answer may lie
// without Options.Extrapolate; with it, farthestBeyond.
const (
	MostBeyond     = 4
	farthestBeyond = 100
)

// Answer is what one side can hold under one objective.
type Answer struct {
	SLO    string       `json:"slo"`
	Side   string       `json:"side"`
	WhatIf string       `json:"whatIf,omitempty"` // the axis values that were asked for
	Metric string       `json:"metric"`           // metric.phase
	Name   string       `json:"name"`             // the metric, with the workload where it is another's
	Stat   string       `json:"stat"`
	Unit   results.Unit `json:"unit"`
	Bound  float64      `json:"bound"` // in Unit
	Status Status       `json:"status"`
	Why    string       `json:"why,omitempty"` // of Refused
	// Partitions is the capacity, Lo and Hi its 95 % interval, rounded to two
	// digits away from a promise. null where there is none: Partitions with
	// Beyond, Unmet and Refused; Hi where the interval is open.
	Partitions *float64 `json:"partitions"`
	Lo         *float64 `json:"lo"`
	Hi         *float64 `json:"hi"`
	AtLeast    float64  `json:"atLeast"`          // the largest rung up to which every measured one keeps it, 0 for none
	Beyond     float64  `json:"beyond,omitempty"` // the capacity in times the largest measured rung, over 1 with Extrapolated
	// Denied is where the fit crosses the objective where that is beyond the
	// largest rung and the rung misses it: Partitions is AtLeast then.
	Denied float64 `json:"denied,omitempty"`
	Exact  float64 `json:"-"` // Partitions, not rounded
	// Worst is the capacity by the largest value of the trials of each rung
	// (the smallest, of a rate) where Stat is the median; null where it lies
	// outside what may be answered, which WorstWords tells.
	Worst      *float64 `json:"worst"`
	WorstWords string   `json:"worstWords,omitempty"`
	Next       *Next    `json:"next,omitempty"`
	Words      string   `json:"words"`
	Warning    string   `json:"warning,omitempty"` // where the back-test of the ladder is far off

	ladder *ladder
	limit  float64 // the farthest partitions that may be answered
}

// answer finds the capacity of a ladder under an objective.
func (l *ladder) answer(s SLO, worst *ladder, extrapolate bool) Answer {
	a := Answer{SLO: s.Text, Side: l.side, Metric: l.metric, Name: l.name, Stat: l.stat, Unit: l.unit, Bound: s.Value, ladder: l}
	if l.err != nil {
		a.Status, a.Why = Refused, l.err.Error()
		return a
	}
	a.limit = l.top() * MostBeyond
	if extrapolate {
		a.limit = l.top() * farthestBeyond
	}
	a.AtLeast = l.holdsUpTo(s)
	c := l.fit.Crossing(l.cost(s.Value))
	if c.Value > l.top() && !s.Holds(l.rungs[len(l.rungs)-1].Value) {
		// What was measured is not smoothed over: beyond a rung that misses
		// nothing is promised.
		a.Denied = round(min(c.Value, farthestBeyond*l.top()), false)
		c.Value = a.AtLeast
		c.Interval.Lo = min(c.Interval.Lo, c.Value)
	}
	a.interval(c.Interval.Lo, c.Interval.Hi)
	a.Exact = c.Value
	switch {
	case c.Value < l.bottom():
		a.Status = Unmet
	case c.Value <= l.top():
		a.Status = Within
	case c.Value <= a.limit:
		a.Status, a.Beyond = Extrapolated, c.Value/l.top()
	default:
		a.Status = Beyond
	}
	if a.Status == Within || a.Status == Extrapolated {
		n := round(c.Value, false)
		a.Partitions = &n
	}
	if worst != nil {
		a.judgeWorst(worst, s.Value)
	}
	a.Next = l.next(s, c.Value)
	a.Words, a.Warning = a.words(), l.backTest().warning()
	return a
}

// judgeWorst answers by the worst value of each rung.
func (a *Answer) judgeWorst(worst *ladder, bound float64) {
	which := "largest"
	if worst.better == results.Higher {
		which = "smallest"
	}
	a.WorstWords = fmt.Sprintf("by the %s value of each rung instead of its median: ", which)
	if worst.err != nil {
		a.WorstWords += "no fit: " + worst.err.Error()
		return
	}
	w := worst.fit.Crossing(worst.cost(bound)).Value
	switch {
	case w < worst.bottom():
		a.WorstWords += "missed at the smallest rung"
	case w > a.limit:
		a.WorstWords += "not reached within " + count(a.limit) + " either"
	default:
		w = round(w, false)
		a.Worst = &w
		a.WorstWords += count(w) + " partitions"
	}
}

// interval sets Lo and Hi; what lies farther than may be answered is open.
func (a *Answer) interval(lo, hi float64) {
	lo = round(min(lo, a.limit), false)
	a.Lo = &lo
	if hi <= a.limit {
		hi = round(hi, true)
		a.Hi = &hi
	}
}

// holdsUpTo is the largest rung up to which all measured values keep the
// objective.
func (l *ladder) holdsUpTo(s SLO) float64 {
	held := 0.0
	for _, r := range l.rungs {
		if !s.Holds(r.Value) {
			break
		}
		held = float64(r.Partitions)
	}
	return held
}

// meets judges a need: the lower end of the interval reaches it.
func (a Answer) meets(need float64) bool {
	return a.Status != Refused && a.Status != Unmet && a.Lo != nil && *a.Lo >= need
}

// words is the answer as a sentence.
func (a Answer) words() string {
	with := fmt.Sprintf("with SLO %s %s", a.SLO, a.Side)
	if a.Stat == string(results.StatMedian) {
		with = fmt.Sprintf("with SLO %s (median) %s", a.SLO, a.Side)
	}
	l := a.ladder
	top := count(l.top())
	switch a.Status {
	case Within:
		if a.Denied > 0 {
			fit := "the fit does not reach it"
			if a.Denied < l.top()*farthestBeyond {
				fit = "the fit reaches it only at " + count(a.Denied)
			}
			return fmt.Sprintf("%s holds %s partitions (95 %%: %s), the largest rung up to which all keep it; %s miss it as measured, although %s", with, count(*a.Partitions), a.rangeWords(), top, fit)
		}
		return fmt.Sprintf("%s holds %s partitions (95 %%: %s)", with, count(*a.Partitions), a.rangeWords())
	case Extrapolated:
		return fmt.Sprintf("%s holds %s partitions (95 %%: %s): an EXTRAPOLATION, %s beyond the largest measured rung (%s)", with, count(*a.Partitions), a.rangeWords(), times(a.Beyond), top)
	case Unmet:
		return fmt.Sprintf("%s misses it at the smallest measured rung already (%s partitions: %s)", with, count(l.bottom()), format(l.rungs[0].Value, l.unit))
	}
	return fmt.Sprintf("%s holds more than %s partitions, the largest measured rung: %s", with, top, a.beyondWords())
}

// beyondWords says why there is no number.
func (a Answer) beyondWords() string {
	l := a.ladder
	far := l.at(a.limit)
	at := fmt.Sprintf("at %s, %s that, it still expects %s (95 %%: %s)", count(a.limit), times(a.limit/l.top()), format(far.Value, l.unit), rangeOf(far.Curve, l.unit))
	if *a.Lo < l.top() {
		at += fmt.Sprintf("; but the lower end of the 95 %% interval is %s", count(*a.Lo))
	} else if a.Hi == nil && *a.Lo < a.limit {
		at += fmt.Sprintf("; the 95 %% interval begins at %s", count(*a.Lo))
	}
	if math.IsInf(a.Exact, 1) {
		return "the SLO is not reached within the measured ladder and the fit does not grow; " + at
	}
	if a.limit < l.top()*farthestBeyond {
		at += "; --extrapolate answers farther"
	}
	return "the SLO is not reached within the measured ladder; " + at
}

// rangeWords is the interval of the capacity: what leaves the ladder says so.
func (a Answer) rangeWords() string {
	l := a.ladder
	lo := count(*a.Lo)
	if *a.Lo < l.bottom() {
		lo = "less than " + count(l.bottom())
	}
	switch {
	case a.Hi == nil:
		return fmt.Sprintf("%s to more than %s", lo, count(a.limit))
	case *a.Hi > l.top() && a.Status == Within:
		return fmt.Sprintf("%s to %s, the upper end %s the largest measured rung", lo, count(*a.Hi), times(*a.Hi/l.top()))
	}
	return fmt.Sprintf("%s to %s", lo, count(*a.Hi))
}

func rangeOf(r Range, u results.Unit) string { return format(r.Lo, u) + " to " + format(r.Hi, u) }
