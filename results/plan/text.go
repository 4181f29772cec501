package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"kbench/results"
)

// form is what differs between text and Markdown.
type form struct {
	heading func(string) string
	item    string
	code    func(string) string
	text    func(string) string
	table   func(table.Writer) string
}

var plainForm = form{
	heading: func(s string) string { return s + "\n" },
	item:    "  ",
	code:    func(s string) string { return s },
	text:    results.OneLine,
	table:   func(t table.Writer) string { return t.Render() },
}

var markdownForm = form{
	heading: func(s string) string { return "### " + s + "\n\n" },
	item:    "- ",
	code:    markdownCode,
	text:    results.MarkdownText,
	table:   func(t table.Writer) string { return t.RenderMarkdown() },
}

// Text is the plan for a terminal: plain, without colours.
func (p *Plan) Text() string { return p.render(plainForm) }

// Markdown is the same for pull requests.
func (p *Plan) Markdown() string { return "## Capacity plan\n\n" + p.render(markdownForm) }

func (p *Plan) render(f form) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", f.text("runs: "+strings.Join(p.Runs, ", ")))
	p.renderAnswers(&b, f)
	if len(p.Fits) > 0 {
		b.WriteString(f.heading("Fits (chosen by leaving out each rung in turn)"))
		if slices.ContainsFunc(p.Fits, fitted) {
			b.WriteString(f.table(fitTable(p.Fits, f)) + "\n\n")
		}
		p.renderWhys(&b, f, p.Fits)
	}
	if t, n := backTestTable(append(append([]Fitted(nil), p.Fits...), p.Growth...), f); n > 0 {
		b.WriteString(f.heading("Back-test: the largest rung held out, the rest fitted"))
		b.WriteString(f.table(t) + "\n\n")
	}
	if len(p.Growth) > 0 {
		b.WriteString(f.heading("Memory and data: the largest node of each role, at its peak, trials and workloads included"))
		if slices.ContainsFunc(p.Growth, fitted) {
			b.WriteString(f.table(growthTable(p.Growth, f)) + "\n\n")
		}
		p.renderWhys(&b, f, p.Growth)
	}
	list(&b, f, "Left out", p.Excluded)
	list(&b, f, "Remarks", p.Remarks)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func fitted(f Fitted) bool { return f.Why == "" }

func list(b *strings.Builder, f form, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString(f.heading(heading))
	for _, l := range lines {
		b.WriteString(f.item + f.text(l) + "\n")
	}
	b.WriteString("\n")
}

func (p *Plan) renderAnswers(b *strings.Builder, f form) {
	for _, a := range p.Answers {
		b.WriteString(f.item + f.text(a.sentence(p.Need)) + "\n")
		for _, line := range a.details() {
			b.WriteString("  " + f.item + f.text(line) + "\n")
		}
		if a.Next != nil {
			fmt.Fprintf(b, "  %snext rung to measure: %s\n", f.item, f.code(a.Next.Command))
		}
	}
	for _, r := range p.Refused {
		b.WriteString(f.item + f.text("no answer: "+r) + "\n")
	}
	if len(p.Answers)+len(p.Refused) > 0 {
		b.WriteString("\n")
	}
}

// sentence is the answer, judged by the need where there is one.
func (a Answer) sentence(need float64) string {
	if a.Status == Refused {
		return fmt.Sprintf("no answer for SLO %s on %s: %s: %s", a.SLO, a.Side, a.Name, a.Why)
	}
	if need <= 0 {
		return a.Words
	}
	if a.meets(need) {
		return fmt.Sprintf("%s; the %s needed are held", a.Words, count(need))
	}
	return fmt.Sprintf("%s; the %s needed are NOT shown to be held", a.Words, count(need))
}

// details are the lines under an answer.
func (a Answer) details() []string {
	if a.Status == Refused {
		return nil
	}
	l := a.ladder
	var out []string
	if a.Name != a.Metric {
		out = append(out, a.Name)
	}
	if a.Warning != "" {
		out = append(out, a.Warning)
	}
	out = append(out, fmt.Sprintf("%s: %s", l.fit.Chosen, l.formula()))
	if a.WorstWords != "" {
		out = append(out, a.WorstWords)
	}
	return append(out, a.measuredLine())
}

