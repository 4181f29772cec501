package compare

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"kbench/results"
)

// form is what differs between text and Markdown.
type form struct {
	escape   func(string) string
	headline func(string) string
	merge    bool // a phase is named once
	sides    int  // columns of sides in one table
}

var (
	plain    = form{escape: results.OneLine, headline: func(s string) string { return s + " *" }, merge: true, sides: 4}
	markdown = form{escape: results.MarkdownText, headline: func(s string) string { return "**" + s + "**" }, sides: 16}
)

// Text is plain text without colours, at most 120 columns wide but for
// remarks.
func (c *Comparison) Text() string {
	var b strings.Builder
	for _, line := range c.legend() {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n" + c.summary() + "\n")
	for _, bl := range c.blocks() {
		b.WriteString("\n" + results.OneLine(bl.title) + "\n")
		for _, t := range c.tables(bl, plain) {
			b.WriteString(t.Render() + "\n")
		}
	}
	for _, group := range [][]string{c.method(), c.remarks()} {
		if len(group) > 0 {
			b.WriteString("\n")
		}
		for _, line := range group {
			b.WriteString(results.OneLine(line) + "\n")
		}
	}
	return b.String()
}

// Markdown is the form for pull requests.
func (c *Comparison) Markdown() string {
	var b strings.Builder
	b.WriteString("**" + results.MarkdownText(c.summary()) + "**\n\n")
	for _, line := range c.legend() {
		b.WriteString("- " + results.MarkdownText(line) + "\n")
	}
	for _, bl := range c.blocks() {
		b.WriteString("\n### " + results.MarkdownText(bl.title) + "\n\n" + results.MarkdownText(bl.docs) + "\n\n")
		for _, t := range c.tables(bl, markdown) {
			b.WriteString(t.RenderMarkdown() + "\n")
		}
	}
	for i, group := range [][]string{c.method(), c.remarks()} {
		if len(group) > 0 {
			b.WriteString("\n")
		}
		if i == 1 && len(group) > 0 {
			b.WriteString("### Remarks\n\n")
		}
		for _, line := range group {
			b.WriteString("- " + results.MarkdownText(line) + "\n")
		}
	}
	return b.String()
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

// tables gives one table of two sides, or as many as all sides need.
func (c *Comparison) tables(bl block, f form) []table.Writer {
	if len(c.Sides) == 2 {
		return []table.Writer{c.pairTable(bl, f)}
	}
	var out []table.Writer
	for from := 0; from < len(c.Sides); from += f.sides {
		out = append(out, c.matrix(bl, f, from, min(from+f.sides, len(c.Sides))))
	}
	return out
}

func (c *Comparison) pairTable(bl block, f form) table.Writer {
	t := newTable()
	heads := c.heads()
	t.AppendHeader(table.Row{"phase", c.pointHeader(), "n", f.escape(heads[0]), "", f.escape(heads[1]), "", "change", "95 %", "p"})
	align(t, 3, 4, 5, 6, 7, 9, 10)
	last := ""
	for _, r := range bl.rows {
		row := table.Row{f.phase(r, &last), f.escape(r.Point), r.counts()}
		for _, v := range r.Values {
			row = append(row, results.FormatValue(v.Center, r.Unit), v.spread())
		}
		ch := r.Changes[0]
		t.AppendRow(append(row, ch.change(), ch.interval(), ch.shownP()))
	}
	return t
}

// matrix shows sides from and up to, each with its change against the first
// of all.
func (c *Comparison) matrix(bl block, f form, from, to int) table.Writer {
	t := newTable()
	head := table.Row{"phase", c.pointHeader(), "n"}
	columns := []int{3}
	for i, name := range c.heads()[from:to] {
		head = append(head, f.escape(name), "")
		columns = append(columns, 4+2*i)
	}
	t.AppendHeader(head)
	align(t, columns...)
	last := ""
	for _, r := range bl.rows {
		row := table.Row{f.phase(r, &last), f.escape(r.Point), r.counts()}
		for side := from; side < to; side++ {
			value, note := r.matrixCell(side)
			row = append(row, value, note)
		}
		t.AppendRow(row)
	}
	return t
}

// matrixCell is a side's median and, beside it, its spread for the base and
// its change for others.
func (r *Row) matrixCell(side int) (value, note string) {
	v := r.Values[side]
	if v == nil {
		return "-", ""
	}
	note = v.spread()
	for _, ch := range r.Changes {
		if ch.Side == side {
			note, _, _ = strings.Cut(ch.change(), " "+string(ch.Verdict))
		}
	}
	if r.Best != nil && *r.Best == side {
		note += " best"
	}
	return results.FormatValue(v.Center, r.Unit), note
}

// phase writes a row's phase, once for rows that share it.
func (f form) phase(r *Row, last *string) string {
	name := r.label()
	if f.merge && name == *last {
		return ""
	}
	*last = name
	if r.Headline {
		return f.headline(f.escape(name))
	}
	return f.escape(name)
}

func align(t table.Writer, columns ...int) {
	configs := make([]table.ColumnConfig, len(columns))
	for i, n := range columns {
		configs[i] = table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	t.SetColumnConfigs(configs)
}
