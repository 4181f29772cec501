package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"kbench/results/report/chart"
)

// Bounds of the page: how many clusters have a timeline, and how many values
// all of them draw together.
const (
	maxTimelines   = 60
	maxDrawnValues = 30_000
	maxLaneLines   = 16
	narrowBins     = 48
	maxDrawnSpans  = 120 // of faults and of controllers, in one cluster
	maxFaultRows   = 100
)

// timelineSection shows the life of each cluster.
func (rep *Report) timelineSection() section {
	s := section{
		ID: "timelines", Title: "Timelines",
		Intro: "One cluster after the other, on its own clock. Shaded: from a fault until the cluster was healthy and balanced again, darker while the trial was measured. Below: CPU in cores, resident memory and live heap of every node; brokers drawn solid, controllers dashed, the metadata store dotted.",
	}
	shown := rep.timelines[:min(len(rep.timelines), maxTimelines)]
	series := 0
	for _, t := range shown {
		series += 3 * min(len(t.order), maxLaneLines)
	}
	bins := min(max(maxDrawnValues/max(series, 1), narrowBins), 240)
	for i, t := range shown {
		if f, title := rep.timelineFigure(t, i, bins); f != nil {
			s.Parts = append(s.Parts, part{Fold: &fold{Summary: title, Open: i == 0, Parts: []part{{Figure: f}}}})
		}
	}
	if n := len(rep.timelines) - len(shown); n > 0 {
		s.Parts = append(s.Parts, part{Text: fmt.Sprintf("%d more clusters are not drawn; events.jsonl and metrics.jsonl have them.", n)})
	}
	return s
}

func (rep *Report) timelineFigure(t *timeline, i, bins int) (f *figure, title string) {
	if t.toNs <= t.fromNs {
		return nil, ""
	}
	side := rep.side(t.cell)
	title = side + " at " + rep.pointName(rep.point(t.cell))
	if rep.repeats() {
		title += fmt.Sprintf(", repeat %d", t.repeat)
	}
	d := chart.Timeline{
		Side: rep.sideIndex(side), Seconds: t.seconds(t.toNs),
		Workloads: t.workloadSpans(rep), Faults: merged(t.faultSpans(rep), "faults"), Controller: merged(t.controllerSpans(), "controllers"), Lanes: t.lanes(bins),
	}
	draw := func(width float64) template.HTML {
		return d.Draw(chart.Frame{
			ID: fmt.Sprintf("timeline-%d-%.0f", i, width), Title: "Timeline of " + title, Width: width,
			Desc: fmt.Sprintf("%d faults and %d controllers over %.0f seconds, with the CPU, memory and heap of %d nodes. The table below lists the faults.", len(t.faults), len(d.Controller), d.Seconds, len(t.order)),
		})
	}
	f = &figure{ID: fmt.Sprintf("timeline-%d", i), Wide: draw(wideWidth), Table: t.table(rep)}
	if len(d.Lanes) > 0 {
		f.Data = t.data(fmt.Sprintf("data-%d", i), d)
	}
	d.Lanes = t.lanes(narrowBins)
	f.Narrow = draw(narrowWidth)
	if t.more > 0 {
		f.Caption = fmt.Sprintf("%d more faults and changes of controller are not drawn; events.jsonl has them.", t.more)
	}
	return f, title
}

// repeats reports whether cells were measured more than once.
func (rep *Report) repeats() bool {
	for _, t := range rep.timelines {
		if t.repeat > 1 {
			return true
		}
	}
	return false
}

func (t *timeline) seconds(ns int64) float64 { return float64(ns-t.fromNs) / 1e9 }

func (t *timeline) workloadSpans(rep *Report) []chart.Span {
	var out []chart.Span
	for _, w := range t.workloads {
		out = append(out, chart.Span{
			From: t.seconds(w.fromNs), To: t.seconds(w.toNs), Text: w.workload + rep.how(w.workload),
			Title: fmt.Sprintf("%s%s, %s", w.workload, rep.how(w.workload), plural(w.trials, "trial", "trials")),
		})
	}
	return out
}

// merged joins spans that no eye could tell apart where there are too many:
// those that begin in the same small part of the whole.
func merged(spans []chart.Span, what string) []chart.Span {
	if len(spans) <= maxDrawnSpans {
		return spans
	}
	first, last := spans[0].From, spans[len(spans)-1].From
	slot := max((last-first)/maxDrawnSpans, 1e-9)
	var out []chart.Span
	n, current := 0, -1
	for _, s := range spans {
		at := int((s.From - first) / slot)
		if at != current {
			out, current, n = append(out, s), at, 1
			continue
		}
		n++
		o := &out[len(out)-1]
		o.To, o.Until, o.Text = max(o.To, s.To), max(o.Until, s.Until), s.Text
		o.Title = fmt.Sprintf("%d %s from %.1f to %.1f s", n, what, o.From, o.To)
	}
	return out
}

// end is when a fault was over; one that was never undone lasts to the end.
func (t *timeline) end(w faultWindow) int64 { return cmp.Or(w.toNs, w.healedNs, t.toNs) }

func (t *timeline) faultSpans(rep *Report) []chart.Span {
	var out []chart.Span
	for _, w := range t.faults {
		from, to := t.seconds(w.fromNs), t.seconds(t.end(w))
		title := fmt.Sprintf("%s of node %s at %.1f s, trial %d of %s", w.how, w.node, from, w.trial, w.workload)
		if w.healedNs != 0 {
			title += fmt.Sprintf("; undone after %.1f s", float64(w.healedNs-w.fromNs)/1e9)
		}
		out = append(out, chart.Span{From: from, To: to, Until: min(t.seconds(w.endNs), to), Title: title + fmt.Sprintf("; healthy after %.1f s", to-from)})
	}
	return out
}

