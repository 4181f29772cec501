package plan

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"kbench/results"
)

// Sizes of a panel, in pixels.
const (
	panelWidth  = 760.0
	panelHeight = 400.0
	leftMargin  = 84.0
	rightMargin = 24.0
	topMargin   = 58.0
	lowMargin   = 46.0
	curveSteps  = 80
)

// colours tell sides apart on light and on dark paper (Okabe and Ito's palette,
// which the colour-blind can tell apart).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// panel is one metric with all its sides.
type panel struct {
	title  string
	unit   results.Unit
	bounds []float64
	fits   []Fitted
	x, y   scale
	top    float64 // the largest measured rung of all sides
}

// scale maps a logarithmic axis to pixels.
type scale struct{ lo, hi, from, to float64 }

func (s scale) at(v float64) float64 {
	v = min(max(v, s.lo/10), s.hi*10) // what leaves the paper is clipped there
	return s.from + (math.Log(v)-math.Log(s.lo))/(math.Log(s.hi)-math.Log(s.lo))*(s.to-s.from)
}

// SVG draws the fits that the answers are read from, or all headlines where
// nothing was asked, one panel for each metric: rungs with their smallest and
// largest values, the fitted curve, the 95 % band of a new measurement, the
// objective, and the extrapolated part shaded. It uses no script, no font and
// no file of others.
func (p *Plan) SVG() ([]byte, error) {
	panels := p.panels()
	var b bytes.Buffer
	height := panelHeight * max(float64(len(panels)), 1)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" font-family="system-ui, sans-serif" font-size="12">`+"\n", panelWidth, height, panelWidth, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", escape("Capacity plan of "+strings.Join(p.Runs, ", ")), escape(p.describe()))
	if len(panels) == 0 {
		fmt.Fprintf(&b, `<text x="24" y="40" fill="currentColor">%s</text>`+"\n", "No metric could be fitted: nothing to draw.")
	}
	for i := range panels {
		fmt.Fprintf(&b, `<g transform="translate(0 %g)">`+"\n", float64(i)*panelHeight)
		panels[i].draw(&b, fmt.Sprintf("plot-%d", i))
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// describe is the chart for those who cannot see it.
func (p *Plan) describe() string {
	var out []string
	for _, a := range p.Answers {
		out = append(out, a.sentence(p.Need))
	}
	if len(out) == 0 {
		out = append(out, "Fitted growth of the headline metrics with the partitions.")
	}
	return strings.Join(out, ". ")
}

// panels groups the fits by metric and statistic.
func (p *Plan) panels() []panel {
	var out []panel
	for _, f := range p.Fits {
		var bounds []float64
		asked := len(p.Answers) == 0
		for _, a := range p.Answers {
			if a.Name == f.Name && a.Stat == f.Stat {
				asked = true
				bounds = append(bounds, a.Bound)
			}
		}
		if f.Why != "" || !asked {
			continue
		}
		title := f.Name + ", " + f.Stat
		i := slices.IndexFunc(out, func(q panel) bool { return q.title == title })
		if i < 0 {
			out = append(out, panel{title: title, unit: f.Unit})
			i = len(out) - 1
		}
		out[i].fits = append(out[i].fits, f)
		for _, v := range bounds {
			if !slices.Contains(out[i].bounds, v) {
				out[i].bounds = append(out[i].bounds, v)
			}
		}
	}
	for i := range out {
		out[i].scales()
	}
	return out
}

// scales fits the axes to everything that is drawn.
func (q *panel) scales() {
	x := scale{math.Inf(1), 0, leftMargin, panelWidth - rightMargin}
	y := scale{math.Inf(1), 0, panelHeight - lowMargin, topMargin}
	for _, f := range q.fits {
		l := f.ladder
		q.top = max(q.top, l.top())
		x.lo, x.hi = min(x.lo, l.bottom()), max(x.hi, mostAhead*l.top())
		for _, at := range f.At {
			x.hi = max(x.hi, 1.1*at.Partitions)
		}
		for _, r := range f.Rungs {
			y.include(r.Value, r.Min, r.Max)
		}
	}
	for _, f := range q.fits {
		e := f.ladder.at(x.hi)
		y.include(e.Next.Lo, e.Next.Hi)
	}
	y.include(q.bounds...)
	x.lo /= 1.15
	y.lo, y.hi = y.lo/1.2, y.hi*1.2
	q.x, q.y = x, y
}

// include widens an axis; only what is over zero has a logarithm.
func (s *scale) include(values ...float64) {
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			s.lo, s.hi = min(s.lo, v), max(s.hi, v)
		}
	}
}

