package live

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
)

// vt is a terminal as far as the view needs one: it wraps long lines, scrolls,
// and knows the few sequences that are allowed. Anything else fails the test.
// A wide character takes two cells, the second of which is empty.
type vt struct {
	t             *testing.T
	columns, rows int
	lines         [][]string // cells; the last rows of them are the screen
	wrapped       []bool     // the line goes on in the next one
	row, column   int
	styled        bool
	pending       string // of an escape sequence
}

func newVT(t *testing.T, columns, rows int) *vt {
	return &vt{t: t, columns: columns, rows: rows, lines: [][]string{nil}, wrapped: []bool{false}}
}

func (v *vt) Size() (columns, rows int) { return v.columns, v.rows }

func (v *vt) Write(b []byte) (int, error) {
	for _, r := range string(b) {
		switch {
		case v.pending != "":
			v.pending += string(r)
			if r >= '@' && r != '[' {
				v.escape(v.pending)
				v.pending = ""
			}
		case r == '\x1b':
			v.pending = "\x1b"
		case r == '\r':
			v.column = 0
		case r == '\n':
			v.down(false)
		case r < ' ' || r == 0x7f:
			v.t.Errorf("control character %q", r)
		default:
			v.put(r)
		}
	}
	return len(b), nil
}

func (v *vt) escape(s string) {
	body, end := strings.TrimPrefix(s[:len(s)-1], "\x1b["), s[len(s)-1]
	n, err := strconv.Atoi(body)
	if err != nil {
		n = 1
	}
	switch {
	case end == 'A':
		v.row = max(v.row-n, len(v.lines)-v.rows, 0)
	case end == 'K' && body == "":
		v.lines[v.row] = v.lines[v.row][:min(v.column, len(v.lines[v.row]))]
		v.wrapped[v.row] = false
	case end == 'J' && body == "":
		v.lines[v.row] = v.lines[v.row][:min(v.column, len(v.lines[v.row]))]
		v.lines, v.wrapped = v.lines[:v.row+1], v.wrapped[:v.row+1]
		v.wrapped[v.row] = false
	case end == 'm':
		v.styled = body != "0" && body != ""
	default:
		v.t.Errorf("escape sequence %q is not one that every terminal has", s)
	}
}

func (v *vt) down(wrap bool) {
	v.wrapped[v.row] = wrap
	v.row++
	if v.row == len(v.lines) {
		v.lines, v.wrapped = append(v.lines, nil), append(v.wrapped, false)
	}
}

func (v *vt) put(r rune) {
	w := text.RuneWidth(r)
	if w == 0 {
		return
	}
	if v.column+w > v.columns {
		v.down(true)
		v.column = 0
	}
	line := v.lines[v.row]
	for len(line) < v.column+w {
		line = append(line, " ")
	}
	line[v.column] = string(r)
	if w == 2 {
		line[v.column+1] = ""
	}
	v.lines[v.row] = line
	v.column += w
}

// resize changes the size and wraps lines anew, as terminals do. The cursor,
// which is at the begin of a line, stays there.
func (v *vt) resize(columns, rows int) {
	lines, wrapped, cursor := v.lines, v.wrapped, v.row
	v.lines, v.wrapped, v.row, v.column, v.columns, v.rows = [][]string{nil}, []bool{false}, 0, 0, columns, rows
	at := 0
	for i := range lines {
		if i == cursor {
			at = v.row
		}
		for _, cell := range lines[i] {
			if cell != "" {
				v.put([]rune(cell)[0])
			}
		}
		if i < len(lines)-1 && !wrapped[i] {
			v.down(false)
			v.column = 0
		}
	}
	v.row, v.column = at, 0
}

// screen gives what can be seen.
func (v *vt) screen() string {
	var b strings.Builder
	for _, line := range v.lines[max(len(v.lines)-v.rows, 0):] {
		fmt.Fprintf(&b, "|%s\n", strings.TrimRight(strings.Join(line, ""), " "))
	}
	return b.String()
}

// all gives the scrolled lines too.
func (v *vt) all() string {
	var b strings.Builder
	for _, line := range v.lines {
		b.WriteString(strings.TrimRight(strings.Join(line, ""), " ") + "\n")
	}
	return b.String()
}

// sane judges what is left to the shell.
func (v *vt) sane() {
	v.t.Helper()
	if v.pending != "" || v.styled || v.column != 0 || v.row != len(v.lines)-1 {
		v.t.Errorf("the terminal is left with sequence %q, colour %v, cursor at row %d of %d, column %d",
			v.pending, v.styled, v.row, len(v.lines), v.column)
	}
}