func (t *timeline) controllerSpans() []chart.Span {
	var out []chart.Span
	for i, c := range t.controller {
		end := t.toNs
		if i+1 < len(t.controller) {
			end = t.controller[i+1].atNs
		}
		text := c.node
		if c.epoch != 0 {
			text = fmt.Sprintf("epoch %d%s", c.epoch, brackets(c.node))
		}
		out = append(out, chart.Span{From: t.seconds(c.atNs), To: t.seconds(end), Text: text, Title: fmt.Sprintf("active controller %s from %.1f s", text, t.seconds(c.atNs))})
	}
	return out
}

// brackets puts a text that is there behind another one.
func brackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// dashOf tells the roles of nodes apart.
func dashOf(node string) int {
	switch {
	case strings.HasPrefix(node, "controller"):
		return 1
	case strings.HasPrefix(node, "zookeeper"):
		return 2
	}
	return 0
}

// lanes makes the lines of CPU, memory and heap. Where nodes are many, some
// stand for all of their kind.
func (t *timeline) lanes(bins int) []chart.Lane {
	lanes := []chart.Lane{{Name: "CPU, cores", Y: chart.Plain}, {Name: "resident memory", Y: chart.Bytes}, {Name: "heap", Y: chart.Bytes}}
	for _, name := range thin(t.order, maxLaneLines) {
		n := t.nodes[name]
		for i, e := range []*envelope{n.cpu, n.rss, n.heap} {
			e.shrink(bins)
			at, lo, hi := e.points(t.fromNs)
			if len(at) == 0 {
				continue
			}
			lanes[i].Lines = append(lanes[i].Lines, chart.LaneLine{Name: name, Dash: dashOf(name), At: at, Lo: lo, Hi: hi})
		}
	}
	var out []chart.Lane
	for _, l := range lanes {
		if len(l.Lines) > 0 {
			out = append(out, l)
		}
	}
	return out
}

func (t *timeline) table(rep *Report) *dataTable {
	out := &dataTable{Caption: "Faults, in seconds from the start", Head: []string{"workload", "trial", "fault", "node", "at", "undone after", "healthy after"}, Numbers: 4}
	for _, w := range t.faults[:min(len(t.faults), maxFaultRows)] {
		undone, healthy := "–", "–"
		if w.healedNs != 0 {
			undone = duration(float64(w.healedNs - w.fromNs))
		}
		if w.toNs != 0 {
			healthy = duration(float64(w.toNs - w.fromNs))
		}
		out.Rows = append(out.Rows, row{Cells: []string{w.workload + rep.how(w.workload), fmt.Sprint(w.trial), w.how, w.node, fmt.Sprintf("%.2f s", t.seconds(w.fromNs)), undone, healthy}})
	}
	if n := len(t.faults) - len(out.Rows); n > 0 {
		out.Caption += fmt.Sprintf("; %d more are in events.jsonl", n)
	}
	if len(out.Rows) == 0 {
		return &dataTable{Caption: "Workloads, in seconds from the start", Head: []string{"workload", "from", "to"}, Numbers: 1, Rows: t.workloadRows()}
	}
	return out
}

func (t *timeline) workloadRows() []row {
	var out []row
	for _, w := range t.workloads {
		out = append(out, row{Cells: []string{w.workload, fmt.Sprintf("%.2f s", t.seconds(w.fromNs)), fmt.Sprintf("%.2f s", t.seconds(w.toNs))}})
	}
	return out
}

// laneData is what the interactive view reads. Times are seconds, values are
// those of the lane, null where there is none.
type laneData struct {
	Side   int        `json:"side"`
	Faults []spanData `json:"faults"`
	Lanes  []lane     `json:"lanes"`
}

type spanData struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Title string  `json:"title"`
}

type lane struct {
	Name   string       `json:"name"`
	Bytes  bool         `json:"bytes"`
	At     []float64    `json:"at"`
	Series []laneSeries `json:"series"`
}

type laneSeries struct {
	Name   string     `json:"name"`
	Dash   int        `json:"dash"`
	Values []*float64 `json:"values"`
}

// data writes the lanes for the interactive view: the greatest value of each
// stretch of time, all nodes at the same times. Every lane spans the whole
// timeline, so that the axes of all are one.
func (t *timeline) data(id string, d chart.Timeline) *data {
	out := laneData{Side: d.Side}
	for _, s := range d.Faults {
		out.Faults = append(out.Faults, spanData{round(s.From, 100), round(s.To, 100), s.Title})
	}
	for _, l := range d.Lanes {
		ld := lane{Name: l.Name, Bytes: l.Name != "CPU, cores"}
		index := map[float64]int{0: 0, d.Seconds: 0}
		for _, line := range l.Lines {
			for _, at := range line.At {
				index[at] = 0
			}
		}
		ld.At = slices.Sorted(maps.Keys(index))
		for i, at := range ld.At {
			index[at] = i
			ld.At[i] = round(at, 100)
		}
		for _, line := range l.Lines {
			s := laneSeries{Name: line.Name, Dash: line.Dash, Values: make([]*float64, len(ld.At))}
			for i, at := range line.At {
				v := round(line.Hi[i], map[bool]float64{true: 1e-3, false: 1e3}[ld.Bytes])
				s.Values[index[at]] = &v
			}
			ld.Series = append(ld.Series, s)
		}
		out.Lanes = append(out.Lanes, ld)
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil // no interactive view: values that are no numbers were left out above
	}
	return &data{ID: id, JSON: template.HTML(`<script type="application/json" id="` + id + `">` + string(b) + `</script>`)} //nolint:gosec // json.Marshal escapes < and >
}

// round keeps a value to one part in scale.
func round(v, scale float64) float64 { return math.Round(v*scale) / scale }
