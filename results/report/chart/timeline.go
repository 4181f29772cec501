package chart

import (
	"html/template"
	"math"
)

// Span is a stretch of time, in seconds from the timeline's start.
type Span struct {
	From, To float64
	Text     string // written where there is room
	Title    string // all of it, shown by pointing
	// Until is where the worst of a fault is over: it is shaded darker up to
	// there. Zero for other spans.
	Until float64
}

// Lane is one quantity over time, a line for each node.
type Lane struct {
	Name  string
	Y     Label
	Lines []LaneLine
}

// LaneLine is one node's line as an envelope: each point stands for a stretch
// of time with the least and the greatest value in it.
type LaneLine struct {
	Name   string
	Dash   int // 0 solid, 1 dashed, 2 dotted
	At     []float64
	Lo, Hi []float64
}

// Timeline is what happened in one cluster.
type Timeline struct {
	Side       int
	Seconds    float64
	Workloads  []Span
	Faults     []Span
	Controller []Span // who was active, with which epoch
	Lanes      []Lane
}

// Sizes of a timeline.
const (
	laneHeight = 84.0
	laneGap    = 22.0
	stripRoom  = 20.0
	timeLeft   = 64.0
	timeRight  = 128.0

	narrowRight = 110.0 // at most, of a narrow chart
	nameGap     = 6.0   // before a line's name
	tickSize    = 11.0
)

// Draw draws the timeline: strips of workloads and controllers, lanes of
// lines, and the faults shaded behind all of them.
func (t Timeline) Draw(f Frame) template.HTML {
	left, room := timeLeft, timeRight
	if f.Width < 600 {
		room = max(min(t.widestName()+nameGap, narrowRight), 50)
	}
	right := f.Width - room
	height := 2*stripRoom + 16 + float64(len(t.Lanes))*(laneHeight+laneGap) + 34
	bottom := height - 34
	d := start(f, height)
	x := linear(0, t.Seconds, left, right)
	for _, s := range t.Faults {
		d.window(s, x, 0, bottom)
	}
	d.strip("load", t.Workloads, x, 0, left, "span "+SideClass(t.Side))
	d.strip("controller", t.Controller, x, stripRoom, left, "epoch "+SideClass(t.Side))
	d.seconds(x, bottom, f.Width)
	top := 2*stripRoom + 16
	for _, l := range t.Lanes {
		d.lane(l, x, top+laneGap-6, room-nameGap, SideClass(t.Side))
		top += laneHeight + laneGap
	}
	return d.done()
}

// widestName is the room of the longest name of a line.
func (t Timeline) widestName() (w float64) {
	for _, l := range t.Lanes {
		for _, line := range l.Lines {
			w = max(w, textWidth(line.Name, tickSize))
		}
	}
	return w
}

// strip draws spans side by side; a text that has no room is left to the
// title.
func (d *drawing) strip(name string, spans []Span, x scale, y, left float64, class string) {
	d.label(left-8, y+13, "end", "tick", name)
	for _, s := range spans {
		from, to := x.at(s.From), x.at(s.To)
		d.open("g")
		d.text("title", s.Title)
		d.tag("rect", "x", from, "y", y+2, "width", max(to-from-1, 1), "height", stripRoom-5, "class", class)
		if to-from > textWidth(s.Text, 11)+6 {
			d.label(from+4, y+13.5, "start", "on-span", s.Text)
		}
		d.close("g")
	}
}

// lane draws the lines of one quantity and names the highest of each kind.
func (d *drawing) lane(l Lane, x scale, top, nameRoom float64, class string) {
	hi := 0.0
	for _, line := range l.Lines {
		for _, v := range line.Hi {
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				hi = max(hi, v)
			}
		}
	}
	y := linear(0, hi*1.05, top+laneHeight, top)
	d.label(x.from, top-7, "start", "group", l.Name)
	for _, t := range y.ticks(3) {
		d.line(x.from, y.at(t), x.to, y.at(t), "grid")
		d.label(x.from-6, y.at(t)+4, "end", "tick", l.Y(t))
	}
	var names []endLabel
	named := map[int]int{}
	for _, line := range l.Lines {
		if len(line.At) == 0 {
			continue
		}
		d.envelope(line, x, y, class)
		end := endLabel{y.at(line.Hi[len(line.Hi)-1]), line.Dash, line.Name}
		if i, ok := named[line.Dash]; ok {
			if end.y < names[i].y {
				names[i] = end
			}
			continue
		}
		named[line.Dash] = len(names)
		names = append(names, end)
	}
	spread(names, top+6, top+laneHeight)
	for _, n := range names {
		d.label(x.to+nameGap, n.y+4, "start", "tick", cut(n.name, nameRoom, tickSize))
	}
}

// envelope draws the greatest values as a line and, where they differ, the
// stretch down to the least.
func (d *drawing) envelope(l LaneLine, x, y scale, class string) {
	var xs, hi, lo []float64
	spread := false
	for i, at := range l.At {
		if !y.holds(l.Hi[i]) || !y.holds(l.Lo[i]) {
			continue
		}
		xs, hi, lo = append(xs, x.at(at)), append(hi, y.at(l.Hi[i])), append(lo, y.at(l.Lo[i]))
		spread = spread || l.Hi[i] != l.Lo[i]
	}
	d.open("g")
	d.text("title", l.Name)
	if spread {
		backX, backY := make([]float64, len(xs)), make([]float64, len(xs))
		for i := range xs {
			backX[len(xs)-1-i], backY[len(xs)-1-i] = xs[i], lo[i]
		}
		d.tag("path", "d", poly(append(append([]float64{}, xs...), backX...), append(append([]float64{}, hi...), backY...))+"Z", "class", "band "+class)
	}
	d.tag("path", "d", poly(xs, hi), "class", "thin dash"+number(float64(l.Dash))+" "+class)
	d.close("g")
}
