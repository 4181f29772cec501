package trend

import (
	"fmt"
	"html"
	"math"
	"strings"

	"kbench/results"
)

// Sizes of a chart, in pixels.
const (
	chartWidth  = 900.0
	chartHeight = 260.0
	chartLeft   = 90.0
	chartRight  = 20.0
	chartTitle  = 20.0 // height of the title
	chartTop    = 44.0
	chartBottom = 34.0
	chartNights = 365 // at most; the last are shown
)

// chart is one series on paper.
type chart struct {
	a      *Analysis
	points []Point
	first  int // index of points[0] in the analysis
	lo, hi float64
	b      strings.Builder
}

func newChart(a *Analysis) *chart {
	c := &chart{a: a, first: max(0, len(a.Points)-chartNights)}
	c.points = a.Points[c.first:]
	c.lo, c.hi = math.Inf(1), math.Inf(-1)
	for _, p := range c.points {
		if p.Use == Used { // outliers are drawn at the edge
			c.lo, c.hi = min(c.lo, p.Median), max(c.hi, p.Median)
		}
	}
	if !(c.hi >= c.lo) {
		c.lo, c.hi = 0, 1
	}
	pad := max((c.hi-c.lo)*0.1, c.hi*0.01, math.SmallestNonzeroFloat64)
	c.lo, c.hi = max(0, c.lo-pad), min(c.hi+pad, math.MaxFloat64)
	if c.lo == c.hi {
		c.hi = c.lo + 1
	}
	return c
}

func (c *chart) x(i int) float64 {
	width := chartWidth - chartLeft - chartRight
	return chartLeft + width*(float64(i-c.first)+0.5)/float64(max(len(c.points), 1))
}

func (c *chart) y(v float64) float64 {
	share := (min(max(v, c.lo), c.hi) - c.lo) / (c.hi - c.lo)
	return chartHeight - chartBottom - share*(chartHeight-chartTop-chartBottom)
}

// text escapes foreign text for XML, whose characters exclude controls.
func text(s string) string { return html.EscapeString(results.OneLine(s)) }

func (c *chart) printf(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

// titled gives the content of a chart of its own coordinates, at (0, 0) of the
// paper, below its title.
func (c *chart) titled() string {
	c.printf("<text class=\"t\" x=\"%g\" y=\"18\">%s %s</text>\n", chartLeft, text(c.a.Cell), text(c.a.title()))
	return c.draw()
}

// draw is the same for a page whose heading is the title: it begins at
// chartTitle.
func (c *chart) draw() string {
	c.printf("<text class=\"s\" x=\"%g\" y=\"34\">%s; spread %s%s</text>\n", chartLeft, text(c.a.counts()), c.a.spread(), c.shown())
	c.axes()
	c.nights()
	c.levels()
	c.marks()
	return c.b.String()
}

func (c *chart) shown() string {
	if c.first == 0 {
		return ""
	}
	return fmt.Sprintf("; the last %d are shown", len(c.points))
}

func (c *chart) axes() {
	for _, v := range roundValues(c.lo, c.hi) {
		c.printf("<line class=\"g\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>", chartLeft, chartWidth-chartRight, c.y(v), c.y(v))
		c.printf("<text class=\"s\" x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", chartLeft-6, c.y(v)+4, results.FormatValue(v, c.a.Unit))
	}
	n := len(c.points)
	for _, i := range []int{0, n / 2, n - 1} {
		anchor := map[int]string{0: "start", n - 1: "end"}[i]
		if i < 0 || i >= n || i == n/2 && n < 5 {
			continue
		}
		if anchor == "" {
			anchor = "middle"
		}
		c.printf("<text class=\"s\" x=\"%.1f\" y=\"%g\" text-anchor=\"%s\">%s</text>\n", c.x(c.first+i), chartHeight-20, anchor, c.points[i].At.Format("2006-01-02"))
	}
}

// roundValues gives the three to six multiples of 1, 2 or 5 times a power of ten
// within lo and hi.
func roundValues(lo, hi float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/3)))
	for _, m := range []float64{5, 2} {
		if m*step <= (hi-lo)/3 {
			step *= m
			break
		}
	}
	var out []float64
	for k := math.Ceil(lo / step); k*step <= hi && len(out) < 12; k++ {
		out = append(out, k*step)
	}
	return out
}

