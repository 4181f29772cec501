package report

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"kbench/results"
)

// Markdown is the form for pull requests and READMEs: the verdict and the
// headlines at once, everything else to be unfolded.
func (rep *Report) Markdown() string {
	var b strings.Builder
	lead, note := rep.lead()
	fmt.Fprintf(&b, "## %s\n\n**%s** %s\n\n%s\n", results.MarkdownText(rep.Run.Name), results.MarkdownText(lead), results.MarkdownText(note), results.MarkdownText(rep.headline()))
	if t := rep.headlineTable(); t != nil {
		b.WriteString("\n" + t.RenderMarkdown() + "\n")
	}
	if rs := rep.remarks(); len(rs) > 0 {
		b.WriteString("\n### Remarks\n\n")
		for _, r := range rs {
			b.WriteString("- " + results.MarkdownText(r) + "\n")
		}
	}
	if bls := rep.blocks(); len(bls) > 0 {
		b.WriteString("\n### Figures\n")
		for _, bl := range bls {
			rep.foldBlock(&b, bl)
		}
	}
	if lines := rep.outageLines(); len(lines) > 0 {
		var body strings.Builder
		for _, l := range lines {
			body.WriteString("- " + results.MarkdownText(l) + "\n")
		}
		writeFold(&b, outagesTitle, body.String())
	}
	if len(rep.Operations) > 0 {
		writeFold(&b, "Operations", operationsDoc+"\n\n"+rep.operationsTable(rep.Operations, markdownStyle()).RenderMarkdown()+"\n")
	}
	if len(rep.Sides) > 1 {
		writeFold(&b, "What differs between the sides", rep.contrastTable(markdownStyle()).RenderMarkdown()+"\n")
	}
	writeFold(&b, "How to reproduce", "```sh\n"+fenced(commandLine(rep.Run.CommandLine))+"\n```\n\n```yaml\n"+fenced(strings.TrimRight(rep.Run.SpecYAML, "\n"))+"\n```\n")
	return b.String()
}

// writeFold writes a part that is closed at first. Its body is Markdown.
func writeFold(b *strings.Builder, summary, body string) {
	fmt.Fprintf(b, "\n<details>\n<summary>%s</summary>\n\n%s\n</details>\n", results.MarkdownText(summary), body)
}

// fenced keeps foreign text within its code block.
func fenced(s string) string { return strings.ReplaceAll(s, "```", "'''") }

func (rep *Report) foldBlock(b *strings.Builder, bl block) {
	var body strings.Builder
	fmt.Fprintf(&body, "%s. Phase in bold: the headline.\n\n", upper(bl.metric.Doc))
	for _, ph := range bl.metric.Phases {
		fmt.Fprintf(&body, "- `%s`: %s\n", ph.Name, ph.Doc)
	}
	body.WriteString("\n" + rep.blockTable(bl, markdownStyle()).RenderMarkdown() + "\n")
	writeFold(b, rep.title(bl), body.String())
}

// headlineTable is one row for each headline and point: the medians of all
// sides and how they compare with the first. It is nil where nothing was
// measured.
func (rep *Report) headlineTable() table.Writer {
	t := newTable()
	head := table.Row{"headline", rep.pointHeader()}
	for i, s := range rep.Sides {
		head = append(head, results.MarkdownText(s))
		if i > 0 {
			head = append(head, "ratio")
		}
	}
	t.AppendHeader(head)
	var configs []table.ColumnConfig
	for i := 3; i <= len(head); i++ {
		configs = append(configs, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	rows := 0
	for _, bl := range rep.blocks() {
		for _, r := range bl.rows {
			if !r.headline {
				continue
			}
			line := table.Row{results.MarkdownText(rep.title(bl)), results.MarkdownText(r.point)}
			for i, f := range r.cells {
				line = append(line, medianOf(f))
				if i > 0 {
					line = append(line, rep.ratioOf(bl, r.point, rep.Sides[i]))
				}
			}
			t.AppendRow(line)
			rows++
		}
	}
	if rows == 0 {
		return nil
	}
	return t
}

// medianOf writes a figure's median with its n.
func medianOf(f *results.Figure) string {
	switch {
	case f == nil:
		return "-"
	case f.N == 0:
		return fmt.Sprintf("none (%d invalid)", f.Invalid)
	}
	return fmt.Sprintf("%s (n %s)", results.FormatValue(f.Median, f.Unit), countOf(f))
}

// ratioOf writes how a side's headline compares; ~ where no difference is
// shown.
func (rep *Report) ratioOf(bl block, point, side string) string {
	for _, c := range rep.Comparisons {
		if c.Metric != bl.metric.Name || c.Workload != bl.workload || c.Point != point || c.Side != side || c.Ratio == nil {
			continue
		}
		if c.Shown == Better || c.Shown == Worse {
			return fmt.Sprintf("**%s× %s** (%s to %s)", factor(*c.Ratio), c.Shown, factor(*c.Lo), factor(*c.Hi))
		}
		return factor(*c.Ratio) + "× ~"
	}
	return "-"
}
