package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"kbench/results"
)

// Text is the result table of `kbench run`: plain text without colours.
func (rep *Report) Text() string {
	var b strings.Builder
	b.WriteString(rep.headline() + "\n\n")
	for _, bl := range rep.blocks() {
		fmt.Fprintf(&b, "%s (%s)\n", bl.title(), bl.metric.Doc)
		b.WriteString(rep.blockTable(bl, textStyle()).Render())
		b.WriteString("\n\n")
	}
	b.WriteString("what differs between the sides\n")
	b.WriteString(rep.contrastTable(textStyle()).Render())
	b.WriteString("\n")
	for _, r := range rep.remarks() {
		b.WriteString("\n" + oneLine(r))
	}
	if len(rep.remarks()) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// Markdown is the same for pull requests and READMEs.
func (rep *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n", markdownText(rep.Run.Name), markdownText(rep.headline()))
	for _, bl := range rep.blocks() {
		fmt.Fprintf(&b, "\n### %s\n\n%s. Phase in bold: the headline.\n\n", bl.title(), upper(bl.metric.Doc))
		for _, ph := range bl.metric.Phases {
			fmt.Fprintf(&b, "- `%s`: %s\n", ph.Name, ph.Doc)
		}
		b.WriteString("\n" + rep.blockTable(bl, markdownStyle()).RenderMarkdown() + "\n")
	}
	b.WriteString("\n### What differs between the sides\n\n")
	b.WriteString(rep.contrastTable(markdownStyle()).RenderMarkdown() + "\n")
	if rs := rep.remarks(); len(rs) > 0 {
		b.WriteString("\n### Remarks\n\n")
		for _, r := range rs {
			b.WriteString("- " + markdownText(oneLine(r)) + "\n")
		}
	}
	return b.String()
}

// headline is one line: what, where, when, and whether it counts.
func (rep *Report) headline() string {
	m := rep.Run
	e := m.Environment
	commit := m.Tool.Version
	if m.Tool.Commit != "" {
		commit += " " + m.Tool.Commit[:min(len(m.Tool.Commit), 12)]
	}
	return oneLine(fmt.Sprintf("%s: %s. Run %s on %s, %d cores, %d MB, %s, %s provider, kbench %s. Figures: n valid trials, their minimum, median and maximum.",
		m.Name, strings.ToUpper(string(m.Verdict)), m.Started.UTC().Format(time.DateOnly), e.CPU, e.Cores, e.MemoryMB, e.FileSystem, m.Provider, commit))
}

// tableStyle is what differs between text and Markdown.
type tableStyle struct {
	bold  func(string) string
	text  func(string) string
	merge bool
}

func textStyle() tableStyle {
	return tableStyle{bold: func(s string) string { return s + " *" }, text: oneLine, merge: true}
}

func markdownStyle() tableStyle {
	return tableStyle{bold: func(s string) string { return "**" + s + "**" }, text: markdownText}
}

func newTable() table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.Options{SeparateColumns: true, SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	style.Format.HeaderAlign = text.AlignLeft
	t.SetStyle(style)
	return t
}

// blockTable is one metric. A side that measured nothing at a point shows
// dashes; invalid trials stand behind n.
func (rep *Report) blockTable(bl block, st tableStyle) table.Writer {
	t := newTable()
	withCI := bl.hasCI()
	head := table.Row{"phase", rep.pointHeader()}
	for _, s := range rep.Sides {
		s = st.text(s)
		head = append(head, s+" n", "min", "median", "max")
		if withCI {
			head = append(head, "95% of median")
		}
	}
	t.AppendHeader(head)
	configs := make([]table.ColumnConfig, 0, len(head))
	for i := range head {
		if i > 1 {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.SetColumnConfigs(configs)
	last := ""
	for _, r := range bl.rows {
		name := r.phase.Name
		if r.headline {
			name = st.bold(name)
		}
		if st.merge && name == last {
			name = ""
		} else {
			last = name
		}
		row := table.Row{name, st.text(r.point)}
		for _, f := range r.cells {
			row = append(row, figureCells(f, withCI)...)
		}
		t.AppendRow(row)
	}
	return t
}

func (bl block) hasCI() bool {
	for _, r := range bl.rows {
		for _, f := range r.cells {
			if f != nil && f.MedianLo != nil {
				return true
			}
		}
	}
	return false
}

func figureCells(f *results.Figure, withCI bool) []any {
	out := []any{"-", "-", "-", "-"}
	ci := any("-")
	switch {
	case f == nil:
	case f.N == 0:
		out[0] = fmt.Sprintf("0 (%d invalid)", f.Invalid)
	default:
		n := fmt.Sprint(f.N)
		if f.Invalid > 0 {
			n += fmt.Sprintf(" (%d invalid)", f.Invalid)
		}
		out = []any{n, results.FormatValue(f.Min, f.Unit), results.FormatValue(f.Median, f.Unit), results.FormatValue(f.Max, f.Unit)}
		if f.MedianLo != nil {
			ci = results.FormatValue(*f.MedianLo, f.Unit) + " to " + results.FormatValue(*f.MedianHi, f.Unit)
		}
	}
	if withCI {
		out = append(out, ci)
	}
	return out
}

func (rep *Report) contrastTable(st tableStyle) table.Writer {
	t := newTable()
	head := table.Row{""}
	for _, s := range rep.Sides {
		head = append(head, st.text(s))
	}
	t.AppendHeader(head)
	for _, c := range rep.contrasts() {
		row := table.Row{st.text(c.What)}
		for _, s := range rep.Sides {
			v := c.Values[s]
			if v == "" {
				v = "-"
			}
			row = append(row, st.text(v))
		}
		t.AppendRow(row)
	}
	return t
}

// oneLine keeps foreign text from moving the cursor or breaking a table.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}

// markdownText keeps foreign text from being markup.
func markdownText(s string) string {
	return strings.NewReplacer(
		"\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]",
	).Replace(oneLine(s))
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
