package chart

import (
	"html/template"
	"strconv"
)

// Patterns are the fills of phases 1 and 3 in each side's colour, to be put
// into a page once; bars refer to them by class. Phases 0 and 2 are plain.
func Patterns() template.HTML {
	d := &drawing{}
	d.open("svg", "class", "patterns", "aria-hidden", "true", "width", 0.0, "height", 0.0)
	d.open("defs")
	for side := range Sides {
		class := SideClass(side)
		d.open("pattern", "id", "hatch-"+strconv.Itoa(side), "width", 5.0, "height", 5.0, "patternUnits", "userSpaceOnUse", "patternTransform", "rotate(45)")
		d.tag("rect", "width", 5.0, "height", 5.0, "class", "paper")
		d.tag("rect", "width", 2.5, "height", 5.0, "class", "ink "+class)
		d.close("pattern")
		d.open("pattern", "id", "dots-"+strconv.Itoa(side), "width", 5.0, "height", 5.0, "patternUnits", "userSpaceOnUse")
		d.tag("rect", "width", 5.0, "height", 5.0, "class", "paper")
		d.tag("circle", "cx", 2.5, "cy", 2.5, "r", 1.4, "class", "ink "+class)
		d.close("pattern")
	}
	d.close("defs")
	d.close("svg")
	return template.HTML(d.b.String()) //nolint:gosec // no foreign text
}
