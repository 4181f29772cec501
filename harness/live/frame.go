package live

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
)

// The least size of a terminal for the block of lines; a smaller one gets one
// line.
const (
	blockColumns = 40
	blockRows    = 10
)

// style is a Select Graphic Rendition; there are few on purpose.
type style string

const (
	plain  style = ""
	strong style = "1"
	yellow style = "33"
	red    style = "31"
)

// span is a piece of a line in one style.
type span struct {
	text  string
	style style
}

// frame is what a terminal of this size shows: lines that are shorter than it
// is wide, with escape sequences for colours where they are wanted.
func frame(s Snapshot, columns, rows int, colour bool) []string {
	lines := block(s)
	if columns < blockColumns || rows < blockRows {
		lines = [][]span{oneLine(s)}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = render(l, columns-1, colour)
	}
	return out
}

func oneLine(s Snapshot) []span {
	p := s.Progress
	line := []span{{"[" + clock(s.Elapsed) + "] ", plain}}
	if !s.Started {
		return append(line, span{s.Name + ": starting", plain})
	}
	line = append(line, span{Describe(p), plain})
	if faults := faultsText(p.Faults); faults != "" {
		line = append(line, span{", " + faults, yellow})
	}
	if h := p.Headline; h.N > 0 {
		line = append(line, span{", " + headlineText(h), plain})
	}
	return append(line, span{leftText(s), plain})
}

func block(s Snapshot) [][]span {
	p := s.Progress
	elapsed := []span{{clock(s.Elapsed) + " elapsed" + leftText(s), plain}}
	if !s.Started {
		return [][]span{{{s.Name, strong}, {": starting", plain}}, elapsed}
	}
	metric, value := p.Headline.Metric, headlineText(p.Headline)
	if metric == "" {
		metric = "headline"
	}
	if value == "" {
		value = "no value yet"
	}
	faults := span{"none", plain}
	if f := faultsText(p.Faults); f != "" {
		faults = span{f, yellow}
	}
	invalid := span{fmt.Sprintf(", %d invalid", p.Invalid), plain}
	if p.Invalid > 0 {
		invalid.style = red
	}
	return [][]span{
		{{s.Name, strong}, {", " + place(p), plain}},
		{{doing(p), plain}},
		{{metric + ": ", plain}, {value, strong}},
		{{"controller " + controllerText(p.Controller) + "; faults: ", plain}, faults},
		append(elapsed, span{fmt.Sprintf("; trials: %d valid", p.Valid), plain}, invalid),
	}
}

// render cuts the line at a number of columns, wide characters counted as two.
func render(line []span, columns int, colour bool) string {
	var b strings.Builder
	for _, s := range line {
		whole := clean(s.text)
		cut := text.Trim(whole, columns)
		columns -= columnsOf(cut)
		if colour && s.style != plain && cut != "" {
			cut = "\x1b[" + string(s.style) + "m" + cut + "\x1b[0m"
		}
		b.WriteString(cut)
		if columnsOf(cut) < columnsOf(whole) {
			break // what follows must not close up to it
		}
	}
	return b.String()
}

// columnsOf is how many columns a terminal gives a line.
func columnsOf(s string) int { return text.StringWidthWithoutEscSequences(s) }

// clean takes out what would move the cursor, change the terminal or turn the
// direction of writing: names come from specs and messages from anywhere.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '?'
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, s)
}