// measuredLine lists the rungs and whether each keeps the objective.
func (a Answer) measuredLine() string {
	var parts []string
	for _, r := range a.ladder.rungs {
		parts = append(parts, fmt.Sprintf("%s %s", count(float64(r.Partitions)), format(r.Value, a.Unit)))
	}
	line := "measured: " + strings.Join(parts, ", ")
	if a.Partitions != nil && a.AtLeast < a.ladder.top() && *a.Partitions > a.AtLeast && a.missesBelow() {
		line += "; a rung below the answer MISSES the objective: the fit smooths over it"
	}
	return line
}

// missesBelow reports whether a measured rung under the capacity misses it.
func (a Answer) missesBelow() bool {
	for _, r := range a.ladder.rungs {
		if float64(r.Partitions) < *a.Partitions && float64(r.Partitions) > a.AtLeast {
			return true
		}
	}
	return false
}

func newTable(right ...int) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.Options{SeparateColumns: true, SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	var configs []table.ColumnConfig
	for _, n := range right {
		configs = append(configs, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	return t
}

func fitTable(fits []Fitted, f form) table.Writer {
	t := newTable(3, 6)
	t.AppendHeader(table.Row{"metric", "side", "rungs", "model", "in words", "a left-out rung is missed by"})
	for _, fit := range fits {
		if fit.Why != "" {
			continue
		}
		t.AppendRow(table.Row{
			f.text(fit.Name + " " + fit.Stat), f.text(fit.Side), len(fit.Rungs), fit.weights(), f.text(fit.Formula), percent(fit.leftOut()),
		})
	}
	return t
}

// weights names the chosen model and the candidates that share the intervals.
func (f Fitted) weights() string {
	var others []string
	for _, m := range f.Models {
		if m.Model != f.Model && m.Weight >= 0.1 {
			others = append(others, fmt.Sprintf("%s %s", m.Model, percent(m.Weight)))
		}
	}
	if len(others) == 0 {
		return string(f.Model)
	}
	return fmt.Sprintf("%s (or %s)", f.Model, strings.Join(others, ", "))
}

func (f Fitted) leftOut() float64 {
	for _, m := range f.Models {
		if m.Model == f.Model {
			return m.Error
		}
	}
	return 0
}

func backTestTable(fits []Fitted, f form) (t table.Writer, rows int) {
	t = newTable(3, 4, 5, 6)
	t.AppendHeader(table.Row{"metric", "side", "rung", "predicted", "measured", "error", "95 % interval", ""})
	for _, fit := range fits {
		bt := fit.BackTest
		if bt == nil {
			continue
		}
		inside := "inside"
		if !bt.Inside {
			inside = "OUTSIDE"
		}
		t.AppendRow(table.Row{
			f.text(fit.Name + " " + fit.Stat), f.text(fit.Side), count(float64(bt.Partitions)), format(bt.Predicted, fit.Unit), format(bt.Measured, fit.Unit),
			fmt.Sprintf("%+.1f %%", bt.Error*100), rangeOf(bt.Interval, fit.Unit), inside,
		})
		rows++
	}
	return t, rows
}

func growthTable(fits []Fitted, f form) table.Writer {
	t := newTable(3, 4, 5)
	t.AppendHeader(table.Row{"what", "side", "for each partition", "at", "expected", "95 %", ""})
	for _, fit := range fits {
		for i, at := range fit.At {
			what, side, per := f.text(fit.Name), f.text(fit.Side), format(fit.PerUnit, results.Bytes)
			if i > 0 {
				what, side, per = "", "", ""
			}
			mark := ""
			if at.Beyond > 0 {
				mark = "extrapolated, " + times(at.Beyond) + " the largest rung"
			}
			t.AppendRow(table.Row{what, side, per, count(at.Partitions), format(at.Value, results.Bytes), rangeOf(at.Next, results.Bytes), mark})
		}
	}
	return t
}

// renderWhys lists the ladders without a fit.
func (p *Plan) renderWhys(b *strings.Builder, f form, fits []Fitted) {
	n := 0
	for _, fit := range fits {
		if fit.Why != "" {
			b.WriteString(f.item + f.text(fmt.Sprintf("no fit of %s %s on %s: %s", fit.Name, fit.Stat, fit.Side, fit.Why)) + "\n")
			n++
		}
	}
	if n > 0 {
		b.WriteString("\n")
	}
}