func (q *panel) draw(b *bytes.Buffer, id string) {
	fmt.Fprintf(b, `<text x="%g" y="20" font-size="14" font-weight="600" fill="currentColor">%s</text>`+"\n", leftMargin, escape(q.title))
	fmt.Fprintf(b, `<clipPath id="%s"><rect x="%g" y="%g" width="%g" height="%g"/></clipPath>`+"\n", id, leftMargin, topMargin, panelWidth-leftMargin-rightMargin, panelHeight-topMargin-lowMargin)
	left := q.x.at(q.top)
	fmt.Fprintf(b, `<rect x="%.1f" y="%g" width="%.1f" height="%g" fill="currentColor" fill-opacity="0.07"/>`+"\n", left, topMargin, panelWidth-rightMargin-left, panelHeight-topMargin-lowMargin)
	fmt.Fprintf(b, `<text x="%.1f" y="%g" font-size="11" text-anchor="end" fill="currentColor">extrapolated</text>`+"\n", panelWidth-rightMargin-4, panelHeight-lowMargin-6)
	q.axes(b)
	fmt.Fprintf(b, `<g clip-path="url(#%s)">`+"\n", id)
	for i, f := range q.fits {
		q.side(b, f, colours[i%len(colours)])
	}
	for _, v := range q.bounds {
		fmt.Fprintf(b, `<line class="slo" x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="currentColor" stroke-width="1.5" stroke-dasharray="6 4"/>`+"\n", leftMargin, panelWidth-rightMargin, q.y.at(v), q.y.at(v))
		fmt.Fprintf(b, `<text x="%g" y="%.1f" font-size="11" fill="currentColor">SLO %s</text>`+"\n", leftMargin+6, q.y.at(v)-4, escape(format(v, q.unit)))
	}
	b.WriteString("</g>\n")
	q.legend(b)
}

// side draws one fit: band, curve, rungs.
func (q *panel) side(b *bytes.Buffer, f Fitted, colour string) {
	var curve, lower strings.Builder
	var upper []string
	for i := range curveSteps + 1 {
		n := math.Exp(math.Log(q.x.lo) + (math.Log(q.x.hi)-math.Log(q.x.lo))*float64(i)/curveSteps)
		e := f.ladder.at(n)
		x := q.x.at(n)
		fmt.Fprintf(&curve, "%.1f,%.1f ", x, q.y.at(e.Value))
		fmt.Fprintf(&lower, "%.1f,%.1f ", x, q.y.at(e.Next.Lo))
		upper = append(upper, fmt.Sprintf("%.1f,%.1f", x, q.y.at(e.Next.Hi)))
	}
	slices.Reverse(upper)
	fmt.Fprintf(b, `<polygon class="band" points="%s%s" fill="%s" fill-opacity="0.16"/>`+"\n", lower.String(), strings.Join(upper, " "), colour)
	fmt.Fprintf(b, `<polyline class="curve" points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.TrimSpace(curve.String()), colour)
	for _, r := range f.Rungs {
		x := q.x.at(float64(r.Partitions))
		lo, hi := max(r.Min, q.y.lo), max(r.Max, q.y.lo)
		fmt.Fprintf(b, `<line class="spread" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="1.5"/>`+"\n", x, x, q.y.at(lo), q.y.at(hi), colour)
		fmt.Fprintf(b, `<circle class="rung" cx="%.1f" cy="%.1f" r="3.5" fill="%s"><title>%s</title></circle>`+"\n", x, q.y.at(r.Value), colour,
			escape(fmt.Sprintf("%s, %s partitions: %s, %s to %s, n %d", f.Side, count(float64(r.Partitions)), format(r.Value, f.Unit), format(r.Min, f.Unit), format(r.Max, f.Unit), r.N)))
	}
}

// axes draws a line at 1, 2 and 5 of each decade, or at the decades alone
// where they are many.
func (q *panel) axes(b *bytes.Buffer) {
	fmt.Fprintf(b, `<rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="currentColor" stroke-opacity="0.5"/>`+"\n", leftMargin, topMargin, panelWidth-leftMargin-rightMargin, panelHeight-topMargin-lowMargin)
	for _, v := range q.x.ticks() {
		x := q.x.at(v)
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%g" y2="%g" stroke="currentColor" stroke-opacity="0.15"/>`+"\n", x, x, topMargin, panelHeight-lowMargin)
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle" fill="currentColor">%s</text>`+"\n", x, panelHeight-lowMargin+16, count(v))
	}
	fmt.Fprintf(b, `<text x="%g" y="%g" text-anchor="middle" fill="currentColor">partitions</text>`+"\n", (leftMargin+panelWidth-rightMargin)/2, panelHeight-10)
	for _, v := range q.y.ticks() {
		y := q.y.at(v)
		fmt.Fprintf(b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="currentColor" stroke-opacity="0.15"/>`+"\n", leftMargin, panelWidth-rightMargin, y, y)
		fmt.Fprintf(b, `<text x="%g" y="%.1f" text-anchor="end" fill="currentColor">%s</text>`+"\n", leftMargin-6, y+4, escape(format(v, q.unit)))
	}
}

// ticks are round values inside the axis, at most a dozen.
func (s scale) ticks() []float64 {
	const most = 12
	for _, digits := range [][]float64{{1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1}} {
		var out []float64
		for e := math.Floor(math.Log10(s.lo)); e <= math.Log10(s.hi); e++ {
			for _, d := range digits {
				if v := d * math.Pow(10, e); v >= s.lo && v <= s.hi {
					out = append(out, v)
				}
			}
		}
		if len(out) <= most {
			return out
		}
	}
	return nil
}

func (q *panel) legend(b *bytes.Buffer) {
	x := leftMargin
	for i, f := range q.fits {
		label := fmt.Sprintf("%s (%s)", f.Side, f.Model)
		fmt.Fprintf(b, `<rect x="%.1f" y="34" width="12" height="12" fill="%s"/><text x="%.1f" y="44" fill="currentColor">%s</text>`+"\n", x, colours[i%len(colours)], x+17, escape(label))
		x += 34 + 6.8*float64(len([]rune(label)))
	}
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(results.OneLine(s))) // a buffer takes everything
	return b.String()
}