// nights draws each night: a bar of shade where it is not used, a diamond
// where it is an outlier, a dot else.
func (c *chart) nights() {
	slot := (chartWidth - chartLeft - chartRight) / float64(max(len(c.points), 1))
	for k := range c.points {
		p := &c.points[k]
		x, y := c.x(c.first+k), c.y(p.Median)
		tip := fmt.Sprintf("%s: %s, n %d, %s", date(p), c.a.medianOf(p), p.N, p.Use)
		if p.Why != "" {
			tip += ", " + p.Why
		}
		tip = "<title>" + text(tip) + "</title>"
		switch p.Use {
		case Invalid, Noisy:
			c.printf("<rect class=\"%s\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\">%s</rect>\n", p.Use, x-slot/2, chartTop, slot, chartHeight-chartTop-chartBottom, tip)
		case Outlier:
			c.printf("<path class=\"outlier\" d=\"M%.1f %.1fl4 4l-4 4l-4-4z\">%s</path>\n", x, y-4, tip)
		default:
			c.printf("<circle class=\"night\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\">%s</circle>\n", x, y, tip)
		}
	}
}

// levels draws a line through each level beside a change.
func (c *chart) levels() {
	for i := range c.a.Changes {
		ch := &c.a.Changes[i]
		before, after := c.first, c.first+len(c.points)-1
		if i > 0 {
			before = max(before, c.a.Changes[i-1].Point)
		}
		if i+1 < len(c.a.Changes) {
			after = c.a.Changes[i+1].Point - 1
		}
		if ch.Point < c.first {
			continue
		}
		if i == 0 {
			c.level(before, ch.Point-1, ch.Before)
		}
		c.level(ch.Point, after, ch.After)
	}
}

func (c *chart) level(from, to int, v float64) {
	if to >= from {
		c.printf("<line class=\"level\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", c.x(from)-2, c.x(to)+2, c.y(v), c.y(v))
	}
}

// marks draws changes and accepted changes across the chart.
func (c *chart) marks() {
	for i := range c.a.Changes {
		ch := &c.a.Changes[i]
		if ch.Point < c.first {
			continue
		}
		kind := "better"
		if ch.Worse {
			kind = "worse"
		}
		x := c.x(ch.Point)
		c.printf("<g class=\"change %s\"><line x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>", kind, x, x, chartTop, chartHeight-chartBottom)
		c.printf("<text x=\"%.1f\" y=\"%g\" text-anchor=\"%s\">%s</text>", x, chartTop-2, c.anchor(x), text(percent(ch.Ratio)+" "+string(ch.State)))
		c.printf("<title>%s</title></g>\n", text(c.a.describe(ch)+"; "+where(&c.a.Points[ch.Point])))
	}
	for _, acc := range c.a.Accepts {
		at := -1
		for k := range c.points {
			if !c.points[k].At.Before(acc.RunAt) {
				at = c.first + k
				break
			}
		}
		if at < 0 {
			continue
		}
		x := c.x(at)
		c.printf("<g class=\"accepted\"><line x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>", x, x, chartTop, chartHeight-chartBottom)
		c.printf("<text x=\"%.1f\" y=\"%g\" text-anchor=\"%s\">accepted</text><title>%s</title></g>\n", x, chartHeight-6, c.anchor(x), text("accepted: "+acc.Reason))
	}
}

// anchor keeps a label on the paper.
func (c *chart) anchor(x float64) string {
	switch {
	case x > chartWidth-120:
		return "end"
	case x < chartLeft+60:
		return "start"
	}
	return "middle"
}

// summary says in words what the chart shows.
func (c *chart) summary() string {
	out := c.a.Cell + " " + c.a.title() + ": " + c.a.counts()
	if len(c.a.Changes) == 0 {
		return out + "; no change"
	}
	for i := range c.a.Changes {
		out += "; " + c.a.describe(&c.a.Changes[i])
	}
	return out
}
