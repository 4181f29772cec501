package columns

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Least widths of a column whose cells are wrapped: before columns are left
// out or folded, and when nothing else is left.
const (
	easyWrap = 24
	hardWrap = 12
)

// Table is rows of cells under a head. Rows have as many cells as the head.
type Table struct {
	Head  []string
	Rows  [][]string
	Right []bool // columns of numbers, by place; nil for none
	Drop  []int  // columns that may be left out where there is no room, the least first
	Ruled bool   // columns are told apart by lines, else by blanks
}

// Text renders the table within a width, as far as its words allow.
func (t Table) Text(width int) string {
	if t.total(t.widths()) <= width {
		return t.render(t.widths())
	}
	if w, ok := t.shrunk(width, easyWrap); ok {
		return t.render(w)
	}
	less := t
	for _, column := range t.Drop {
		less = less.without(t.Head[column])
		if w, ok := less.shrunk(width, easyWrap); ok {
			return less.render(w)
		}
	}
	if w, ok := less.shrunk(width, hardWrap); ok {
		return less.render(w)
	}
	var parts []string
	for _, p := range less.folded(width) {
		w, _ := p.shrunk(width, hardWrap)
		parts = append(parts, p.render(w))
	}
	return strings.Join(parts, "\n")
}

func (t Table) right(column int) bool { return column < len(t.Right) && t.Right[column] }

// gap is the room between two columns, pad that before and after a row.
func (t Table) gap() int {
	if t.Ruled {
		return 3
	}
	return 2
}

func (t Table) pad() int {
	if t.Ruled {
		return 1
	}
	return 0
}

func (t Table) total(widths []int) int {
	sum := 2*t.pad() + t.gap()*(len(widths)-1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

func wide(s string) int { return text.StringWidthWithoutEscSequences(s) }

func (t Table) widths() []int {
	out := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, c := range row {
			out[i] = max(out[i], wide(c))
		}
	}
	return out
}

// shrunk narrows the columns whose cells can be wrapped, the widest first, to
// least at most; ok is false where that is not enough.
func (t Table) shrunk(width, least int) (widths []int, ok bool) {
	widths = t.widths()
	floor := make([]int, len(widths)) // of each column: its longest word
	for i := range floor {
		floor[i] = widths[i]
		if t.right(i) {
			continue
		}
		floor[i] = min(widths[i], least)
		for _, row := range append([][]string{t.Head}, t.Rows...) {
			for _, word := range strings.Fields(row[i]) {
				floor[i] = max(floor[i], wide(word))
			}
		}
	}
	for t.total(widths) > width {
		at := -1
		for i, w := range widths {
			if w > floor[i] && (at < 0 || w > widths[at]) {
				at = i
			}
		}
		if at < 0 {
			return widths, false
		}
		widths[at]--
	}
	return widths, true
}

// without leaves a column out.
func (t Table) without(head string) Table {
	var keep []int
	for i, h := range t.Head {
		if h != head {
			keep = append(keep, i)
		}
	}
	return t.only(keep)
}

// only keeps the columns at some places. Drop has no meaning in what is left.
func (t Table) only(places []int) Table {
	out := Table{Ruled: t.Ruled}
	for _, i := range places {
		out.Head, out.Right = append(out.Head, t.Head[i]), append(out.Right, t.right(i))
	}
	for _, row := range t.Rows {
		var cells []string
		for _, i := range places {
			cells = append(cells, row[i])
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// render draws the table with its columns as wide as told.
func (t Table) render(widths []int) string {
	var b strings.Builder
	t.row(&b, t.Head, widths)
	if t.Ruled {
		for i, w := range widths {
			b.WriteString(map[bool]string{true: "+"}[i > 0] + strings.Repeat("-", w+2))
		}
		b.WriteString("\n")
	}
	for _, row := range t.Rows {
		t.row(&b, row, widths)
	}
	return b.String()
}

// row draws one row, of several lines where cells are wrapped.
func (t Table) row(b *strings.Builder, cells []string, widths []int) {
	lines := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		lines[i] = wrap(c, widths[i], widths[i])
		height = max(height, len(lines[i]))
	}
	for k := range height {
		var line strings.Builder
		line.WriteString(strings.Repeat(" ", t.pad()))
		for i := range cells {
			if i > 0 {
				line.WriteString(map[bool]string{true: " | ", false: "  "}[t.Ruled])
			}
			cell := ""
			if k < len(lines[i]) {
				cell = lines[i][k]
			}
			blank := strings.Repeat(" ", max(widths[i]-wide(cell), 0))
			if t.right(i) {
				cell = blank + cell
			} else {
				cell += blank
			}
			line.WriteString(cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
