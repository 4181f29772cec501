package results

import "testing"

func TestEscapes(t *testing.T) {
	for in, want := range map[string][3]string{
		"plain":              {"plain", "plain", "plain"},
		"a\nb\x1b[2J\u2028c": {"a b [2J c", "a b \\[2J c", "a\nb\x1b[2J\u2028c"},
		"<b>|*x*_`&\\":       {"<b>|*x*_`&\\", "&lt;b&gt;\\|\\*x\\*\\_\\`&amp;\\\\", "<b>|*x*_`&\\"},
		"=1+1":               {"=1+1", "=1+1", "'=1+1"},
		"'=1+1":              {"'=1+1", "'=1+1", "''=1+1"},
		"-ö":                 {"-ö", "-ö", "'-ö"},
		"":                   {"", "", ""},
	} {
		if got := [3]string{OneLine(in), MarkdownText(in), GuardFormula(in)}; got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		if got := unguard(GuardFormula(in)); got != in {
			t.Errorf("%q comes back as %q", in, got)
		}
	}
}
