package chart

import (
	"html/template"
	"math"
	"strconv"
)

// Range is one row: a median within its extremes.
type Range struct {
	Side             int
	Name             string
	Min, Median, Max float64
	Lo, Hi           float64 // interval of the median, NaN where there is none
	Points           []float64
	Text             string // the median, written
}

// RangeGroup is the rows that stand together.
type RangeGroup struct {
	Name   string
	Ranges []Range
}

// exact writes a value so that it can be read back.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Ranges draws rows of medians, their intervals, extremes and single values,
// in groups. A logarithmic scale has no zero: values that are not positive are
// left out.
func Ranges(f Frame, groups []RangeGroup, axis Label, log bool) template.HTML {
	lo, hi, lines, valueRoom := math.Inf(1), math.Inf(-1), 0, 0.0
	var names, groupNames []string
	for _, g := range groups {
		groupNames = append(groupNames, g.Name)
		for _, row := range g.Ranges {
			names, lines = append(names, row.Name), lines+1
			valueRoom = max(valueRoom, textWidth(row.Text, fontSize)+14)
			for _, v := range append([]float64{row.Min, row.Median, row.Max}, row.Points...) {
				if (v > 0 || !log) && !math.IsInf(v, 0) && !math.IsNaN(v) {
					lo, hi = min(lo, v), max(hi, v)
				}
			}
		}
	}
	r := startRows(f, groupNames, names, lines, valueRoom, 0, func(from, to float64) scale {
		if log {
			return logarithmic(lo, hi, from, to)
		}
		return linear(0, max(hi, 0), from, to)
	}, axis)
	for _, g := range groups {
		r.group(g.Name)
		for _, row := range g.Ranges {
			r.rangeRow(row, f.Width-valueRoom+12)
		}
		r.endGroup()
	}
	return r.done()
}

func (r *rows) rangeRow(row Range, valueLeft float64) {
	class := SideClass(row.Side)
	r.name("name "+class, row.Name)
	mid := r.y + barHeight/2
	if r.x.holds(row.Min) && r.x.holds(row.Max) {
		r.line(r.x.at(row.Min), mid, r.x.at(row.Max), mid, "whisker "+class)
	}
	if r.x.holds(row.Lo) && r.x.holds(row.Hi) {
		r.line(r.x.at(row.Lo), mid, r.x.at(row.Hi), mid, "interval "+class)
	}
	for _, v := range row.Points {
		if r.x.holds(v) {
			r.line(r.x.at(v), mid-5, r.x.at(v), mid+5, "sample "+class)
		}
	}
	if r.x.holds(row.Median) {
		r.open("g", "data-side", row.Name, "data-value", exact(row.Median))
		r.marker(r.x.at(row.Median), mid, 4.5, row.Side)
		r.close("g")
	}
	r.label(valueLeft, mid+4, "start", "value", row.Text)
	r.y += rowHeight
}

// Ratio is one row of a forest plot: how a side compares with the first.
type Ratio struct {
	Side   int
	Name   string
	Ratio  float64
	Lo, Hi float64 // NaN where n bounds no interval
	Shown  bool    // a difference is shown: drawn filled
	Text   string
	Detail string // beside the ratio where there is room: the values
}

// RatioGroup is the ratios that stand together.
type RatioGroup struct {
	Name   string
	Ratios []Ratio
}

// Forest draws ratios around the line of no difference, on a logarithmic scale
// that is symmetric about it.
func Forest(f Frame, groups []RatioGroup, below, above string) template.HTML {
	far, lines, valueRoom, detailRoom := 1.25, 0, 0.0, 0.0
	var names, groupNames []string
	for _, g := range groups {
		groupNames = append(groupNames, g.Name)
		for _, row := range g.Ratios {
			names, lines = append(names, row.Name), lines+1
			valueRoom, detailRoom = max(valueRoom, textWidth(row.Text, fontSize)+14), max(detailRoom, textWidth(row.Detail, fontSize)+12)
			for _, v := range []float64{row.Ratio, row.Lo, row.Hi} {
				if v > 0 && !math.IsInf(v, 0) {
					far = max(far, v, 1/v)
				}
			}
		}
	}
	if f.Width < 600 {
		detailRoom = 0
	}
	r := startRows(f, groupNames, names, lines, valueRoom+detailRoom, 16, func(from, to float64) scale { return logarithmic(1/far, far, from, to) }, times)
	r.line(r.x.at(1), axisRoom+10, r.x.at(1), r.bottom, "unity")
	r.label(r.x.at(1)-8, 9, "end", "hint", "← "+below)
	r.label(r.x.at(1)+8, 9, "start", "hint", above+" →")
	for _, g := range groups {
		r.group(g.Name)
		for _, row := range g.Ratios {
			r.ratio(row, f.Width-valueRoom+12, detailRoom)
		}
		r.endGroup()
	}
	return r.done()
}

func times(v float64) string { return short(v) + "×" }

func (r *rows) ratio(row Ratio, valueLeft, detailRoom float64) {
	class := SideClass(row.Side)
	r.name("row", row.Name)
	mid := r.y + barHeight/2
	value := "value"
	if !row.Shown {
		class += " faint"
		value += " plain"
	}
	if r.x.holds(row.Lo) && r.x.holds(row.Hi) {
		lo, hi := r.x.at(row.Lo), r.x.at(row.Hi)
		r.line(lo, mid, hi, mid, "interval "+class)
		r.line(lo, mid-4, lo, mid+4, "whisker "+class)
		r.line(hi, mid-4, hi, mid+4, "whisker "+class)
	}
	if r.x.holds(row.Ratio) {
		r.open("g", "class", map[bool]string{true: "shown", false: "faint"}[row.Shown], "data-side", row.Name, "data-value", exact(row.Ratio))
		r.marker(r.x.at(row.Ratio), mid, 4.5, row.Side)
		r.close("g")
	}
	if detailRoom > 0 {
		r.label(valueLeft-detailRoom, mid+4, "start", "detail", row.Detail)
	}
	r.label(valueLeft, mid+4, "start", value, row.Text)
	r.y += rowHeight
}
