package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"kbench/results"
	"kbench/results/report/chart"
	"kbench/results/stat"
)

// Widths of drawings: for pages that are wide, for phones, and of a panel.
const (
	wideWidth   = 960.0
	narrowWidth = 350.0
	panelWidth  = 308.0
)

// noun says in words what a metric's headline measures.
var noun = map[string]string{
	"creation":            "creating partitions",
	"controlled-shutdown": "a controlled shutdown",
	"propagation":         "propagation to the last broker",
	"recovery.controller": "recovery of the controller",
	"recovery.broker":     "recovery from the loss of a broker",
	"unavailability":      "unavailability of a partition",
}

func nounOf(metric string) string {
	if n := noun[metric]; n != "" {
		return n
	}
	return metric
}

// lead is the largest statement that the run supports, and what limits it.
func (rep *Report) lead() (sentence, note string) {
	switch {
	case rep.Run.Verdict == results.Invalid:
		return "This run is invalid: its numbers must not be compared.", rep.firstReason()
	case rep.Run.Verdict != results.Valid:
		return "This run is inconclusive: too little was measured to say.", rep.firstReason()
	case rep.pairs != nil:
		said := rep.pairs.Headline()
		return said[0], strings.Join(said[1:], ". ")
	case len(rep.Comparisons) > 0:
		return rep.leadOfTwo()
	}
	for _, bl := range rep.leadOrder() {
		for i := len(bl.rows) - 1; i >= 0; i-- {
			f := bl.rows[i].cells[0]
			if bl.rows[i].headline && f != nil && f.N > 0 {
				return fmt.Sprintf("At %s, %s: %s.", rep.pointName(bl.rows[i].point), nounOf(bl.metric.Name), results.FormatValue(f.Median, f.Unit)),
					fmt.Sprintf("Median of %s%s on %s, from %s to %s.", plural(int(f.N), "value", "values"), ofRepeats(f), rep.Sides[0], results.FormatValue(f.Min, f.Unit), results.FormatValue(f.Max, f.Unit))
			}
		}
	}
	return "Nothing was measured.", ""
}

// leadOrder is the blocks with the controller's recovery, which most ask for,
// first.
func (rep *Report) leadOrder() []block {
	all := rep.blocks()
	for i, bl := range all {
		if bl.metric.Name == "recovery.controller" {
			return append([]block{bl}, append(all[:i:i], all[i+1:]...)...)
		}
	}
	return all
}

func (rep *Report) firstReason() string {
	for _, r := range rep.remarks() {
		if strings.HasPrefix(r, string(rep.Run.Verdict)+":") {
			return r
		}
	}
	return ""
}

// leadOfTwo states the strongest difference shown at the largest point where
// one is.
func (rep *Report) leadOfTwo() (sentence, note string) {
	tests := 1 // at one point: Holm's correction grows with them
	for i := len(rep.Points) - 1; i >= 0; i-- {
		var best *Comparison
		shown, compared := 0, 0
		for j := range rep.Comparisons {
			c := &rep.Comparisons[j]
			if c.Point != rep.Points[i] || c.Shown == NotCompared {
				continue
			}
			compared++
			if c.strength() > 0 {
				shown++
				if best == nil || c.strength() > best.strength() {
					best = c
				}
			}
		}
		tests = max(tests, compared)
		if best != nil {
			return rep.say(best), fmt.Sprintf("Of %s at %s, %d %s a difference between the sides.",
				plural(compared, "comparison", "comparisons"), rep.pointName(best.Point), shown, map[bool]string{true: "shows", false: "show"}[shown == 1])
		}
	}
	most := int64(0)
	for _, c := range rep.Comparisons {
		if c.Shown == NoDifference {
			most = max(most, min(c.N, c.BaseN))
		}
	}
	sentence = "No difference between " + strings.Join(rep.Sides, " and ") + " is shown."
	if need := int64(stat.MannWhitneyNeeds(stat.Alpha / float64(tests))); most < need {
		note = fmt.Sprintf("With %s a side none can be: at least %d are needed.", plural(int(most), "trial or repeat", "trials or repeats"), need)
	}
	return sentence, note
}

// say puts a shown difference into a sentence, the larger side first.
func (rep *Report) say(c *Comparison) string {
	big, small, ratio, lo, hi := c.Side, c.Base, *c.Ratio, *c.Lo, *c.Hi
	if ratio < 1 {
		big, small, ratio, lo, hi = c.Base, c.Side, 1/ratio, 1/hi, 1/lo
	}
	how := rep.how(c.Workload)
	if c.Unit == results.Number || c.Unit == results.Bytes {
		return fmt.Sprintf("At %s, %s%s is %s times as much on %s as on %s (95 %% interval %s to %s).",
			rep.pointName(c.Point), nounOf(c.Metric), how, factor(ratio), big, small, factor(lo), factor(hi))
	}
	if c.Unit == results.PerSecond {
		return fmt.Sprintf("At %s, %s is %s times as fast on %s as on %s%s (95 %% interval %s to %s).",
			rep.pointName(c.Point), nounOf(c.Metric), factor(ratio), big, small, how, factor(lo), factor(hi))
	}
	return fmt.Sprintf("At %s, %s%s takes %s %s times as long as %s (95 %% interval %s to %s).",
		rep.pointName(c.Point), nounOf(c.Metric), how, big, factor(ratio), small, factor(lo), factor(hi))
}

