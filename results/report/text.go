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
	lead, note := rep.lead()
	b.WriteString(rep.headline() + "\n" + results.OneLine(strings.TrimSpace(lead+" "+note)) + "\n\n")
	for _, bl := range rep.blocks() {
		fmt.Fprintf(&b, "%s (%s)\n", rep.title(bl), bl.metric.Doc)
		b.WriteString(rep.blockTable(bl, textStyle()).Render())
		b.WriteString("\n\n")
	}
	b.WriteString(rep.outagesText())
	b.WriteString(rep.operationsText())
	if len(rep.Sides) > 1 {
		b.WriteString("what differs between the sides\n")
		b.WriteString(rep.contrastTable(textStyle()).Render())
		b.WriteString("\n")
	}
	for _, r := range rep.remarks() {
		b.WriteString("\n" + results.OneLine(r))
	}
	if len(rep.remarks()) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// headline is one line: what, where, when, and whether it counts.
func (rep *Report) headline() string {
	m := rep.Run
	e := m.Environment
	return results.OneLine(fmt.Sprintf("%s: %s. Run %s on %s, %d cores, %d MB, %s, %s, kbench %s. Figures: n valid trials (values/repeats where a trial gives many), their minimum, median and maximum.",
		m.Name, strings.ToUpper(string(m.Verdict)), m.Started.UTC().Format(time.DateOnly), e.CPU, e.Cores, e.MemoryMB, e.FileSystem, rep.provider(), rep.tool()))
}

// provider says where the nodes of the run were.
func (rep *Report) provider() string {
	if rep.Run.Provider == results.NoProvider {
		return "no provider"
	}
	return rep.Run.Provider + " provider"
}

// tableStyle is what differs between text and Markdown.
type tableStyle struct {
	bold  func(string) string
	text  func(string) string
	merge bool
}

func textStyle() tableStyle {
	return tableStyle{bold: func(s string) string { return s + " *" }, text: results.OneLine, merge: true}
}

func markdownStyle() tableStyle {
	return tableStyle{bold: func(s string) string { return "**" + s + "**" }, text: results.MarkdownText}
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
	withCI, n := bl.hasCI(), bl.numberHeader()
	head := table.Row{"phase", rep.pointHeader()}
	for _, s := range rep.Sides {
		s = st.text(s)
		head = append(head, s+" "+n, "min", "median", "max")
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
			for _, text := range figureText(f, withCI) {
				row = append(row, text)
			}
		}
		t.AppendRow(row)
	}
	return t
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

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
