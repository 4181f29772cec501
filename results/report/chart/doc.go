// Package chart draws the static charts of a report: numbers and names in, SVG
// out. It owns scales, ticks, patterns and the placing of labels; it knows no
// runs, cells or metrics, reads no files and asks for no colours, which the
// page gives by class: .s0 to .s5 for the sides, .p0 to .p3 for the phases.
//
// A chart has a title and a description for who cannot see it, no style
// attribute (a page's policy may forbid them) and no script. Every name is
// escaped. Values that no scale can hold (NaN, infinite, not positive on a
// logarithmic scale) are left out. Its functions are pure and may be called
// from any goroutine.
//
//	svg := chart.Panel(chart.Frame{ID: "moved", Title: "moved", Width: 320}, axes, lines)
package chart
