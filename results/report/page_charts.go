package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"kbench/results"
	"kbench/results/report/chart"
)

// maxShownValues bounds the single values drawn of a phase.
const maxShownValues = 30

// stacked are the phases of a recovery of the controller that follow each
// other, and the phase that is marked beside them.
var stacked = []string{"detect", "elect", "load", "push"}

// phaseSection shows what a recovery of the controller is made of.
func (rep *Report) phaseSection() section {
	s := section{
		ID: "phases", Title: "Phases of a controller's recovery",
		Intro: "From the loss of the active controller. Each segment is the median of its phase, counted from the end of the phase before. The diamond is first-admin: the first admin request of a client that succeeds. What detect takes is a timer, not an algorithm.",
	}
	for _, bl := range rep.blocks() {
		if bl.metric.Name != "recovery.controller" {
			continue
		}
		groups := rep.stacks(bl)
		if len(groups) == 0 {
			continue
		}
		id := fmt.Sprintf("phases-%d", len(s.Parts))
		draw := func(width float64) template.HTML {
			return chart.Stacks(chart.Frame{
				ID: fmt.Sprintf("%s-%.0f", id, width), Title: "Phases of " + rep.title(bl),
				Desc: "Stacked bars of the medians of detect, elect, load and push, for each side by " + rep.pointHeader() + ". The table below has every number.", Width: width,
			}, groups, chart.Duration)
		}
		f := &figure{ID: id, Title: rep.title(bl), Wide: draw(wideWidth), Narrow: draw(narrowWidth), Table: rep.blockView(bl)}
		for i, name := range stacked {
			f.Key = append(f.Key, key{chart.PhaseClass(i), name + " " + docOf(bl.metric, name)})
		}
		s.Parts = append(s.Parts, part{Figure: f})
	}
	return s
}

func docOf(m results.Metric, phase string) string {
	for _, p := range m.Phases {
		if p.Name == phase {
			return p.Doc
		}
	}
	return ""
}

