package report

import (
	"cmp"
	"fmt"
	"slices"

	"kbench/results"
)

// block is one metric as a table: rows of phase and point, a group of columns
// for each side.
type block struct {
	metric   results.Metric
	workload string
	rows     []blockRow
}

type blockRow struct {
	phase    results.Phase
	headline bool
	point    string
	cells    []*results.Figure // by side; nil where nothing was measured
}

// title names the metric, the workload where it is not the metric's own, and
// the way of its fault.
func (rep *Report) title(b block) string { return rep.metricTitle(b.metric.Name, b.workload) }

func (rep *Report) metricTitle(metric, workload string) string {
	if workload != results.WorkloadOf(metric) {
		metric += " during " + workload
	}
	return metric + rep.how(workload)
}

// blocks arranges the figures, metrics and phases in the catalogue's order.
func (rep *Report) blocks() []block {
	place := make(map[string]CellPlace)
	for _, p := range rep.CellPoint {
		place[p.Cell] = p
	}
	at := make(map[[5]string]*results.Figure)
	var order [][2]string // metric and workload
	for i := range rep.Figures {
		f := &rep.Figures[i]
		p := place[f.Cell]
		at[[5]string{f.Metric, f.Workload, f.Phase, p.Point, p.Side}] = f
		if k := [2]string{f.Metric, f.Workload}; !slices.Contains(order, k) {
			order = append(order, k)
		}
	}
	// Cells may have measured different workloads: the catalogue's order holds.
	slices.SortStableFunc(order, func(a, b [2]string) int { return cmp.Compare(metricIndex(a[0]), metricIndex(b[0])) })
	var out []block
	for _, k := range order {
		m, _, _ := results.FindMetric(k[0])
		b := block{metric: m, workload: k[1]}
		for _, ph := range m.Phases {
			for _, point := range rep.Points {
				row := blockRow{phase: ph, headline: ph.Name == m.Headline, point: point}
				found := false
				for _, s := range rep.Sides {
					f := at[[5]string{k[0], k[1], ph.Name, point, s}]
					found = found || f != nil
					row.cells = append(row.cells, f)
				}
				if found {
					b.rows = append(b.rows, row)
				}
			}
		}
		out = append(out, b)
	}
	return out
}

func metricIndex(name string) int {
	return slices.IndexFunc(results.Metrics(), func(m results.Metric) bool { return m.Name == name })
}

// figure finds a phase of a side at a point, nil where nothing was measured.
func (b block) figure(phase, point string, side int) *results.Figure {
	for _, r := range b.rows {
		if r.phase.Name == phase && r.point == point {
			return r.cells[side]
		}
	}
	return nil
}

func (b block) hasCI() bool {
	for _, r := range b.rows {
		for _, f := range r.cells {
			if f != nil && f.MedianLo != nil {
				return true
			}
		}
	}
	return false
}

// numberHeader is the head of a column of n: what is independent stands beside
// it where a trial gives many values.
func (b block) numberHeader() string {
	for _, r := range b.rows {
		for _, f := range r.cells {
			if f != nil && f.Histogram {
				return "n/repeats"
			}
		}
	}
	return "n"
}

// countOf is n, with the repeats that gave it where a trial gives many values.
func countOf(f *results.Figure) string {
	if f.Histogram {
		return fmt.Sprintf("%d/%d", f.N, f.Repeats)
	}
	return fmt.Sprint(f.N)
}

// ofRepeats says in words how many repeats gave a histogram.
func ofRepeats(f *results.Figure) string {
	if !f.Histogram {
		return ""
	}
	return " of " + plural(f.Repeats, "repeat", "repeats")
}

// figureText writes n, minimum, median, maximum and the interval of a figure.
func figureText(f *results.Figure, withCI bool) []string {
	out := []string{"-", "-", "-", "-"}
	ci := "-"
	switch {
	case f == nil:
	case f.N == 0:
		out[0] = fmt.Sprintf("0 (%d invalid)", f.Invalid)
	default:
		n := countOf(f)
		if f.Invalid > 0 {
			n += fmt.Sprintf(" (%d invalid)", f.Invalid)
		}
		out = []string{n, results.FormatValue(f.Min, f.Unit), results.FormatValue(f.Median, f.Unit), results.FormatValue(f.Max, f.Unit)}
		if f.MedianLo != nil {
			ci = results.FormatValue(*f.MedianLo, f.Unit) + " to " + results.FormatValue(*f.MedianHi, f.Unit)
		}
	}
	if withCI {
		out = append(out, ci)
	}
	return out
}
