package gate

import (
	"encoding/json"
	"fmt"
	"strings"

	"kbench/results"
)

// words name a state in a column of equal width.
var words = map[State]string{
	Passed: "ok      ", Missed: "FAIL    ", Improved: "better  ", NoBaseline: "new     ", NoData: "NO DATA ",
}

// Headline is the verdict in one line.
func (r *Report) Headline() string {
	missed, total := 0, len(r.Checks)
	for _, c := range r.Checks {
		if c.State == Missed {
			missed++
		}
	}
	word := map[Verdict]string{Pass: "PASSED", Regressed: "REGRESSED", Invalid: "INVALID", Unjudged: "NO BASELINE"}[r.Verdict]
	line := fmt.Sprintf("%s: %s, run %s", word, r.Name, r.Run)
	switch r.Verdict {
	case Regressed:
		line += fmt.Sprintf(", %d of %s missed", missed, checks(total))
	case Pass:
		line += ", " + checks(total)
	}
	return line
}

func checks(n int) string {
	if n == 1 {
		return "1 check"
	}
	return fmt.Sprintf("%d checks", n)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Text is the form for a terminal: what is wrong comes first.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(results.OneLine(r.Headline()) + "\n")
	// Checks say themselves what is wrong with them.
	if r.Verdict != Regressed {
		for _, reason := range r.Reasons {
			b.WriteString("reason: " + results.OneLine(reason) + "\n")
		}
	}
	for _, note := range r.Notes {
		b.WriteString("note: " + results.OneLine(note) + "\n")
	}
	for _, c := range order(r.Checks) {
		b.WriteString(words[c.State] + results.OneLine(c.Sentence()) + "\n")
	}
	return b.String()
}

// Markdown is the form for pull requests and job summaries.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n", results.MarkdownText(r.Headline()))
	for _, reason := range r.Reasons {
		b.WriteString("- " + results.MarkdownText(reason) + "\n")
	}
	for _, note := range r.Notes {
		b.WriteString("- " + results.MarkdownText(note) + "\n")
	}
	if len(r.Checks) > 0 {
		b.WriteString("\n| | cell | check | value | bound | baseline | result |\n|---|---|---|--:|--:|--:|---|\n")
	}
	for _, c := range order(r.Checks) {
		name := c.Name() + " against history"
		if c.Kind == KindThreshold {
			name = c.Rule
		}
		cells := []string{strings.TrimSpace(words[c.State]), c.Cell, name, c.optional(c.Value), c.optional(c.Bound), c.optional(c.Baseline), c.Message}
		for i := range cells {
			cells[i] = results.MarkdownText(cells[i])
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	fmt.Fprintf(&b, "\nspec %s, environment %s\n", results.MarkdownText(r.SpecHash), results.MarkdownText(r.EnvHash))
	return b.String()
}

func (c *Check) optional(v *float64) string {
	if v == nil {
		return ""
	}
	return c.format(*v)
}

// JSON is the machine-readable form.
func (r *Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	return append(b, '\n'), err
}
