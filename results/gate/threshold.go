package gate

import (
	"fmt"
	"math"

	"kbench/results"
	"kbench/results/history"
)

// thresholds judges those of the spec and the user's, each in every cell that
// it is meant for.
func (r *Report) thresholds(run *results.Run, b *baselines, o Options) error {
	var all []results.Threshold
	for _, text := range run.Manifest.Bounds {
		t, err := results.ParseThreshold(text)
		if err != nil {
			return fmt.Errorf("threshold %q of the run: %w", text, err)
		}
		all = append(all, t)
	}
	all = append(all, o.Thresholds...)
	var percentiles []float64
	for _, t := range all {
		if p, ok := t.Stat.Percentile(); ok {
			percentiles = append(percentiles, p)
		}
	}
	figs, err := run.Figures(percentiles...)
	if err != nil {
		return err
	}
	for _, t := range all {
		r.threshold(run, figs, t, b)
	}
	return nil
}

func (r *Report) threshold(run *results.Run, figs []results.Figure, t results.Threshold, b *baselines) {
	m, _, _ := results.FindMetric(t.Metric)
	blank := Check{Kind: KindThreshold, Metric: t.Metric, Stat: t.Stat, Unit: m.Unit, Rule: t.Text, better: m.Better, relative: t.Relative()}
	meant := false
	for _, cell := range run.Manifest.Cells {
		if !t.Meant(cell) {
			continue
		}
		meant = true
		found := false
		for _, f := range figs {
			if f.Cell == cell.ID && f.Metric+"."+f.Phase == t.Metric && f.N > 0 {
				c := blank
				c.Cell, c.Workload, found = cell.ID, f.Workload, true
				c.judgeThreshold(t, f, b)
				r.Checks = append(r.Checks, c)
			}
		}
		if !found {
			c := blank
			c.Cell, c.State, c.Message = cell.ID, NoData, "no data: the run has no valid value of it"
			r.Checks = append(r.Checks, c)
		}
	}
	if !meant {
		blank.State, blank.Message = NoData, "no data: no cell of the run is meant by it"
		r.Checks = append(r.Checks, blank)
	}
}

func (c *Check) judgeThreshold(t results.Threshold, f results.Figure, b *baselines) {
	v, ok := f.Value(t.Stat)
	if !ok {
		c.State, c.Message = NoData, fmt.Sprintf("no data: %d values do not support %s", f.N, t.Stat)
		return
	}
	c.Value = &v
	if t.Relative() {
		base, ok := c.relativeTo(f, t.Stat, b)
		if !ok {
			return
		}
		t = t.At(base)
	}
	c.Bound = &t.Value
	if c.State = Missed; t.Holds(v) {
		c.State = Passed
	}
	c.Message = fmt.Sprintf("%s, must be %s %s", c.format(v), t.Op, c.format(t.Value))
	if c.Baseline != nil {
		c.Message += fmt.Sprintf("; %s was %s", "the median of "+fmt.Sprint(c.Nights)+" nights", c.format(*c.Baseline))
	}
}

// relativeTo finds the baseline of a relative threshold; ok is false, and the
// state is set, where there is none.
func (c *Check) relativeTo(f results.Figure, s results.Stat, b *baselines) (v float64, ok bool) {
	c.State = NoBaseline
	if b.log == nil {
		c.Message = (&baseline{}).missing(nil)
		return 0, false
	}
	cell, fig := b.night.Find(f.Cell, f.Workload, f.Metric+"."+f.Phase)
	base := b.of(cell, fig)
	c.Nights = len(base.points)
	if !base.enough() {
		c.Message = base.missing(b.log)
		return 0, false
	}
	v = base.median(s)
	if math.IsNaN(v) {
		c.Message = fmt.Sprintf("the history does not keep %s of every night", s)
		return 0, false
	}
	c.Baseline = &v
	return v, true
}

func (c *Check) format(v float64) string {
	if c.Stat == results.StatN {
		return fmt.Sprint(v)
	}
	return results.FormatValue(v, c.Unit)
}

// isRelative reports whether a figure's median has a relative threshold, which
// is then the only judge of it against history.
func (r *Report) isRelative(cell string, f *history.Figure) bool {
	for _, c := range r.Checks {
		if c.Kind == KindThreshold && c.Cell == cell && c.Metric == f.Name() && c.Stat == results.StatMedian && c.Workload == f.Workload && c.relative {
			return true
		}
	}
	return false
}
