package results

import (
	"fmt"
	"strings"
)

// judge applies the rules that need the whole run: a cell without a valid
// value or with a failed check is not valid, thresholds are evaluated, the
// run is as good as its worst cell, and invalid where it was interrupted.
func (m *Manifest) judge(dir string) error {
	r := &Run{Dir: dir, Manifest: *m}
	var err error
	if r.Samples, err = readAt(dir, trialsName, readSamples); err != nil {
		return err
	}
	return m.judgeBy(r)
}

// judgeBy judges by what r measured.
func (m *Manifest) judgeBy(r *Run) error {
	bounds, percentiles, err := parseBounds(m.Bounds)
	if err != nil {
		return err
	}
	figs, err := r.Figures(percentiles...)
	if err != nil {
		return err
	}
	for i := range m.Cells {
		m.Cells[i].judge(figs)
	}
	if len(m.Cells) == 0 {
		m.Reasons = append(m.Reasons, "no cell was measured")
	}
	m.Verdict = m.Overall()
	m.Thresholds = evaluate(bounds, m.Cells, figs)
	return nil
}

func (c *Cell) judge(figs []Figure) {
	for _, ch := range c.Checks {
		if !ch.OK && c.Verdict != Invalid {
			c.Verdict = Invalid
			c.Reasons = append(c.Reasons, fmt.Sprintf("check %s failed", ch.Name))
		}
	}
	for _, f := range figs {
		if f.Cell == c.ID && f.N > 0 {
			return
		}
	}
	if c.Verdict == Valid || c.Verdict == "" {
		c.Verdict = Inconclusive
		c.Reasons = append(c.Reasons, "no valid sample came")
	}
}

func parseBounds(texts []string) (bounds []Threshold, percentiles []float64, err error) {
	for _, text := range texts {
		t, err := ParseThreshold(text)
		if err != nil {
			return nil, nil, fmt.Errorf("threshold %q: %w", text, err)
		}
		bounds = append(bounds, t)
		if p, ok := t.Stat.Percentile(); ok {
			percentiles = append(percentiles, p)
		}
	}
	return bounds, percentiles, nil
}

// evaluate judges each threshold in each cell that it is meant for. Those that
// are relative to a baseline are the gate's.
func evaluate(bounds []Threshold, cells []Cell, figs []Figure) []Outcome {
	var out []Outcome
	for _, t := range bounds {
		for _, c := range cells {
			if t.Relative() || !t.Meant(c) {
				continue
			}
			o := Outcome{Threshold: t.Text, Cell: c.ID}
			for _, f := range figs {
				if f.Cell != c.ID || f.Metric+"."+f.Phase != t.Metric || f.N == 0 {
					continue
				}
				if v, ok := f.Value(t.Stat); ok {
					o.Value, o.Holds = &v, t.Holds(v)
				}
			}
			out = append(out, o)
		}
	}
	return out
}

// Meant reports whether the threshold's target and point are the cell's.
func (t Threshold) Meant(c Cell) bool {
	if t.Target != "" && t.Target != c.Target {
		return false
	}
	for axis, want := range t.Point {
		if !strings.Contains(axis, ".") {
			axis = "cluster." + axis
		}
		if c.Config[axis] != want {
			return false
		}
	}
	return true
}

// String says what became of a threshold.
func (o Outcome) String() string {
	switch {
	case o.Value == nil:
		return fmt.Sprintf("%s in %s: NO DATA", o.Threshold, o.Cell)
	case o.Holds:
		return fmt.Sprintf("%s in %s: holds", o.Threshold, o.Cell)
	default:
		return fmt.Sprintf("%s in %s: MISSED", o.Threshold, o.Cell)
	}
}

// ExitCode is the process's answer to a run: 0 valid and all thresholds held,
// 1 a threshold missed, 3 invalid, inconclusive or a threshold without data.
func (m Manifest) ExitCode() int {
	if m.Verdict != Valid {
		return 3
	}
	code := 0
	for _, o := range m.Thresholds {
		switch {
		case o.Value == nil:
			return 3
		case !o.Holds:
			code = 1
		}
	}
	return code
}
