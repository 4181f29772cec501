package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"kbench/results"
)

// number writes a p-value.
func number(p *float64) string {
	switch {
	case p == nil:
		return ""
	case *p < 0.001:
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", *p)
}

// percent writes a ratio as a change: -12 %, +5.1 %, and from tenfold on as a
// factor, 12x.
func percent(ratio float64) string {
	if ratio >= 9.995 {
		return factor(ratio)
	}
	return bare(ratio) + " %"
}

func bare(ratio float64) string {
	v := (ratio - 1) * 100
	if math.Abs(v) >= 9.95 {
		return fmt.Sprintf("%+.0f", v)
	}
	return fmt.Sprintf("%+.1f", v)
}

// change is what is known of a change: its size and whether that is good, or
// a tilde.
func (ch Change) change() string {
	switch ch.Verdict {
	case Better, Worse:
		if ch.Ratio == nil {
			return string(ch.Verdict)
		}
		return percent(*ch.Ratio) + " " + string(ch.Verdict)
	default:
		return "~"
	}
}

// interval is that of the change; the change itself, in brackets, where there
// is none.
func (ch Change) interval() string {
	switch {
	case ch.Lo != nil && *ch.Hi < 9.995:
		return bare(*ch.Lo) + " to " + percent(*ch.Hi)
	case ch.Lo != nil:
		return percent(*ch.Lo) + " to " + percent(*ch.Hi)
	case ch.Ratio != nil:
		return "(" + percent(*ch.Ratio) + ")"
	}
	return ""
}

// shownP is the p by which the verdict was found.
func (ch Change) shownP() string {
	if ch.Verdict == Untested {
		return fmt.Sprintf("need n>=%d", ch.Needs)
	}
	if ch.Adjusted != nil {
		return number(ch.Adjusted)
	}
	return number(ch.P)
}

// spread is the larger half of the interval of the median, as a share of it.
func (v *Value) spread() string {
	if v.Lo == nil || v.Center == 0 {
		return "±?"
	}
	s := max(*v.Hi/v.Center-1, 1-*v.Lo/v.Center) * 100
	if s >= 999.5 {
		return ">±999 %"
	}
	return fmt.Sprintf("±%.0f %%", s)
}

// counts writes the n of all sides: 10 where they agree, 10+9 where not.
func (r *Row) counts() string {
	var out []string
	for _, v := range r.Values {
		n := 0
		if v != nil {
			n = v.N
		}
		out = append(out, fmt.Sprint(n))
	}
	if len(slices.Compact(slices.Clone(out))) == 1 {
		return out[0]
	}
	return strings.Join(out, "+")
}

// label names the phase, and the statistic where it is not the median.
func (r *Row) label() string {
	if r.Stat == p99 {
		return r.Phase + " " + p99
	}
	return r.Phase
}

// block groups the rows of one table.
type block struct {
	title string
	docs  string
	rows  []*Row
}

func (c *Comparison) blocks() []block {
	var out []block
	for i := range c.Rows {
		r := &c.Rows[i]
		title := r.title()
		if len(out) == 0 || out[len(out)-1].title != title {
			out = append(out, block{title: title, docs: r.docs})
		}
		last := &out[len(out)-1]
		last.rows = append(last.rows, r)
	}
	return out
}

// title is the block's: zk linger-5ms, recovery.controller.
func (r *Row) title() string {
	out := r.Metric
	if at := side(r.Target, r.Variant); at != "" {
		out = at + ", " + out
	}
	if m, _, err := results.FindMetric(r.Metric); err == nil && m.Workload != r.Workload {
		out += " during " + r.Workload
	}
	return out
}

// pointHeader names the column of points.
func (c *Comparison) pointHeader() string {
	for _, r := range c.Rows {
		if strings.Contains(r.Point, "=") {
			return "point"
		}
	}
	return "partitions"
}

// widestHead bounds a side's name above a column; longer ones are letters that
// the legend explains.
const widestHead = 18

func (c *Comparison) heads() []string {
	out := make([]string, len(c.Sides))
	long := false
	for i, s := range c.Sides {
		out[i] = results.OneLine(s.Name)
		long = long || utf8.RuneCountInString(out[i]) > widestHead
	}
	for i := range out {
		if long {
			out[i] = letters(i)
		}
	}
	return out
}

// legend says what each side is, a line each.
func (c *Comparison) legend() []string {
	var out []string
	for i, head := range c.heads() {
		s := c.Sides[i]
		build := "kbench " + s.Version
		if s.Commit != "" {
			build += " " + s.Commit[:min(len(s.Commit), 12)]
		}
		if s.Dirty {
			build += " (changed)"
		}
		what := s.Run
		if s.Label != "" && filepath.Base(s.Label) != s.Run {
			what = s.Label + ", run " + s.Run
		}
		if s.Name != head {
			what = s.Name + " of " + what
		}
		out = append(out, results.OneLine(fmt.Sprintf("%s: %s, %s UTC, %s", head, what, s.Started.UTC().Format(time.DateTime), build)))
	}
	return out
}

// summary counts the headline rows, in words.
func (c *Comparison) summary() string {
	if len(c.Rows) == 0 {
		return "nothing was compared"
	}
	heads := c.heads()
	headline, best := 0, make([]int, len(c.Sides))
	verdicts := map[Verdict]int{}
	for _, r := range c.Rows {
		if !r.Headline {
			continue
		}
		headline++
		if r.Best != nil {
			best[*r.Best]++
		}
		for _, ch := range r.Changes {
			verdicts[ch.Verdict]++
		}
	}
	if headline == 0 {
		return "no headline phase was measured on several sides"
	}
	if len(c.Sides) == 2 {
		return fmt.Sprintf("%s against %s, %s: %d better, %d worse, %d not known to differ", heads[1], heads[0],
			plural(headline, "headline"), verdicts[Better], verdicts[Worse], verdicts[None]+verdicts[Untested])
	}
	var parts []string
	for i, n := range best {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s is the best in %d", heads[i], n))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no side is better than every other in any"}
	}
	return fmt.Sprintf("of %s %s", plural(headline, "headline"), strings.Join(parts, ", "))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxListed bounds each list of remarks in text and Markdown; JSON has all.
const maxListed = 20

// remarks are what a reader must know beside the tables.
func (c *Comparison) remarks() []string {
	var out []string
	add := func(n int, line func(i int) string) {
		for i := range min(n, maxListed) {
			out = append(out, line(i))
		}
		if n > maxListed {
			out = append(out, fmt.Sprintf("and %d more like these; --format json lists them", n-maxListed))
		}
	}
	add(len(c.Warnings), func(i int) string { return "warning: " + c.Warnings[i] })
	add(len(c.Excluded), func(i int) string {
		e := c.Excluded[i]
		what := e.Cell
		if what == "" {
			what = "the whole run"
		}
		return fmt.Sprintf("left out: %s of %s is %s: %s", what, e.Side, e.Verdict, strings.Join(e.Reasons, "; "))
	})
	lone := c.unmatched()
	add(len(lone), func(i int) string { return "not compared: " + lone[i] })
	add(len(c.Differences), func(i int) string {
		d := c.Differences[i]
		return fmt.Sprintf("differs (%s): %s", d.Why, d)
	})
	return out
}

// unmatched names what some sides lack, what belongs to one point in one line.
func (c *Comparison) unmatched() []string {
	var order []string
	phases := map[string][]string{}
	for _, u := range c.Unmatched {
		where := u.Point
		if at := side(u.Target, u.Variant); at != "" {
			where = at + " at " + where
		}
		what := fmt.Sprintf("%s is on %s, not on %s", where, strings.Join(u.Have, ", "), strings.Join(u.Lack, ", "))
		if phases[what] == nil {
			order = append(order, what)
		}
		phases[what] = append(phases[what], u.Metric+"."+u.Phase)
	}
	for i, what := range order {
		order[i] = what + ": " + strings.Join(phases[what], ", ")
	}
	return order
}

// side names a target and a variant; the base goes without saying.
func side(target, variant string) string {
	if variant == "base" {
		variant = ""
	}
	return strings.TrimSpace(target + " " + variant)
}

// method explains the columns, for readers of the tables.
func (c *Comparison) method() []string {
	if len(c.Rows) == 0 {
		return nil
	}
	out := []string{"n: valid trials, or repeats where a metric is taken by histogram. ±: 95 % interval of the median."}
	if len(c.Sides) == 2 {
		out = append(out, "change: median of all ratios, with its 95 % interval; ~: not known to differ (p > 0.05 or too few values).")
	} else {
		out = append(out, fmt.Sprintf("Beside a median: its change against %s where that is significant, else ~. best: better than every other side.", c.heads()[0]))
	}
	if c.HeadlineTests > 0 {
		out = append(out, fmt.Sprintf("*: headline; p is Mann-Whitney's, corrected by Holm over %s. Other phases are secondary, their p is as it is.", plural(c.HeadlineTests, "test")))
	}
	return append(out, "p speaks of these clusters: two runs of one build may differ by more. `kbench ab` measures that.")
}

func factor(ratio float64) string {
	if ratio >= 99.5 {
		return fmt.Sprintf("%.3gx", ratio)
	}
	return fmt.Sprintf("%.1fx", ratio)
}
