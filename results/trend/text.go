package trend

import (
	"fmt"
	"math"
	"strings"

	"kbench/results"
)

// sparkNights is how many nights a line of text shows.
const sparkNights = 60

// Text shows the report in a terminal: a line of bars for each series, then
// its changes.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", results.OneLine(r.History), r.headline())
	cell := ""
	for i := range r.Analyses {
		a := &r.Analyses[i]
		if a.Cell != cell {
			cell = a.Cell
			fmt.Fprintf(&b, "\n%s\n", results.OneLine(cell))
		}
		level := "n/a"
		if v, ok := a.level(); ok {
			level = results.FormatValue(v, a.Unit)
		}
		fmt.Fprintf(&b, "  %-31s %s\n    %s, level %s, spread %s\n", a.title(), a.spark(), a.counts(), level, a.spread())
		for j := range a.Changes {
			c := &a.Changes[j]
			fmt.Fprintf(&b, "    %-4s %s\n         %s\n", strings.ToUpper(string(c.State)), a.describe(c), where(&a.Points[c.Point]))
		}
		for _, acc := range a.Accepts {
			fmt.Fprintf(&b, "    ok   accepted from %s on: %s\n", acc.RunAt.Format("2006-01-02 15:04Z"), results.OneLine(acc.Reason))
		}
	}
	b.WriteString("\n")
	for _, line := range r.footer() {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// title names a series within its cell.
func (a *Analysis) title() string {
	if m, _, err := results.FindMetric(a.Name()); err == nil && m.Workload != a.Workload {
		return a.Name() + " (" + results.OneLine(a.Workload) + ")"
	}
	return a.Name()
}

// spark draws the last nights: bars between the smallest and the largest of
// their medians, x for an invalid and ~ for a noisy night.
func (a *Analysis) spark() string {
	points := a.Points[max(0, len(a.Points)-sparkNights):]
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if p.Use == Used {
			lo, hi = min(lo, p.Median), max(hi, p.Median)
		}
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, p := range points {
		switch {
		case p.Use == Invalid:
			b.WriteByte('x')
		case p.Use == Noisy:
			b.WriteByte('~')
		case !(hi > lo):
			b.WriteRune(bars[3])
		default:
			share := (min(max(p.Median, lo), hi) - lo) / (hi - lo)
			b.WriteRune(bars[min(int(share*float64(len(bars))), len(bars)-1)])
		}
	}
	return b.String()
}

// Markdown shows the report in a pull request or a job's summary.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| cell | metric | nights | level | spread | change | from | state |\n|---|---|---|---|---|---|---|---|\n", r.headline())
	for i := range r.Analyses {
		a := &r.Analyses[i]
		level := "n/a"
		if v, ok := a.level(); ok {
			level = results.FormatValue(v, a.Unit)
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s |", results.MarkdownText(a.Cell), results.MarkdownText(a.title()), a.counts(), level, a.spread())
		if len(a.Changes) == 0 {
			fmt.Fprintf(&b, "%s ~ | | |\n", row)
		}
		for j := range a.Changes {
			c := &a.Changes[j]
			state := string(c.State)
			if c.State == New {
				state = "**new**"
			}
			p := &a.Points[c.Point]
			fmt.Fprintf(&b, "%s %s, %s | %s (%s) | %s |\n", row, percent(c.Ratio), verdict(c), date(p), results.MarkdownText(where(p)), state)
		}
	}
	b.WriteString("\n")
	for _, line := range append(r.Notes, r.footer()...) {
		fmt.Fprintf(&b, "- %s\n", results.MarkdownText(line))
	}
	return b.String()
}
