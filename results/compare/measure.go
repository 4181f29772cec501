package compare

import (
	"fmt"

	"kbench/results"
	"kbench/results/stat"
)

// rowKey tells rows apart.
type rowKey struct {
	target, variant, point string
	workload, metric       string
	phase, stat            string
}

// place is where a cell's rows stand: rowKey without what was measured.
type place struct{ target, variant, point string }

func (l *layout) place(c *results.Cell) place {
	p := place{point: l.point(c)}
	if !l.targets {
		p.target = c.Target
	}
	if !l.variant {
		p.variant = c.Variant
	}
	return p
}

// The statistics that are compared; p99 of histograms alone.
const (
	median = "median"
	p99    = "p99"
)

// measured is one statistic of one cell.
type measured struct {
	key    rowKey
	side   sideKey
	cell   *results.Cell
	figure results.Figure
	value  *Value
}

// measure lists what the valid cells of one run measured, in their order.
func (l *layout) measure(run int) ([]measured, error) {
	in := l.inputs[run]
	figs, err := in.Run.Figures()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Label, err)
	}
	values, err := independent(in.Run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Label, err)
	}
	cells := make(map[string]*results.Cell)
	for i := range in.Run.Manifest.Cells {
		c := &in.Run.Manifest.Cells[i]
		cells[c.ID] = c
	}
	var out []measured
	for _, f := range figs {
		c := cells[f.Cell]
		if c == nil || c.Verdict != results.Valid || f.N == 0 {
			continue
		}
		at := l.place(c)
		for _, s := range []string{median, p99} {
			center, ok := f.Value(results.Stat(s))
			if !ok || s == p99 && !f.Histogram {
				continue
			}
			vs := values[valueKey{f.Cell, f.Workload, f.Metric, f.Phase, s}]
			v := &Value{N: len(vs), Count: f.N, Invalid: f.Invalid, Center: center, Min: f.Min, Max: f.Max, independent: vs}
			if iv, ok := stat.MedianInterval(vs, results.Confidence); ok {
				v.Lo, v.Hi = &iv.Lo, &iv.Hi
			}
			out = append(out, measured{
				key:  rowKey{at.target, at.variant, at.point, f.Workload, f.Metric, f.Phase, s},
				side: l.key(run, c), cell: c, figure: f, value: v,
			})
		}
	}
	return out, nil
}

type valueKey struct{ cell, workload, metric, phase, stat string }

// independent gathers the values that tests may use: those of valid trials,
// and of histograms one for each repeat, since values of one trial depend on
// each other.
func independent(r *results.Run) (map[valueKey][]float64, error) {
	out := make(map[valueKey][]float64)
	byHistogram := make(map[valueKey]bool)
	err := r.EachRepeat(func(_ int, h results.Histogram) error {
		for _, q := range []struct {
			stat string
			p    float64
		}{{median, 50}, {p99, 99}} {
			v, ok := h.Dist.Quantile(q.p)
			if !ok || !results.Supports(h.Dist.Count(), q.p) {
				continue
			}
			k := valueKey{h.Cell, h.Workload, h.Metric, h.Tag, q.stat}
			out[k], byHistogram[k] = append(out[k], float64(v)), true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range r.Samples {
		m, phase, err := results.FindMetric(s.Metric)
		if err != nil {
			return nil, err
		}
		if k := (valueKey{s.Cell, s.Workload, m.Name, phase, median}); s.Valid && !byHistogram[k] {
			out[k] = append(out[k], s.Value)
		}
	}
	return out, nil
}
