package paired

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"kbench/results"
	"kbench/results/columns"
	"kbench/results/stat"
)

// Sentence says what a result means, in words.
func (r *Result) Sentence(base, variant string, margin float64) string {
	pairs := "n = " + countOf(r.N)
	if r.Ratio == nil {
		return fmt.Sprintf("inconclusive: %s, %s", cmp.Or(r.Why, "no ratio"), pairs)
	}
	p := "p = " + number(*r.Adjusted)
	if r.Lo == nil {
		return fmt.Sprintf("inconclusive: %s was %s in the median pair, %s too few for an interval", variant, r.by(*r.Ratio), pairs+map[bool]string{true: " is", false: " are"}[r.N == 1])
	}
	switch r.Verdict {
	case Same:
		return fmt.Sprintf("%s is the same as %s within %s (%s, 95 %%: %s to %s), %s", variant, base, percent(margin), r.by(*r.Ratio), r.by(*r.Lo), r.by(*r.Hi), pairs)
	case Faster, Slower:
		lo, hi := math.Abs(*r.Lo-1), math.Abs(*r.Hi-1)
		return fmt.Sprintf("%s is %s %s (95 %%: %s to %s), %s, %s", variant, percent(math.Abs(*r.Ratio-1)), r.word(r.Verdict), bare(min(lo, hi)), percent(max(lo, hi)), p, pairs)
	default:
		return fmt.Sprintf("inconclusive: %s is between %s and %s (95 %%), %s, %s; about %d pairs would tell %s apart at this spread", variant, r.by(*r.Lo), r.by(*r.Hi), p, pairs, r.Needed, percent(margin))
	}
}

// countOf counts pairs.
func countOf(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", n)
}

// by says a ratio as faster or slower.
func (r *Result) by(ratio float64) string {
	verdict := Faster
	switch {
	case ratio == 1:
		return "0 % apart"
	case (ratio > 1) == (r.better == results.Lower):
		verdict = Slower
	}
	return percent(math.Abs(ratio-1)) + " " + r.word(verdict)
}

// word is faster or slower for what is measured: of memory there is less or more.
func (r *Result) word(v Verdict) string {
	switch {
	case r.Unit != results.Bytes:
		return string(v)
	case v == Faster:
		return "less"
	}
	return "more"
}

// percent writes a share with two digits: 0.8 %, 12 %.
func percent(share float64) string { return bare(share) + " %" }

func bare(share float64) string {
	if v := share * 100; v < 9.95 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return fmt.Sprintf("%.0f", share*100)
}

// number writes a p-value.
func number(p float64) string {
	if p < 0.001 {
		return fmt.Sprintf("%.0e", p)
	}
	return fmt.Sprintf("%.3f", p)
}

// Headline is the verdict, and why there is none, a line each.
func (a *Analysis) Headline() []string {
	out := []string{fmt.Sprintf("%s: %s against %s, %s", strings.ToUpper(string(a.Verdict)), a.Variant, a.Base, a.primaryNames())}
	for i := range a.Points {
		p := &a.Points[i]
		text := p.Sentence(a.Base, a.Variant, a.Margin)
		if len(a.Reasons) > 0 {
			text = "no verdict; so far " + text
		}
		out = append(out, a.at(p)+": "+text)
	}
	for _, reason := range a.Reasons {
		out = append(out, "reason: "+reason)
	}
	for _, note := range a.Notes {
		out = append(out, "note: "+note)
	}
	return out
}

// method says how the numbers were made.
func (a *Analysis) method() string {
	p := "p of the primary metric by Holm over its points, of the others over them all"
	if len(a.Metrics) > 1 {
		p = "p of each primary metric at each point as it is, since the verdict takes all of them at once, of the others by Holm over them all"
	}
	return fmt.Sprintf("%s, interleaved A B B A, %d to warm up; a cell-run counts as the median of its trials; signed-rank test with its interval; %s", countOf(a.Pairs), a.Warmup, p) + a.tooFewForOthers()
}

// tooFewForOthers says why no secondary metric can be significant, whatever it
// shows, and from how many pairs on one can; empty where one can now. Holm's
// first step holds the smallest p of m tests against a level m times as low.
func (a *Analysis) tooFewForOthers() string {
	tests := 0
	for i := range a.Secondary {
		if a.Secondary[i].P != nil {
			tests++
		}
	}
	if tests == 0 || TooFew(a.Pairs) != "" {
		return ""
	}
	least := stat.SignedRankNeeds(stat.Alpha / float64(tests))
	if a.Pairs >= least {
		return ""
	}
	return fmt.Sprintf("; with %s none of %d others can be significant (~), whatever its interval: %d are the fewest", countOf(a.Pairs), tests, least)
}

