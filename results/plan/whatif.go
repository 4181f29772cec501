package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kbench/results"
	"kbench/results/plan/curve"
)

// WhatIf asks for another value of an axis: brokers=6, kraft.append.linger=5ms
// or variant=linger-5ms.
type WhatIf struct {
	Axis  string // a setting's path, or variant
	Value string
}

const variantAxis = "variant"

func (w WhatIf) String() string {
	return strings.TrimPrefix(w.Axis, "cluster.") + "=" + w.Value
}

// ParseWhatIf reads axis=value.
func ParseWhatIf(text string) (WhatIf, error) {
	axis, value, ok := strings.Cut(text, "=")
	axis, value = strings.TrimSpace(axis), strings.TrimSpace(value)
	switch {
	case !ok || axis == "" || value == "":
		return WhatIf{}, fmt.Errorf("%q is no axis=value; write brokers=6 or variant=linger-5ms", text)
	case axis == "partitions" || axis == partitionsAxis:
		return WhatIf{}, errors.New("partitions are what is asked for; --need 50k judges a number of them")
	case axis != variantAxis:
		axis = axisPath(axis)
	}
	return WhatIf{axis, value}, nil
}

// known requires that some cell has the axis.
func (w WhatIf) known(all []*series) error {
	if w.Axis == variantAxis {
		return nil
	}
	var axes []string
	for _, se := range all {
		if _, ok := se.config[w.Axis]; ok {
			return nil
		}
		for path := range se.config {
			if name := strings.TrimPrefix(path, "cluster."); !slices.Contains(axes, name) {
				axes = append(axes, name)
			}
		}
	}
	slices.Sort(axes)
	return fmt.Errorf("no run has a setting %q; there are variant, %s", w.Axis, strings.Join(axes, ", "))
}

func (w WhatIf) of(se *series) string {
	if w.Axis == variantAxis {
		return se.variant
	}
	return se.config[w.Axis]
}

// same compares a setting's value with what was asked: 6 is 6, 1k is 1000.
func (w WhatIf) same(se *series) bool {
	have := w.of(se)
	if have == w.Value {
		return true
	}
	a, errA := number(have)
	b, errB := number(w.Value)
	return errA == nil && errB == nil && a == b
}

// number reads a value as a number: plain, 1k, or a duration in ms.
func number(s string) (float64, error) {
	for suffix, scale := range map[string]float64{"k": 1e3, "M": 1e6, "": 1} {
		if head, ok := strings.CutSuffix(s, suffix); ok {
			if v, err := strconv.ParseFloat(head, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
				return v * scale, nil
			}
		}
	}
	return 0, fmt.Errorf("%q is no number", s)
}

// selectWhatIf narrows the series to those with the values asked for. Where an axis
// was measured around the value but not at it, the series of the axis stand
// for it: they come back as siblings, one group for each target and variant
// that is otherwise the same.
func selectWhatIf(all []*series, asked []WhatIf) (exact []*series, between [][]*series, axis WhatIf, err error) {
	exact = all
	for i, w := range asked {
		matching := slices.DeleteFunc(slices.Clone(exact), func(se *series) bool { return !w.same(se) })
		if len(matching) > 0 {
			exact = matching
			continue
		}
		if i < len(asked)-1 {
			return nil, nil, w, fmt.Errorf("%s was not measured; ask for an unmeasured value last, and for one alone", w)
		}
		return nil, siblings(exact, w), w, nil
	}
	return exact, nil, WhatIf{}, nil
}

// siblings groups series that differ in the axis alone, where it is a number.
func siblings(all []*series, w WhatIf) [][]*series {
	if w.Axis == variantAxis {
		return nil
	}
	var groups [][]*series
	for _, se := range all {
		if _, err := number(w.of(se)); err != nil {
			continue
		}
		i := slices.IndexFunc(groups, func(g []*series) bool {
			d := differing([]*series{g[0], se})
			return g[0].target == se.target && g[0].variant == se.variant && len(d) == 1 && d[0] == w.Axis
		})
		if i < 0 {
			groups = append(groups, []*series{se})
		} else {
			groups[i] = append(groups[i], se)
		}
	}
	return groups
}

// unmeasured says that an axis does not hold the value, and how to measure it.
func (w WhatIf) unmeasured(se *series, have []string) error {
	if w.Axis == variantAxis {
		return fmt.Errorf("no run measured the variant %q; there are %s: add it under variants of the spec (`- {name: %s, set: {...}}`) and run that", w.Value, strings.Join(have, ", "), w.Value)
	}
	return fmt.Errorf("%s was not measured (there is %s), and only what was measured on at least %d values around it is answered; `%s` measures it, then plan both runs together",
		w, strings.Join(have, ", "), curve.Least, se.command("--set", w.Axis+"="+w.Value))
}

// across predicts each rung of a subject at a value of the axis between those
// that were measured: every rung is fitted over the axis, and the predictions
// are the rungs of a ladder. Their uncertainty goes into their variance.
func across(group []*series, w WhatIf, s subject, st results.Stat) *ladder {
	l := &ladder{
		side: group[0].target, name: s.title(), metric: s.name(), stat: string(st), unit: s.metric.Unit, better: s.metric.Better,
		series: group[0], subject: s,
	}
	if v := group[0].variant; v != "base" && v != "" {
		l.side += " " + v
	}
	at, err := number(w.Value)
	var have []string
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, se := range group {
		have = append(have, w.of(se))
		v, _ := number(w.of(se))
		lo, hi = min(lo, v), max(hi, v)
	}
	if err != nil || len(group) < curve.Least || at < lo || at > hi {
		l.err = w.unmeasured(group[len(group)-1], have)
		return l
	}
	byRung := make(map[int][]curve.Point)
	example := make(map[int]rungReport)
	for _, se := range group {
		x, _ := number(w.of(se))
		part := newLadder(se, s, st)
		for _, r := range part.rungs {
			if r.Value > 0 {
				byRung[r.Partitions] = append(byRung[r.Partitions], curve.Point{X: x, Y: l.cost(r.Value), Var: r.variance})
				example[r.Partitions] = r
			}
		}
	}
	for partitions, points := range byRung {
		r, ok := example[partitions].predicted(l, points, at)
		if ok {
			l.rungs = append(l.rungs, r)
		}
	}
	slices.SortFunc(l.rungs, func(a, b rungReport) int { return a.Partitions - b.Partitions })
	l.doFit()
	return l
}

// predicted is the rung at a value of the axis. A cost that falls along the
// axis (work that more brokers share) is fitted over its reciprocal.
func (r rungReport) predicted(l *ladder, points []curve.Point, at float64) (rungReport, bool) {
	slices.SortFunc(points, func(a, b curve.Point) int { return int(math.Copysign(1, a.X-b.X)) })
	if n := len(points); n < curve.Least || at < points[0].X || at > points[n-1].X || points[0].X <= 0 {
		return r, false
	} else if points[n-1].Y < points[0].Y {
		for i := range points {
			points[i].X = 1 / points[i].X
		}
		at = 1 / at
	}
	fit, err := curve.New(points)
	if err != nil {
		return r, false
	}
	e := fit.At(at)
	iv := l.interval(e.Next)
	r.Value, r.Min, r.Max = l.cost(e.Value), iv.Lo, iv.Hi
	// A normal's 95 % interval is 2 x 1.96 deviations wide.
	sigma := math.Log(e.Curve.Hi/e.Curve.Lo) / 3.92
	r.variance = sigma * sigma
	return r, true
}
