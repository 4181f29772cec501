// Package columns lays text out within a width: words of prose are wrapped,
// and a table that is too wide has its prose wrapped, then its least columns
// left out, and is folded at last: one group of columns after the other, each
// beside the columns that name the row.
//
// It knows no figures and no terminal: the caller says how wide text may be.
// Widths are columns of a terminal, in which some letters take two. Its
// functions are pure and may be called from any goroutine.
//
//	fmt.Print(columns.Fit(report.Text(), columns.Pipe))
package columns
