package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"

	"kbench/results/report/chart"
)

// Bounds of the page: the curves that are drawn, the steps of one drawing on
// a wide and on a narrow page and of all of them together, and the rows of a
// table.
const (
	maxDrawnCurves    = 20
	wideSteps         = 240
	narrowSteps       = 60
	maxDrawnSteps     = 6000
	maxCurveTableRows = 100
)

// availabilitySection shows what clients could do while the cluster was worked
// on.
func (rep *Report) availabilitySection() section {
	s := section{
		ID: "availability", Title: "Availability",
		Intro: "Of the produces to the probed partitions that were due in each step of time, the share that was acknowledged; solid is what was not. Shaded: from a fault until the cluster was healthy again, darker until the fault was undone.",
	}
	shown := rep.Availability[:min(len(rep.Availability), maxDrawnCurves)]
	for i := range shown {
		a := &shown[i]
		s.Parts = append(s.Parts, part{Fold: &fold{Summary: rep.curveTitle(a), Open: i == 0, Parts: []part{{Figure: rep.curveFigure(a, i, len(shown))}}}})
	}
	if n := len(rep.Availability) - len(shown) + rep.AvailabilityMore; n > 0 {
		s.Parts = append(s.Parts, part{Text: plural(n, "more trial is", "more trials are") + " not drawn; events.jsonl has them."})
	}
	return s
}

func (rep *Report) curveTitle(a *Availability) string {
	due, acked := a.sums()
	title := fmt.Sprintf("%s at %s, %s%s", rep.side(a.Cell), rep.pointName(rep.point(a.Cell)), a.Workload, rep.how(a.Workload))
	if rep.repeats() {
		title += fmt.Sprintf(", repeat %d", a.Repeat)
	}
	return title + fmt.Sprintf(", trial %d: %s of %d produces acknowledged, %s in the worst %s", a.Trial, percent(float64(acked)/float64(due)), due, percent(a.worst(0, len(a.Due)).share), chart.Duration(float64(a.StepNs)))
}

// percent never calls all what is not all.
func percent(share float64) string {
	p := math.Round(share*1e4) / 1e2
	if share < 1 {
		p = min(p, 99.99)
	}
	return fmt.Sprintf("%.4g %%", p)
}

// step is one step of a curve.
type step struct {
	at    int
	share float64
}

// worst is the step of the lowest share from one step until before another; at
// is -1 where nothing was due.
func (a *Availability) worst(from, to int) step {
	out := step{at: -1}
	for i := from; i < to; i++ {
		if share, ok := a.share(i); ok && (out.at < 0 || share < out.share) {
			out = step{i, share}
		}
	}
	return out
}

func (rep *Report) curveFigure(a *Availability, i, of int) *figure {
	due, acked := a.sums()
	most := max(maxDrawnSteps/of, narrowSteps)
	wide := min(wideSteps, most)
	draw := func(width float64, steps int) template.HTML {
		return rep.sharesOf(a, steps).Draw(chart.Frame{
			ID: fmt.Sprintf("availability-%d-%.0f", i, width), Title: "Availability: " + rep.curveTitle(a), Width: width,
			Desc: fmt.Sprintf("The share of produces acknowledged over %.1f seconds, with %d faults: %d of %d in all. The table below has every step in which one was not.", a.seconds(int64(len(a.Due))*a.StepNs), len(a.Faults), acked, due),
		})
	}
	f := &figure{ID: fmt.Sprintf("f-availability-%d", i), Wide: draw(wideWidth, wide), Narrow: draw(narrowWidth, min(narrowSteps, most)), Table: a.table()}
	if len(a.Due) > wide {
		f.Caption = fmt.Sprintf("A bar stands for %d steps of %s and shows the worst of them.", (len(a.Due)+wide-1)/wide, chart.Duration(float64(a.StepNs)))
	}
	return f
}

// sharesOf draws a curve by at most so many bars; each shows the worst of its
// steps, so that no outage is averaged away.
func (rep *Report) sharesOf(a *Availability, bars int) chart.Shares {
	n := (len(a.Due) + bars - 1) / bars
	out := chart.Shares{Side: rep.sideIndex(rep.side(a.Cell)), Seconds: a.seconds(int64(len(a.Due)) * a.StepNs)}
	for from := 0; from < len(a.Due); from += n {
		to := min(from+n, len(a.Due))
		w := a.worst(from, to)
		if w.at < 0 {
			continue
		}
		out.Bars = append(out.Bars, chart.Share{
			From: a.seconds(int64(from) * a.StepNs), To: a.seconds(int64(to) * a.StepNs), At: w.at, Value: w.share,
			Title: fmt.Sprintf("%s: %s, %d of %d", a.at(w.at), percent(w.share), a.Acked[w.at], a.Due[w.at]),
		})
	}
	for _, f := range a.Faults {
		s := chart.Span{From: a.seconds(f.FromNs), To: a.seconds(f.ToNs), Title: fmt.Sprintf("%s of node %s at %.1f s", f.How, f.Node, a.seconds(f.FromNs))}
		if f.HealedNs != 0 {
			s.Until = a.seconds(f.HealedNs)
			s.Title += fmt.Sprintf("; undone after %.1f s", a.seconds(f.HealedNs-f.FromNs))
		}
		s.Title += fmt.Sprintf("; healthy after %.1f s", a.seconds(f.ToNs-f.FromNs))
		out.Faults = append(out.Faults, s)
	}
	out.Faults = merged(out.Faults, "faults")
	return out
}

// at names a step by its beginning.
func (a *Availability) at(i int) string {
	return strconv.FormatFloat(a.seconds(int64(i)*a.StepNs), 'f', -1, 64) + " s"
}

func (a *Availability) seconds(ns int64) float64 { return float64(ns) / 1e9 }

// table lists every step in which a produce failed, after all of them.
func (a *Availability) table() *dataTable {
	due, acked := a.sums()
	t := &dataTable{Caption: "Produces: all, and those of each step in which one failed", Head: []string{"from", "due", "acknowledged", "share"}, Numbers: 1}
	line := func(name string, due, acked int64) {
		t.Rows = append(t.Rows, row{Cells: []string{name, fmt.Sprint(due), fmt.Sprint(acked), percent(float64(acked) / float64(due))}})
	}
	line("all", due, acked)
	more := 0
	for i := range a.Due {
		switch {
		case a.Acked[i] == a.Due[i]:
		case len(t.Rows) > maxCurveTableRows:
			more++
		default:
			line(a.at(i), a.Due[i], a.Acked[i])
		}
	}
	if more > 0 {
		t.Caption += fmt.Sprintf("; %d more are in report.json", more)
	}
	return t
}
