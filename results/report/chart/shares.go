package chart

import (
	"fmt"
	"html/template"
)

// Share is one bar: a part of a whole over a stretch of time, in seconds.
type Share struct {
	From, To float64
	Value    float64 // 0 to 1
	At       int     // names the step that it shows, for programs
	Title    string  // all of it, shown by pointing where something is missing
}

// Shares is a share over time and the faults behind it.
type Shares struct {
	Side    int
	Seconds float64
	Bars    []Share
	Faults  []Span
}

// Sizes of shares over time.
const (
	shareHeight = 120.0
	shareTop    = 8.0
	shareBottom = 34.0
	shareLeft   = 50.0
	shareRight  = 22.0
)

// Draw draws the share of each stretch light and what is missing of it solid,
// so that an outage is told from a stretch without data.
func (s Shares) Draw(f Frame) template.HTML {
	d := start(f, shareTop+shareHeight+shareBottom)
	x := linear(0, s.Seconds, shareLeft, f.Width-shareRight)
	y := linear(0, 1, shareTop+shareHeight, shareTop)
	for _, w := range s.Faults {
		d.window(w, x, shareTop, y.from)
	}
	for _, b := range s.Bars {
		if x.holds(b.From) && x.holds(b.To) && y.holds(b.Value) {
			d.share(b, x, y, SideClass(s.Side))
		}
	}
	for _, t := range []float64{0, 0.25, 0.5, 0.75, 1} {
		d.line(x.from, y.at(t), x.to, y.at(t), "grid")
		d.label(x.from-6, y.at(t)+4, "end", "tick", fmt.Sprintf("%.0f %%", 100*t))
	}
	d.seconds(x, y.from, f.Width)
	return d.done()
}

func (d *drawing) share(b Share, x, y scale, class string) {
	value := min(max(b.Value, 0), 1)
	left, width := x.at(b.From), max(x.at(b.To)-x.at(b.From), 0.5)
	d.open("g", "class", "shares")
	if value < 1 {
		d.text("title", b.Title)
	}
	d.tag("rect", "x", left, "y", y.at(value), "width", width, "height", y.from-y.at(value), "class", "share "+class, "data-at", b.At, "data-value", exact(b.Value))
	if value < 1 {
		d.tag("rect", "x", left, "y", y.to, "width", width, "height", y.at(value)-y.to, "class", "missing "+class)
	}
	d.close("g")
}

// window shades a fault, darker up to where the worst of it was over.
func (d *drawing) window(s Span, x scale, top, bottom float64) {
	d.open("g", "class", "fault-window")
	d.text("title", s.Title)
	d.tag("rect", "x", x.at(s.From), "y", top, "width", max(x.at(s.To)-x.at(s.From), 1.5), "height", bottom-top, "class", "fault")
	if s.Until > s.From {
		d.tag("rect", "x", x.at(s.From), "y", top, "width", x.at(s.Until)-x.at(s.From), "height", bottom-top, "class", "fault worst")
	}
	d.line(x.at(s.From), top, x.at(s.From), bottom, "fault-edge")
	d.close("g")
}

// seconds draws an axis of time.
func (d *drawing) seconds(x scale, y, width float64) {
	n := 8
	if width < 600 {
		n = 4
	}
	for _, tick := range x.ticks(n) {
		d.line(x.at(tick), y, x.at(tick), y+4, "axis")
		d.label(x.at(tick), y+17, "middle", "tick", short(tick)+" s")
	}
	d.line(x.from, y, x.to, y, "axis")
}
