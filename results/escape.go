package results

import "strings"

// OneLine keeps foreign text from moving a cursor, breaking a line or turning
// what follows around: control characters, line separators and the marks that
// override the direction of writing become spaces.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return ' '
		}
		return r
	}, s)
}

// MarkdownText keeps foreign text from being markup, in a table too.
func MarkdownText(s string) string { return markdownEscapes.Replace(OneLine(s)) }

var markdownEscapes = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "~", "\\~",
)

// GuardFormula keeps a spreadsheet from running a cell of CSV; unguard undoes
// it.
func GuardFormula(s string) string {
	if startsFormula(strings.TrimLeft(s, "'")) {
		return "'" + s
	}
	return s
}

func unguard(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && startsFormula(strings.TrimLeft(rest, "'")) {
		return rest
	}
	return s
}

func startsFormula(s string) bool { return s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) }
