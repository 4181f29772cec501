package live

import (
	"fmt"
	"io"
	"strings"
)

// screen draws blocks of lines on a terminal, each in place of the one before.
// Between two calls the cursor is visible and at the begin of the line below
// the block, so that whatever ends the process leaves a terminal to go on
// with.
type screen struct {
	out    io.Writer
	widths []int // columns of each line that stands
}

// show prints lines for good, above the block, and the block anew. It is one
// write.
func (s *screen) show(columns int, above, block []string) {
	var b strings.Builder
	if up := s.rows(columns); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", up)
	}
	if len(above) > 0 {
		b.WriteString("\x1b[J")
	}
	for _, line := range above {
		b.WriteString(line + "\x1b[K\r\n")
	}
	s.widths = s.widths[:0]
	for _, line := range block {
		b.WriteString(line + "\x1b[K\r\n")
		s.widths = append(s.widths, columnsOf(line))
	}
	b.WriteString("\x1b[J")
	// What cannot be written, to a terminal that was closed, is not missed.
	_, _ = io.WriteString(s.out, b.String())
}

// rows is how many rows the block takes on a terminal that has this many
// columns now: one that became narrower has wrapped its lines.
func (s *screen) rows(columns int) int {
	n := 0
	for _, w := range s.widths {
		n += max(1, (w+columns-1)/max(columns, 1))
	}
	return n
}