// how names the way of a workload's fault, in brackets.
func (rep *Report) how(workload string) string { return brackets(rep.How[workload]) }

// factor writes a ratio with three digits.
func factor(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// pointName says 30k partitions, or the point of a sweep as it is.
func (rep *Report) pointName(point string) string {
	if rep.pointHeader() == "partitions" {
		return point + " partitions"
	}
	return point
}

// headlineSection is the comparison of the sides, or the headlines of one.
func (rep *Report) headlineSection() section {
	s := section{ID: "headline", Title: "Headlines"}
	if len(rep.Comparisons) == 0 {
		s.Parts = rep.soleHeadlines()
		return s
	}
	s.Intro = fmt.Sprintf("How each headline compares with %s; n counts trials, or repeats where a trial has many values. Filled marks show a difference; hollow ones do not, which is not to say that the sides are equal.", rep.Sides[0])
	groups := rep.ratioGroups()
	if len(groups) == 0 {
		s.Intro = "No headline can be drawn as a ratio; the table says why."
		s.Parts = []part{{Table: rep.comparisonTable()}}
		return s
	}
	draw := func(width float64) template.HTML {
		return chart.Forest(chart.Frame{
			ID: fmt.Sprintf("headline-%.0f", width), Title: "Headlines, as ratios to " + rep.Sides[0],
			Desc: "One row for each headline; right of the line of 1 the side's value is the larger one. The table below has every number.", Width: width,
		}, groups, "less than "+rep.Sides[0], "more than "+rep.Sides[0])
	}
	s.Parts = []part{{Figure: &figure{
		ID: "f-headline", Title: "Ratio to " + rep.Sides[0], Caption: "Mark: the ratio. Bar: its 95 % interval, where n bounds one. ~: no difference is shown. Medians at the right.",
		Wide: draw(wideWidth), Narrow: draw(narrowWidth), Table: rep.comparisonTable(),
	}}}
	return s
}

// maxForestPoints bounds the points of the sweep in the plot of ratios; the
// table has all.
const maxForestPoints = 3

func (rep *Report) ratioGroups() []chart.RatioGroup {
	var out []chart.RatioGroup
	points := thin(rep.Points, maxForestPoints)
	if len(rep.Sides) > 2 { // one point has rows enough
		points = points[len(points)-1:]
	}
	for _, point := range points {
		g := chart.RatioGroup{Name: point}
		for _, c := range rep.Comparisons {
			if c.Point != point || c.Ratio == nil {
				continue
			}
			name := rep.metricTitle(c.Metric, c.Workload)
			if len(rep.Sides) > 2 {
				name += ", " + c.Side
			}
			g.Ratios = append(g.Ratios, chart.Ratio{
				Side: rep.sideIndex(c.Side), Name: name, Ratio: *c.Ratio, Lo: orNaN(c.Lo), Hi: orNaN(c.Hi),
				Shown: c.Shown == Better || c.Shown == Worse, Text: c.short(),
				Detail: median(c.BaseMedian, c.BaseN, c.Unit) + " → " + median(c.Median, c.N, c.Unit),
			})
		}
		if len(g.Ratios) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// short is what stands at the end of a row.
func (c *Comparison) short() string {
	if c.Shown == Better || c.Shown == Worse {
		return factor(*c.Ratio) + "× " + string(c.Shown)
	}
	return factor(*c.Ratio) + "× ~"
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// thin keeps at most n of a list, its ends among them.
func thin[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	out := make([]T, n)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(n-1)]
	}
	return out
}

func (rep *Report) comparisonTable() *dataTable {
	t := &dataTable{
		Caption: "Headlines of each side, compared with " + rep.Sides[0],
		Head:    []string{"headline", rep.pointHeader(), "side", rep.Sides[0] + " median", "n", "side's median", "n", "ratio", "95 % interval", "p", "what is shown"},
		Numbers: 3, Words: 1,
	}
	for _, c := range rep.Comparisons {
		interval, p, ratio := "–", "–", "–"
		if c.Ratio != nil {
			ratio = factor(*c.Ratio)
		}
		if c.Lo != nil {
			interval = factor(*c.Lo) + " to " + factor(*c.Hi)
		}
		if c.P != nil {
			p = fmt.Sprintf("%.2g", *c.P)
		}
		t.Rows = append(t.Rows, row{Cells: []string{
			rep.metricTitle(c.Metric, c.Workload), c.Point, c.Side, median(c.BaseMedian, c.BaseN, c.Unit), fmt.Sprint(c.BaseN),
			median(c.Median, c.N, c.Unit), fmt.Sprint(c.N), ratio, interval, p, string(c.Shown) + ": " + c.Method,
		}})
	}
	return t
}

func median(v float64, n int64, u results.Unit) string {
	if n == 0 {
		return "–"
	}
	return results.FormatValue(v, u)
}

// soleHeadlines are the headlines of a run with one side.
func (rep *Report) soleHeadlines() []part {
	t := &dataTable{Caption: "Headlines", Head: []string{"headline", rep.pointHeader(), "side", "n", "min", "median", "max"}, Numbers: 3}
	for _, bl := range rep.blocks() {
		for _, r := range bl.rows {
			for i, f := range r.cells {
				if r.headline && f != nil {
					t.Rows = append(t.Rows, row{Cells: append([]string{rep.metricTitle(bl.metric.Name, bl.workload), r.point, rep.Sides[i]}, figureText(f, false)...)})
				}
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []part{{Table: t}}
}
