package columns

import (
	"regexp"
	"strings"
)

// Width is how wide text may be, in columns of a terminal.
type Width struct{ Prose, Table int }

// Pipe is the width where nobody knows who reads: prose as in a mail, tables a
// little wider.
var Pipe = Width{Prose: 100, Table: 120}

// narrowest is the least width that text is laid out for.
const narrowest = 40

// Terminal is the width of a terminal. Long lines of prose are hard to read:
// they end at 100 columns in a wider one too.
func Terminal(columns int) Width {
	columns = max(columns, narrowest)
	return Width{Prose: min(columns, Pipe.Prose), Table: columns}
}

// ruleLine is the line below a ruled table's head.
var ruleLine = regexp.MustCompile(`^-+(\+-+)+$`)

// Fit lays lines of prose and ruled tables out within a width. A command of
// kbench after a colon or in backquotes stays whole, to be copied, and so do
// words that are wider.
func Fit(s string, w Width) string {
	lines := strings.Split(s, "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		if i+1 < len(lines) && ruleLine.MatchString(lines[i+1]) {
			if t, n := parse(lines[i:]); n > 0 {
				if t.total(t.widths()) > w.Table {
					out = append(out, strings.Split(strings.TrimSuffix(t.Text(w.Table), "\n"), "\n")...)
				} else {
					out = append(out, lines[i:i+n]...)
				}
				i += n - 1
				continue
			}
		}
		out = append(out, prose(lines[i], w.Prose)...)
	}
	return strings.Join(out, "\n")
}

// prose wraps a line; what follows is indented below it.
func prose(line string, width int) []string {
	if wide(line) <= width {
		return []string{line}
	}
	trimmed := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(trimmed)]
	hang := indent + "  "
	said, command, found := strings.Cut(trimmed, ": kbench ")
	if found {
		trimmed = said + ":"
	}
	out := wrap(trimmed, width-len(indent), width-len(hang))
	for i := range out {
		if i == 0 {
			out[i] = indent + out[i]
		} else {
			out[i] = hang + out[i]
		}
	}
	if found {
		out = append(out, hang+"kbench "+command)
	}
	return out
}

// wrap breaks a text between words, so that its first line is no wider than
// first and the others than rest. Words that are wider stay whole.
func wrap(s string, first, rest int) []string {
	if wide(s) <= first {
		return []string{s}
	}
	var out []string
	line, room := "", first
	for _, word := range words(s) {
		switch {
		case line == "" && word == "" && len(out) > 0: // the blanks of a break
		case line == "":
			line = word
		case wide(line)+1+wide(word) <= room:
			line += " " + word
		default:
			out = append(out, strings.TrimRight(line, " "))
			line, room = word, rest
		}
	}
	return append(out, strings.TrimRight(line, " "))
}

// words splits a text at its blanks, but for those of a command in backquotes,
// which stays whole, to be copied.
func words(s string) []string {
	var out []string
	for i, part := range strings.Split(s, "`kbench ") {
		command := ""
		if i > 0 {
			last := len(out) - 1
			var found bool
			if command, part, found = strings.Cut(part, "`"); found {
				command += "`"
			}
			out[last] += "`kbench " + command
		}
		next := strings.Split(part, " ")
		if i > 0 {
			out[len(out)-1] += next[0]
			next = next[1:]
		}
		out = append(out, next...)
	}
	return out
}

// parse reads a ruled table from its head on; n is how many lines it has.
func parse(lines []string) (t Table, n int) {
	t.Ruled = true
	var edges []int // of columns: places of the lines between them
	for i, r := range lines[1] {
		if r == '+' {
			edges = append(edges, i)
		}
	}
	var padded [][]string
	for i, line := range lines {
		if i == 1 {
			continue
		}
		cells := split(line, edges)
		if cells == nil {
			break
		}
		padded = append(padded, cells)
		for k, c := range cells {
			cells[k] = strings.TrimPrefix(strings.TrimSuffix(c, " "), " ")
		}
		n = max(n, i+1)
	}
	if len(padded) < 2 {
		return t, 0
	}
	t.Right = make([]bool, len(edges)+1)
	for k := range t.Right {
		t.Right[k] = rightAligned(padded, k)
	}
	for i, row := range padded {
		trimmed := make([]string, len(row))
		for k, c := range row {
			trimmed[k] = strings.TrimSpace(c)
		}
		if i == 0 {
			t.Head = trimmed
		} else {
			t.Rows = append(t.Rows, trimmed)
		}
	}
	return t, n
}

// rightAligned reports whether cells of a column end at one place and begin at
// several.
func rightAligned(rows [][]string, column int) bool {
	indented := false
	for _, row := range rows {
		c := row[column]
		if strings.TrimSpace(c) == "" {
			continue
		}
		if strings.HasSuffix(c, " ") {
			return false
		}
		indented = indented || strings.HasPrefix(c, " ")
	}
	return indented
}

// split cuts a row at the edges of its columns, nil where it is no row.
func split(line string, edges []int) []string {
	var out []string
	at, from, edge := 0, 0, 0
	for i, r := range line {
		if edge < len(edges) && at == edges[edge] {
			if r != '|' {
				return nil
			}
			out = append(out, line[from:i])
			from, edge = i+1, edge+1
		}
		at += wide(string(r))
	}
	if edge < len(edges) {
		return nil
	}
	return append(out, line[from:])
}
