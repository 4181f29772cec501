package chart

import (
	"html/template"
	"math"
	"slices"
)

// XY is one point of a line.
type XY struct {
	X, Y     float64
	Min, Max float64 // of the band about the line, NaN for none
	Samples  []float64
}

// Line is one side's line in a panel.
type Line struct {
	Side   int
	Name   string
	Points []XY
	// Beyond is where the line is no longer supported by what was measured: it
	// goes on, dotted.
	Beyond []XY
}

// Tick is one labelled place of an axis.
type Tick struct {
	At   float64
	Text string
}

// Axes are the axes of a panel. Both are logarithmic, but for a LinearX.
type Axes struct {
	X       []Tick
	LinearX bool
	XName   string
	Y       Label
}

// Margins of a panel.
const (
	panelHeight = 232.0
	panelTop    = 10.0
	panelBottom = 40.0
	panelLeft   = 50.0
	labelGap    = 14.0
)

// Panel draws lines over a logarithmic y, each named at its end.
func Panel(f Frame, a Axes, lines []Line) template.HTML {
	d := start(f, panelHeight)
	x, y := panelScales(f, a, lines)
	for _, t := range y.ticks(5) {
		d.line(x.from, y.at(t), x.to, y.at(t), "grid")
		d.label(x.from-6, y.at(t)+4, "end", "tick", a.Y(t))
	}
	last := math.Inf(-1)
	for _, t := range a.X {
		at := x.at(t.At)
		d.line(at, y.from, at, y.from+4, "axis")
		// A label that would touch the one before is left out.
		if half := textWidth(t.Text, 11) / 2; at-half > last+2 {
			d.label(at, y.from+17, "middle", "tick", t.Text)
			last = at + half
		}
	}
	d.line(x.from, y.from, x.to, y.from, "axis")
	d.label((x.from+x.to)/2, panelHeight-6, "middle", "hint", a.XName)
	var names []endLabel
	for _, l := range lines {
		d.band(l, x, y)
	}
	for _, l := range lines {
		if at, ok := d.drawLine(l, x, y); ok {
			names = append(names, endLabel{at, l.Side, l.Name})
		}
	}
	spread(names, y.to+4, y.from)
	for _, n := range names {
		d.label(x.to+8, n.y+4, "start", "name "+SideClass(n.side), n.name)
	}
	return d.done()
}

// endLabel is a line's name at its end.
type endLabel struct {
	y    float64
	side int
	name string
}

// spread moves labels apart, within the panel's height.
func spread(labels []endLabel, top, bottom float64) {
	slices.SortStableFunc(labels, func(a, b endLabel) int { return int(math.Copysign(1, a.y-b.y)) })
	for i := 1; i < len(labels); i++ {
		labels[i].y = max(labels[i].y, labels[i-1].y+labelGap)
	}
	for i := len(labels) - 1; i >= 0; i-- {
		low := bottom - labelGap*float64(len(labels)-1-i)
		labels[i].y = max(min(labels[i].y, low), top)
	}
}

func panelScales(f Frame, a Axes, lines []Line) (x, y scale) {
	xlo, xhi, ylo, yhi, room := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1), 0.0
	grow := func(v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			ylo, yhi = min(ylo, v), max(yhi, v)
		}
	}
	for _, l := range lines {
		room = max(room, textWidth(l.Name, fontSize)+12)
		for _, p := range append(slices.Clone(l.Points), l.Beyond...) {
			xlo, xhi = min(xlo, p.X), max(xhi, p.X)
			for _, v := range append([]float64{p.Y, p.Min, p.Max}, p.Samples...) {
				grow(v)
			}
		}
	}
	for _, t := range a.X {
		xlo, xhi = min(xlo, t.At), max(xhi, t.At)
	}
	right := f.Width - min(room, f.Width/3)
	if a.LinearX {
		x = linear(xlo, xhi, panelLeft, right)
	} else {
		x = logarithmic(xlo, xhi, panelLeft, right)
	}
	return x, logarithmic(ylo, yhi, panelHeight-panelBottom, panelTop)
}

// band fills what lies between the extremes.
func (d *drawing) band(l Line, x, y scale) {
	var xs, ys, backX, backY []float64
	for _, p := range l.Points {
		if !x.holds(p.X) || !y.holds(p.Min) || !y.holds(p.Max) {
			continue
		}
		xs, ys = append(xs, x.at(p.X)), append(ys, y.at(p.Max))
		backX, backY = append(backX, x.at(p.X)), append(backY, y.at(p.Min))
	}
	if len(xs) < 2 {
		if len(xs) == 1 {
			d.line(xs[0], ys[0], xs[0], backY[0], "whisker "+SideClass(l.Side))
		}
		return
	}
	slices.Reverse(backX)
	slices.Reverse(backY)
	d.tag("path", "d", poly(append(xs, backX...), append(ys, backY...))+"Z", "class", "band "+SideClass(l.Side))
}

// drawLine draws a line with its points and gives the height of its end.
func (d *drawing) drawLine(l Line, x, y scale) (end float64, ok bool) {
	class := SideClass(l.Side)
	var xs, ys []float64
	var shown []XY
	for _, p := range l.Points {
		if x.holds(p.X) && y.holds(p.Y) {
			xs, ys, shown = append(xs, x.at(p.X)), append(ys, y.at(p.Y)), append(shown, p)
		}
	}
	if len(xs) > 1 {
		d.tag("path", "d", poly(xs, ys), "class", "line "+class)
	}
	var bx, by []float64
	for _, p := range l.Beyond {
		if x.holds(p.X) && y.holds(p.Y) {
			bx, by = append(bx, x.at(p.X)), append(by, y.at(p.Y))
		}
	}
	if len(bx) > 0 && len(xs) > 0 {
		d.tag("path", "d", poly(append([]float64{xs[len(xs)-1]}, bx...), append([]float64{ys[len(ys)-1]}, by...)), "class", "beyond "+class)
	}
	for i, p := range shown {
		for _, v := range p.Samples {
			if y.holds(v) {
				d.tag("circle", "cx", xs[i], "cy", y.at(v), "r", 1.8, "class", "sample "+class)
			}
		}
		if p.Samples != nil || !math.IsNaN(p.Min) {
			d.open("g", "data-side", l.Name, "data-x", exact(p.X), "data-value", exact(p.Y))
			d.marker(xs[i], ys[i], 4, l.Side)
			d.close("g")
		}
	}
	switch {
	case len(by) > 0:
		return by[len(by)-1], true
	case len(ys) > 0:
		return ys[len(ys)-1], true
	}
	return 0, false
}
