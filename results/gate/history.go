package gate

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"kbench/results"
	"kbench/results/history"
	"kbench/results/stat"
)

// noWorse is the rule of history, in words.
const noWorse = "no worse than the nights before"

// history judges every headline figure that has no relative threshold against
// its baseline nights.
func (r *Report) history(b *baselines, o Options) {
	var checks []Check
	var bases []baseline
	var up, down []float64 // p-values of being worse and of being better
	for i := range b.night.Cells {
		cell := &b.night.Cells[i]
		for j := range cell.Figures {
			f := &cell.Figures[j]
			if !f.Headline || r.isRelative(cell.ID, f) {
				continue
			}
			c, base, worse, better := judgeFigure(b, cell, f)
			checks, bases, up, down = append(checks, c), append(bases, base), append(up, worse), append(down, better)
		}
	}
	up, down = stat.Holm(up), stat.Holm(down)
	family := 0
	for _, p := range up {
		if !math.IsNaN(p) {
			family++
		}
	}
	for i := range checks {
		if !math.IsNaN(up[i]) {
			checks[i].conclude(&bases[i], up[i], down[i], family, &o)
		}
	}
	r.Checks = append(r.Checks, checks...)
}

// judgeFigure compares tonight's figure with its baseline. worse and better
// are one-sided p-values, NaN where there is no baseline.
func judgeFigure(b *baselines, cell *history.Cell, f *history.Figure) (c Check, base baseline, worse, better float64) {
	m, _, _ := results.FindMetric(f.Name())
	c = Check{
		Kind: KindHistory, Cell: cell.ID, Workload: f.Workload, Metric: f.Name(), Stat: results.StatMedian, Unit: f.Unit,
		Rule: noWorse, better: m.Better,
	}
	if ok, why := cell.Usable(f); !ok {
		c.State, c.Message = NoData, "no data: "+why
		return c, base, math.NaN(), math.NaN()
	}
	c.Value = &f.Median
	base = b.of(cell, f)
	c.Nights = len(base.points)
	if !base.enough() {
		c.State, c.Message = NoBaseline, base.missing(b.log)
		return c, base, math.NaN(), math.NaN()
	}
	median := base.median(results.StatMedian)
	c.Baseline = &median
	opposite := results.Higher
	if m.Better == results.Higher {
		opposite = results.Lower
	}
	worse, better = base.predict(f.Median, m.Better), base.predict(f.Median, opposite)
	if p, ok := byTrials(&base, f); ok {
		worse, better = max(worse, p), max(better, p)
	}
	c.P = &worse
	return c, base, worse, better
}

// byTrials is Mann-Whitney's p of tonight's trials against those of all
// nights, one-sided: in the direction in which they differ.
func byTrials(base *baseline, f *history.Figure) (p float64, ok bool) {
	old, ok1 := base.trials()
	tonight, ok2 := f.Values()
	if !ok1 || !ok2 || len(tonight) < trialsNeeded {
		return 0, false
	}
	p, err := stat.MannWhitney(old, tonight)
	return p / 2, err == nil
}

// conclude gives the state by the adjusted p-values.
func (c *Check) conclude(base *baseline, worse, better float64, family int, o *Options) {
	m, _, _ := results.FindMetric(c.Metric)
	c.Adjusted = &worse
	bound := base.limit(Alpha/float64(family), c.better)
	if slack := max(o.MinEffect**c.Baseline, o.floor(c.Unit)); c.better == results.Lower {
		bound = max(bound, *c.Baseline+slack)
	} else {
		bound = min(bound, *c.Baseline-slack)
	}
	if !math.IsInf(bound, 0) && !math.IsNaN(bound) {
		c.Bound = &bound
	}
	opposite := m
	opposite.Better = map[results.Direction]results.Direction{results.Lower: results.Higher, results.Higher: results.Lower}[m.Better]
	c.State = Passed
	switch {
	case worse < Alpha && matters(*c.Value, *c.Baseline, m, o):
		c.State = Missed
	case better < Alpha && matters(*c.Value, *c.Baseline, opposite, o):
		c.State = Improved
	}
	c.Message = fmt.Sprintf("%s, %s was %s: %s, p = %s", c.format(*c.Value), base.source(), c.format(*c.Baseline), c.change(), number(worse))
}

// change says how much better or worse tonight is.
func (c *Check) change() string {
	word := "better"
	if (*c.Value > *c.Baseline) == (c.better == results.Lower) {
		word = "worse"
	}
	switch {
	case *c.Value == *c.Baseline:
		return "no change"
	case *c.Baseline == 0:
		return word
	}
	return fmt.Sprintf("%.1f %% %s", math.Abs(*c.Value / *c.Baseline - 1)*100, word)
}

// number writes a p-value.
func number(p float64) string {
	if p < 0.001 {
		return fmt.Sprintf("%.0e", p)
	}
	return fmt.Sprintf("%.3f", p)
}

// vanished finds headline figures that the last comparable night of a cell had
// and tonight has not, and cells of the same spec that are missing: what is not
// measured cannot pass.
func (r *Report) vanished(b *baselines) {
	last := make(map[string]lastNight)
	for _, n := range b.log.Nights {
		if !n.At.Before(b.night.At) {
			break
		}
		for i := range n.Cells {
			old := &n.Cells[i]
			now := cellOf(b.night, old.ID)
			missing := now == nil && n.SpecHash == b.night.SpecHash && n.EnvHash == b.night.EnvHash
			if old.Verdict == results.Valid && (missing || now != nil && now.Comparable == old.Comparable) {
				last[old.ID] = lastNight{n, old}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		for _, f := range last[id].cell.Figures {
			if _, now := b.night.Find(id, f.Workload, f.Name()); !f.Headline || now != nil {
				continue
			}
			r.Checks = append(r.Checks, Check{
				Kind: KindHistory, Cell: id, Workload: f.Workload, Metric: f.Name(), Stat: results.StatMedian, Unit: f.Unit,
				Rule: noWorse, State: NoData, Message: "no data: run " + last[id].night.Run + " measured it, this one did not",
			})
		}
	}
}

// lastNight is the newest night in which a cell was measured.
type lastNight struct {
	night *history.Night
	cell  *history.Cell
}

func cellOf(n *history.Night, id string) *history.Cell {
	i := slices.IndexFunc(n.Cells, func(c history.Cell) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &n.Cells[i]
}