// stacks makes a bar of every side at every point that has phases.
func (rep *Report) stacks(bl block) []chart.StackGroup {
	var out []chart.StackGroup
	for _, point := range rep.Points {
		g := chart.StackGroup{Name: point}
		for i, side := range rep.Sides {
			st := chart.Stack{Side: i, Name: side}
			for phase, name := range stacked {
				if f := bl.figure(name, point, i); f != nil && f.N > 0 {
					st.Segments = append(st.Segments, chart.Segment{Phase: phase, Name: name, Value: f.Median, Text: results.FormatValue(f.Median, f.Unit)})
				}
			}
			if f := bl.figure("first-admin", point, i); f != nil && f.N > 0 {
				st.Mark = &chart.Mark{Value: f.Median, Text: results.FormatValue(f.Median, f.Unit)}
			}
			if len(st.Segments) > 0 {
				g.Stacks = append(g.Stacks, st)
			}
		}
		if len(g.Stacks) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// scaleSection shows how each phase grows along the sweep.
func (rep *Report) scaleSection() section {
	s := section{ID: "scale", Title: "Against partitions"}
	partitions := rep.partitionsOf()
	if partitions == nil {
		s.Title, s.Intro = "By point of the sweep", "Medians of the headlines with their extremes; single trials as ticks."
		if len(rep.Points) == 1 {
			s.Title = "Spread"
		}
		for _, bl := range rep.blocks() {
			if f := rep.rangeFigure(bl, bl.metric.Headline); f != nil {
				s.Parts = append(s.Parts, part{Figure: f})
			}
		}
		return s
	}
	s.Intro = "Medians, logarithmic both ways: a straight line that rises by one decade in one decade grows in proportion. The band spans the extremes, small dots are single trials."
	head := &figure{ID: "scale-headlines", Title: "Headlines", Table: rep.pointTable(true)}
	rest := &figure{ID: "scale-phases", Title: "Phases", Table: rep.pointTable(false)}
	for _, bl := range rep.blocks() {
		for _, ph := range bl.metric.Phases {
			p, ok := rep.scalePanel(bl, ph.Name, partitions)
			switch {
			case !ok:
			case ph.Name == bl.metric.Headline:
				head.Panels = append(head.Panels, p)
			default:
				rest.Panels = append(rest.Panels, p)
			}
		}
	}
	if len(head.Panels) > 0 {
		s.Parts = append(s.Parts, part{Figure: head})
	}
	if len(rest.Panels) > 0 {
		s.Parts = append(s.Parts, part{Fold: &fold{Summary: "Every other phase", Parts: []part{{Figure: rest}}}})
	}
	return s
}

// partitionsOf gives the number of partitions of each point where the sweep is
// over partitions alone and has more than one point; else nil.
func (rep *Report) partitionsOf() map[string]float64 {
	out := make(map[string]float64)
	for i, c := range rep.Run.Cells {
		if c.Partitions <= 0 {
			return nil
		}
		out[rep.CellPoint[i].Point] = float64(c.Partitions)
	}
	if len(out) < 2 || rep.pointHeader() != "partitions" {
		return nil
	}
	return out
}

func (rep *Report) scalePanel(bl block, phase string, partitions map[string]float64) (p panel, ok bool) {
	var lines []chart.Line
	n := 0
	for i, side := range rep.Sides {
		l := chart.Line{Side: i, Name: side}
		for _, point := range rep.Points {
			f := bl.figure(phase, point, i)
			if f == nil || f.N == 0 {
				continue
			}
			xy := chart.XY{X: partitions[point], Y: f.Median, Min: f.Min, Max: f.Max, Samples: rep.shownValues(f, maxShownValues)}
			if len(rep.Sides) > maxBands {
				xy.Min, xy.Max = f.Median, f.Median
			}
			l.Points = append(l.Points, xy)
			n++
		}
		if len(l.Points) > 0 {
			lines = append(lines, l)
		}
	}
	if n == 0 {
		return panel{}, false
	}
	axes := chart.Axes{XName: "partitions", Y: axisLabel(bl.metric.Unit)}
	for _, point := range rep.Points {
		axes.X = append(axes.X, chart.Tick{At: partitions[point], Text: point})
	}
	title := rep.phaseTitle(bl, phase)
	return panel{title, chart.Panel(chart.Frame{
		ID: rep.id("scale", bl, phase), Title: title, Width: panelWidth,
		Desc: "Median of " + title + " by partitions, a line for each side, with the extremes as a band. The table below has every number.",
	}, axes, lines)}, true
}

// id makes an identifier of a block's phase.
func (rep *Report) id(prefix string, bl block, phase string) string {
	return fmt.Sprintf("%s-%d-%d", prefix, slices.IndexFunc(rep.blocks(), func(b block) bool { return b.metric.Name == bl.metric.Name && b.workload == bl.workload }),
		slices.IndexFunc(bl.metric.Phases, func(p results.Phase) bool { return p.Name == phase }))
}

func (rep *Report) phaseTitle(bl block, phase string) string {
	t := rep.title(bl)
	if len(bl.metric.Phases) > 1 {
		t += ": " + phase
	}
	return t
}

// rangeFigure shows a phase at every point, row by row.
func (rep *Report) rangeFigure(bl block, phase string) *figure {
	var groups []chart.RangeGroup
	for _, point := range rep.Points {
		g := chart.RangeGroup{Name: point}
		for i, side := range rep.Sides {
			if f := bl.figure(phase, point, i); f != nil && f.N > 0 {
				g.Ranges = append(g.Ranges, chart.Range{
					Side: i, Name: side, Min: f.Min, Median: f.Median, Max: f.Max, Lo: orNaN(f.MedianLo), Hi: orNaN(f.MedianHi),
					Points: rep.shownValues(f, maxShownValues), Text: results.FormatValue(f.Median, f.Unit),
				})
			}
		}
		if len(g.Ranges) > 0 {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	id := rep.id("range", bl, phase)
	draw := func(width float64) template.HTML {
		return chart.Ranges(chart.Frame{
			ID: fmt.Sprintf("%s-%.0f", id, width), Title: rep.phaseTitle(bl, phase), Width: width,
			Desc: "Medians with their extremes, a row for each side and " + rep.pointHeader() + ". The table below has every number.",
		}, groups, axisLabel(bl.metric.Unit), false)
	}
	return &figure{ID: id, Title: rep.phaseTitle(bl, phase), Wide: draw(wideWidth), Narrow: draw(narrowWidth), Table: rep.blockView(bl)}
}

// maxBands is the number of sides whose bands can be told apart.
const maxBands = 3

// maxCurvePoints bounds the points of the sweep whose curves are drawn.
const maxCurvePoints = 6

// percentileSection shows whole distributions where there are histograms.
func (rep *Report) percentileSection() section {
	s := section{
		ID: "percentiles", Title: "Latency by percentile",
		Intro: "How slow the slowest are: the further right, the rarer. They describe the values that were measured, which within a trial depend on each other. Lines are dotted where there are too few values to describe the percentile; they end at the maximum.",
	}
	t := &dataTable{Caption: "Percentiles that n supports", Head: []string{"metric", rep.pointHeader(), "side", "n/repeats", "min", "median", "p90", "p95", "p99", "p99.9", "max"}, Numbers: 3}
	f := &figure{ID: "percentile-curves", Title: "Headlines", Table: t}
	for _, bl := range rep.blocks() {
		phase := bl.metric.Headline
		for _, point := range thin(rep.Points, maxCurvePoints) {
			if p, ok := rep.curvePanel(bl, phase, point); ok {
				f.Panels = append(f.Panels, p)
			}
		}
		for _, r := range bl.rows {
			for i, fig := range r.cells {
				if !r.headline || fig == nil || !fig.Histogram {
					continue
				}
				cells := []string{rep.phaseTitle(bl, phase), r.point, rep.Sides[i], countOf(fig), results.FormatValue(fig.Min, fig.Unit), results.FormatValue(fig.Median, fig.Unit)}
				for _, p := range []results.Stat{"p90", "p95", "p99", "p99.9"} {
					text := "–"
					if v, ok := fig.Value(p); ok {
						text = results.FormatValue(v, fig.Unit)
					}
					cells = append(cells, text)
				}
				t.Rows = append(t.Rows, row{Cells: append(cells, results.FormatValue(fig.Max, fig.Unit))})
			}
		}
	}
	if len(f.Panels) > 0 {
		s.Parts = []part{{Figure: f}}
	}
	return s
}

func (rep *Report) curvePanel(bl block, phase, point string) (p panel, ok bool) {
	var lines []chart.Line
	last := 10.0
	for _, c := range rep.Curves {
		if c.Metric != bl.metric.Name || c.Workload != bl.workload || c.Phase != phase || rep.point(c.Cell) != point {
			continue
		}
		side := rep.side(c.Cell)
		l := chart.Line{Side: rep.sideIndex(side), Name: side}
		for _, p := range c.Points {
			x := float64(c.N) * 2 // the maximum stands past the last percentile
			if p.Percentile < 100 {
				x = 100 / (100 - p.Percentile)
			}
			xy := chart.XY{X: x, Y: p.Value, Min: math.NaN(), Max: math.NaN()}
			if p.Supported {
				l.Points = append(l.Points, xy)
			} else {
				l.Beyond = append(l.Beyond, xy)
			}
		}
		last = max(last, float64(c.N)*2)
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return panel{}, false
	}
	axes := chart.Axes{XName: "percentile", Y: axisLabel(bl.metric.Unit)}
	for _, t := range []chart.Tick{{At: 1, Text: "min"}, {At: 2, Text: "50"}, {At: 10, Text: "90"}, {At: 100, Text: "99"}, {At: 1e3, Text: "99.9"}, {At: 1e4, Text: "99.99"}, {At: 1e5, Text: "99.999"}} {
		if t.At < last {
			axes.X = append(axes.X, t)
		}
	}
	title := rep.phaseTitle(bl, phase) + " at " + point
	return panel{title, chart.Panel(chart.Frame{
		ID: rep.id("curve-"+fmt.Sprint(slices.Index(rep.Points, point)), bl, phase), Title: title, Width: panelWidth,
		Desc: "Latency by percentile, a line for each side. The table below has the percentiles that n supports.",
	}, axes, lines)}, true
}

// brokerSection shows each broker's own propagation.
func (rep *Report) brokerSection() section {
	s := section{ID: "brokers", Title: "Propagation by broker", Intro: "How long each broker took to serve a change, from the change's intended time: median, 99th percentile where n supports it, extremes."}
	t := &dataTable{Caption: "Propagation by broker", Head: []string{"side", rep.pointHeader(), "broker", "n", "min", "median", "p90", "p99", "max"}, Numbers: 3}
	var groups []chart.RangeGroup
	for _, point := range rep.Points {
		g := chart.RangeGroup{Name: point}
		for _, b := range rep.Brokers {
			if rep.point(b.Cell) != point {
				continue
			}
			side := rep.side(b.Cell)
			hi := math.NaN()
			cells := []string{side, point, b.Broker, fmt.Sprint(b.N), duration(b.Min), duration(b.Median)}
			for _, p := range []string{"p90", "p99"} {
				text := "–"
				if v, ok := b.Percentiles[p]; ok {
					text, hi = duration(v), v
				}
				cells = append(cells, text)
			}
			t.Rows = append(t.Rows, row{Cells: append(cells, duration(b.Max))})
			g.Ranges = append(g.Ranges, chart.Range{
				Side: rep.sideIndex(side), Name: side + " broker " + b.Broker, Min: b.Min, Median: b.Median, Max: b.Max, Lo: b.Median, Hi: hi, Text: duration(b.Median),
			})
		}
		if len(g.Ranges) > 0 {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return s
	}
	draw := func(width float64) template.HTML {
		return chart.Ranges(chart.Frame{
			ID: fmt.Sprintf("brokers-%.0f", width), Title: "Propagation by broker", Width: width,
			Desc: "Median, upper percentile and extremes of every broker's own propagation. The table below has every number.",
		}, groups, chart.Duration, true)
	}
	s.Parts = []part{{Figure: &figure{
		ID: "f-brokers", Title: "Until the broker serves the change", Caption: "Mark: median. Thick bar: up to the highest of p90 and p99 that n supports. Thin bar: extremes. Logarithmic scale.",
		Wide: draw(wideWidth), Narrow: draw(narrowWidth), Table: t,
	}}}
	return s
}

func duration(ns float64) string { return results.FormatValue(ns, results.Nanoseconds) }

// throughputSection shows rates and what the generators sent.
func (rep *Report) throughputSection() section {
	s := section{ID: "throughput", Title: "Throughput"}
	for _, bl := range rep.blocks() {
		if bl.metric.Unit != results.PerSecond {
			continue
		}
		if f := rep.rangeFigure(bl, bl.metric.Headline); f != nil {
			s.Parts = append(s.Parts, part{Figure: f})
		}
	}
	if len(rep.Operations) == 0 {
		return s
	}
	t := &dataTable{Caption: operationsDoc, Head: append([]string{"side", rep.pointHeader()}, operationsHead...), Numbers: operationsLead}
	amiss := false
	for i := range rep.Operations {
		o := &rep.Operations[i]
		amiss = amiss || o.amiss()
		t.Rows = append(t.Rows, row{Cells: append([]string{rep.side(o.Cell), rep.point(o.Cell)}, o.row()...)})
	}
	s.Parts = append(s.Parts, part{Fold: &fold{Summary: "Operations sent by the generators", Open: amiss, Parts: []part{{Table: t}}}})
	return s
}
