package chart

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Frame is what every chart has.
type Frame struct {
	ID    string // unique in the page; letters, digits and dashes
	Title string // read to who cannot see the chart
	Desc  string // what the chart shows, in a sentence
	Width float64
}

// Sides and Phases are how many of each have an appearance of their own; more
// of them begin anew.
const (
	Sides  = 6
	Phases = 4
)

// SideClass and PhaseClass name the class of a side's or a phase's marks.
func SideClass(side int) string { return "s" + strconv.Itoa(side%Sides) }

// PhaseClass names the class of a phase's bars.
func PhaseClass(phase int) string { return "p" + strconv.Itoa(phase%Phases) }

// drawing collects markup.
type drawing struct{ b strings.Builder }

// start opens the svg element with its title and description.
func start(f Frame, height float64) *drawing {
	d := &drawing{}
	d.open("svg", "class", "chart", "role", "img", "aria-labelledby", f.ID+"-t "+f.ID+"-d",
		"viewBox", fmt.Sprintf("0 0 %s %s", number(f.Width), number(height)), "width", f.Width, "height", height)
	d.text("title", f.Title, "id", f.ID+"-t")
	d.text("desc", f.Desc, "id", f.ID+"-d")
	return d
}

// done closes the svg element.
func (d *drawing) done() template.HTML {
	d.close("svg")
	return template.HTML(d.b.String()) //nolint:gosec // every name and value is escaped by attr and text
}

func (d *drawing) open(name string, attrs ...any) {
	d.b.WriteString("<" + name)
	d.attrs(attrs)
	d.b.WriteString(">")
}

func (d *drawing) close(name string) { d.b.WriteString("</" + name + ">") }

// tag writes an element without content.
func (d *drawing) tag(name string, attrs ...any) {
	d.b.WriteString("<" + name)
	d.attrs(attrs)
	d.b.WriteString("/>")
}

// text writes an element that holds text.
func (d *drawing) text(name, text string, attrs ...any) {
	d.open(name, attrs...)
	d.b.WriteString(template.HTMLEscapeString(text))
	d.close(name)
}

// label writes text at a place; anchor is start, middle or end.
func (d *drawing) label(x, y float64, anchor, class, text string) {
	d.text("text", text, "x", x, "y", y, "text-anchor", anchor, "class", class)
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	d.tag("line", "x1", x1, "y1", y1, "x2", x2, "y2", y2, "class", class)
}

// attrs writes names and values in turn.
func (d *drawing) attrs(attrs []any) {
	for i := 0; i+1 < len(attrs); i += 2 {
		value := ""
		switch v := attrs[i+1].(type) {
		case float64:
			value = number(v)
		default:
			value = template.HTMLEscapeString(fmt.Sprint(v))
		}
		fmt.Fprintf(&d.b, ` %s="%s"`, attrs[i], value)
	}
}

// number writes a coordinate with two digits at most.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// marker draws a side's own shape, so that sides are told apart without
// colours.
func (d *drawing) marker(x, y, r float64, side int) {
	class := "dot " + SideClass(side)
	switch side % Sides {
	case 0:
		d.tag("circle", "cx", x, "cy", y, "r", r, "class", class)
	case 1:
		d.tag("rect", "x", x-r*0.9, "y", y-r*0.9, "width", 1.8*r, "height", 1.8*r, "class", class)
	case 2:
		d.path(class, "M%s,%sL%s,%sL%s,%sZ", x, y-1.2*r, x+1.1*r, y+0.9*r, x-1.1*r, y+0.9*r)
	case 3:
		d.diamond(x, y, 1.25*r, class)
	case 4:
		d.path(class, "M%s,%sL%s,%sL%s,%sZ", x, y+1.2*r, x+1.1*r, y-0.9*r, x-1.1*r, y-0.9*r)
	default:
		d.path(class+" open", "M%s,%sL%s,%sM%s,%sL%s,%s", x-r, y-r, x+r, y+r, x-r, y+r, x+r, y-r)
	}
}

func (d *drawing) diamond(x, y, r float64, class string) {
	d.path(class, "M%s,%sL%s,%sL%s,%sL%s,%sZ", x, y-r, x+r, y, x, y+r, x-r, y)
}

func (d *drawing) path(class, format string, at ...float64) {
	args := make([]any, len(at))
	for i, v := range at {
		args[i] = number(v)
	}
	d.tag("path", "d", fmt.Sprintf(format, args...), "class", class)
}

// poly writes the points of a line or an area as a path.
func poly(x, y []float64) string {
	var b strings.Builder
	for i := range x {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(number(x[i]) + "," + number(y[i]))
	}
	return b.String()
}

// textWidth guesses how wide a text is at a size; a page's fonts differ, so
// that it guesses rather too much.
func textWidth(text string, size float64) float64 {
	return 0.62 * size * float64(len([]rune(text)))
}
