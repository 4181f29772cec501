package chart

import "html/template"

// Stack is one bar of segments that follow each other.
type Stack struct {
	Side     int
	Name     string // of the side
	Segments []Segment
	Mark     *Mark // a value of its own beside the sum of the segments
}

// Segment is one part of a Stack.
type Segment struct {
	Phase int
	Name  string
	Value float64 // nothing is drawn of a negative one
	Text  string  // the value, written
}

// Mark is one marked value.
type Mark struct {
	Value float64
	Text  string
}

// StackGroup is the bars that stand together.
type StackGroup struct {
	Name   string
	Stacks []Stack
}

// Sizes of rows of bars and ranges.
const (
	barHeight = 16.0
	rowHeight = 22.0
	groupGap  = 12.0
	axisRoom  = 26.0
	fontSize  = 12.0
)

// rows is the frame of a chart whose rows have names at their left and values
// at their right.
type rows struct {
	*drawing
	x         scale
	nameRoom  float64
	nameRight float64
	narrow    bool
	above     bool // names stand over their rows: they are too long for a narrow chart
	y, bottom float64
}

// Widest names beside their rows, for narrow and for wide charts.
const (
	narrowNames = 110.0
	wideNames   = 300.0
	nameLine    = 15.0
)

func widest(names []string) (w float64) {
	for _, n := range names {
		w = max(w, textWidth(n, fontSize))
	}
	return w
}

// startRows lays the frame out; narrow charts have the group's name above its
// rows, wide ones beside them. above is the room that is left over the axis.
func startRows(f Frame, groups, names []string, lines int, valueRoom, above float64, x func(from, to float64) scale, axis Label) *rows {
	r := &rows{narrow: f.Width < 600, nameRoom: min(widest(names), wideNames)}
	perRow, perGroup, top := rowHeight, groupGap, axisRoom+above
	switch {
	case !r.narrow:
		r.nameRight = min(widest(groups), wideNames/2) + 14 + r.nameRoom
	case r.nameRoom > narrowNames:
		r.above, r.nameRoom = true, f.Width
		perRow += nameLine
		perGroup += 18
	default:
		r.nameRight = r.nameRoom
		perGroup += 18
	}
	height := top + float64(lines)*perRow + float64(len(groups))*perGroup
	r.drawing, r.y, r.bottom = start(f, height), top, height
	left := r.nameRight + 10
	if r.above {
		left = 14
	}
	r.x = x(left, f.Width-valueRoom)
	n := 6
	if r.narrow {
		n = 3
	}
	for _, t := range r.x.ticks(n) {
		at := r.x.at(t)
		r.line(at, top-6, at, height, "grid")
		r.label(at, top-12, "middle", "tick", axis(t))
	}
	return r
}

// name writes the name of the next row, cut where there is no room for all of
// it; data tables have it whole.
func (r *rows) name(class, text string) {
	text = cut(text, r.nameRoom, fontSize)
	if r.above {
		r.tag("rect", "x", 0.0, "y", r.y-1, "width", textWidth(text, fontSize)+3, "height", nameLine, "class", "paper")
		r.label(0, r.y+11, "start", class, text)
		r.y += nameLine
		return
	}
	r.label(r.nameRight, r.y+barHeight-4, "end", class, text)
}

// cut shortens a text to a width.
func cut(text string, room, size float64) string {
	runes := []rune(text)
	for len(runes) > 1 && textWidth(string(runes), size) > room+1 {
		runes = runes[:len(runes)-1]
	}
	if len(runes) < len([]rune(text)) {
		return string(runes[:len(runes)-1]) + "…"
	}
	return text
}

// group begins a group of rows.
func (r *rows) group(name string) {
	r.y += groupGap / 2
	if r.narrow {
		r.tag("rect", "x", 0.0, "y", r.y, "width", textWidth(name, fontSize)+3, "height", 17.0, "class", "paper")
		r.label(0, r.y+12, "start", "group", name)
		r.y += 18
	} else {
		r.label(0, r.y+barHeight-4, "start", "group", cut(name, wideNames/2, fontSize))
	}
}

func (r *rows) endGroup() { r.y += groupGap / 2 }

// Stacks draws bars of segments, in groups, on one scale from zero. The
// width of each segment is in proportion to its value.
func Stacks(f Frame, groups []StackGroup, axis Label) template.HTML {
	hi, lines, valueRoom := 0.0, 0, 0.0
	var names, groupNames []string
	for _, g := range groups {
		groupNames = append(groupNames, g.Name)
		for _, s := range g.Stacks {
			names, lines = append(names, s.Name), lines+1
			sum := 0.0
			for _, seg := range s.Segments {
				sum += max(seg.Value, 0)
			}
			hi = max(hi, sum)
			if s.Mark != nil {
				hi = max(hi, s.Mark.Value)
				valueRoom = max(valueRoom, textWidth(s.Mark.Text, fontSize)+14)
			}
		}
	}
	r := startRows(f, groupNames, names, lines, valueRoom, 0, func(from, to float64) scale { return linear(0, hi, from, to) }, axis)
	for _, g := range groups {
		r.group(g.Name)
		for _, s := range g.Stacks {
			r.stack(s)
		}
		r.endGroup()
	}
	return r.done()
}

func (r *rows) stack(s Stack) {
	class := SideClass(s.Side)
	r.name("name "+class, s.Name)
	sum := 0.0
	for _, seg := range s.Segments {
		if !(seg.Value > 0) || !r.x.holds(seg.Value) {
			continue
		}
		x, end := r.x.at(sum), r.x.at(sum+seg.Value)
		sum += seg.Value
		r.open("g", "class", "segment")
		r.text("title", s.Name+": "+seg.Name+" "+seg.Text)
		// Exact where it is read back: bars are in proportion to their values.
		r.tag("rect", "x", x, "y", r.y, "width", end-x, "height", barHeight, "class", "bar "+class+" "+PhaseClass(seg.Phase),
			"data-side", s.Name, "data-phase", seg.Name, "data-value", exact(seg.Value))
		if text := seg.Name + " " + seg.Text; (seg.Phase == 0 || seg.Phase == 2) && end-x > textWidth(text, 11)+8 {
			r.label(x+5, r.y+barHeight-4.5, "start", "on "+PhaseClass(seg.Phase), text)
		}
		r.close("g")
	}
	if s.Mark != nil && r.x.holds(s.Mark.Value) {
		x := r.x.at(s.Mark.Value)
		r.diamond(x, r.y+barHeight/2, 5, "mark "+class)
		r.label(max(x, r.x.at(sum))+10, r.y+barHeight-4, "start", "value", s.Mark.Text)
	}
	r.y += rowHeight
}