var head = []string{"metric", "point", "n", "", "", "times as fast", "change", "95 %", "p"}

// speedup writes how many times as fast the variant is, with the 95 % interval
// where n bounds one: 2.21 (1.95 to 2.48).
func (r *Result) speedup() string {
	if r.Ratio == nil {
		return ""
	}
	times := func(ratio float64) float64 {
		if r.better == results.Lower {
			return 1 / ratio
		}
		return ratio
	}
	text := fmt.Sprintf("%.3g", times(*r.Ratio))
	if r.Lo == nil {
		return text
	}
	lo, hi := times(*r.Lo), times(*r.Hi)
	return fmt.Sprintf("%s (%.3g to %.3g)", text, min(lo, hi), max(lo, hi))
}

// rows are one family as cells of text. A change that is not significant is ~.
func (a *Analysis) rows(family []Result) [][]string {
	named := slices.Clone(head)
	named[3], named[4] = a.Base, a.Variant
	out := [][]string{named}
	for i := range family {
		r := &family[i]
		row := []string{r.series.String(), r.Point, fmt.Sprint(r.N), results.FormatValue(r.Base, r.Unit), results.FormatValue(r.Variant, r.Unit), r.speedup(), "~", "", ""}
		if r.Verdict == Faster || r.Verdict == Slower {
			row[6] = r.by(*r.Ratio)
		}
		if r.Verdict == Same {
			row[6] = "same"
		}
		if r.Lo != nil {
			row[7] = r.by(*r.Lo) + " to " + r.by(*r.Hi)
		}
		if r.Adjusted != nil {
			row[8] = number(*r.Adjusted)
		}
		out = append(out, row)
	}
	return out
}

// machine says in words where a run was.
func machine(m results.Manifest) string {
	e, o := m.Environment, m.Observed
	out := []string{fmt.Sprintf("%d cores of %s", e.Cores, cmp.Or(e.CPU, "an unknown CPU")), fmt.Sprintf("%d MB", e.MemoryMB), e.OS + " " + e.Kernel}
	disk := "data on " + e.FileSystem
	switch {
	case e.OnMemory():
		disk += ", a memory file system"
	case o.FsyncP50 > 0:
		disk += fmt.Sprintf(", median fsync %s", results.FormatValue(float64(o.FsyncP50), results.Nanoseconds))
	}
	out = append(out, disk)
	for _, name := range slices.Sorted(maps.Keys(e.Versions)) {
		out = append(out, name+" "+e.Versions[name])
	}
	return strings.Join(out, ", ")
}

// Text is the form for a terminal.
func (a *Analysis) Text() string {
	var b strings.Builder
	for _, line := range a.Headline() {
		b.WriteString(results.OneLine(line) + "\n")
	}
	for _, family := range [][]Result{a.Points, a.Secondary} {
		if len(family) == 0 {
			continue
		}
		b.WriteString("\n")
		rows := a.rows(family)
		for _, row := range rows {
			for i := range row {
				row[i] = results.OneLine(row[i])
			}
		}
		t := columns.Table{Ruled: true, Head: rows[0], Rows: rows[1:], Right: []bool{2: true, 3: true, 4: true, 8: true}}
		b.WriteString(t.Text(math.MaxInt))
	}
	fmt.Fprintf(&b, "\n%s.\nMachine: %s.\n", a.method(), results.OneLine(a.Machine))
	return b.String()
}

// Markdown is the form for pull requests.
func (a *Analysis) Markdown() string {
	var b strings.Builder
	for i, line := range a.Headline() {
		if i == 0 {
			b.WriteString("**" + results.MarkdownText(line) + "**\n\n")
			continue
		}
		b.WriteString("- " + results.MarkdownText(line) + "\n")
	}
	for i, family := range [][]Result{a.Points, a.Secondary} {
		if len(family) == 0 {
			continue
		}
		b.WriteString("\n")
		if i == 1 {
			b.WriteString("Other metrics, which decide nothing:\n\n")
		}
		for i, row := range a.rows(family) {
			for j := range row {
				row[j] = results.MarkdownText(row[j])
			}
			b.WriteString("| " + strings.Join(row, " | ") + " |\n")
			if i == 0 {
				b.WriteString("|---|---|--:|--:|--:|---|---|---|--:|\n")
			}
		}
	}
	fmt.Fprintf(&b, "\n%s. Machine: %s. Run `%s`.\n", a.method(), results.MarkdownText(a.Machine), strings.ReplaceAll(results.OneLine(a.Run), "`", "'"))
	return b.String()
}

// JSON is the machine-readable form.
func (a *Analysis) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(a, "", "  ")
	return append(b, '\n'), err
}
