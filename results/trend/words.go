package trend

import (
	"fmt"
	"math"
	"strings"

	"kbench/results"
)

// percent writes a ratio as a change: +20.0 %, x5.0 from five times on.
func percent(ratio float64) string {
	switch {
	case math.IsNaN(ratio) || math.IsInf(ratio, 0):
		return "n/a"
	case ratio >= 5:
		return fmt.Sprintf("x%.3g", ratio)
	}
	return fmt.Sprintf("%+.1f %%", (ratio-1)*100)
}

// verdict says what a change means to the figure's reader.
func verdict(c *Change) string {
	if c.Worse {
		return "slower"
	}
	return "faster"
}

// describe is a change in a line: its levels, size and night.
func (a *Analysis) describe(c *Change) string {
	p := &a.Points[c.Point]
	return fmt.Sprintf("from %s on: %s, %s (%s -> %s, p %.1g)", date(p), percent(c.Ratio), verdict(c),
		results.FormatValue(c.Before, a.Unit), results.FormatValue(c.After, a.Unit), c.P)
}

// where names a change's run and commit.
func where(p *Point) string {
	out := "run " + results.OneLine(p.Run)
	if p.Commit != "" {
		out += ", commit " + results.OneLine(short(p.Commit))
	}
	return out
}

// short cuts a commit as git shows it.
func short(commit string) string {
	if len(commit) == 40 && strings.Trim(commit, "0123456789abcdef") == "" {
		return commit[:12]
	}
	return commit
}

func date(p *Point) string { return p.At.Format("2006-01-02 15:04Z") }

// medianOf writes a night's median; an invalid night may have none.
func (a *Analysis) medianOf(p *Point) string {
	if p.N == 0 {
		return "n/a"
	}
	return results.FormatValue(p.Median, a.Unit)
}

// counts tells how many nights were not used, and why.
func (a *Analysis) counts() string {
	n := make(map[Use]int)
	for _, p := range a.Points {
		n[p.Use]++
	}
	out := nights(len(a.Points))
	for _, u := range []Use{Invalid, Noisy, Outlier} {
		if n[u] > 0 {
			out += fmt.Sprintf(", %d %s", n[u], u)
		}
	}
	return out
}

func nights(n int) string {
	if n == 1 {
		return "1 night"
	}
	return fmt.Sprintf("%d nights", n)
}

// level is the geometric mean of the nights since the last change; ok is false
// where no night was used.
func (a *Analysis) level() (v float64, ok bool) {
	if n := len(a.Changes); n > 0 {
		if c := a.Changes[n-1]; !a.acceptedSince(c.Point) {
			return c.After, true
		}
	}
	first := 0
	if n := len(a.Accepts); n > 0 {
		for first < len(a.Points) && a.Points[first].At.Before(a.Accepts[n-1].RunAt) {
			first++
		}
	}
	var logs []float64
	for _, p := range a.Points[first:] {
		if p.Use == Used {
			logs = append(logs, logOf(p.Median))
		}
	}
	if len(logs) == 0 {
		return 0, false
	}
	return expOf(sum(logs) / float64(len(logs))), true
}

// acceptedSince reports whether a change was accepted after a point's night.
func (a *Analysis) acceptedSince(point int) bool {
	for _, acc := range a.Accepts {
		if acc.RunAt.After(a.Points[point].At) {
			return true
		}
	}
	return false
}

// spread writes the night-to-night spread as a percentage.
func (a *Analysis) spread() string {
	if math.IsNaN(a.Spread) {
		return "n/a"
	}
	return fmt.Sprintf("%.1f %%", math.Expm1(a.Spread)*100)
}

// headline is what the whole report says, in a sentence.
func (r *Report) headline() string {
	if len(r.Analyses) == 0 {
		return "no series to judge"
	}
	alerts := "no new change"
	switch n := r.Alerts(); {
	case n == 1:
		alerts = "1 new change"
	case n > 1:
		alerts = fmt.Sprintf("%d new changes", n)
	}
	return fmt.Sprintf("%s in %d series of up to %s", alerts, len(r.Analyses), nights(r.Nights))
}

// method says how changes were found.
func (r *Report) method() string {
	common := fmt.Sprintf("E-divisive with Student's t, window %d, p %v, at least %.3g %%", r.Rule.Window, r.Rule.MaxP, r.Rule.MinMagnitude*100)
	if r.Rule.Plain {
		return common + ", as Apache Otava"
	}
	return fmt.Sprintf("%s; then at least %d nights on either side and p %.2g with correlated nights counted for fewer; single outliers drawn in; nights whose repeats differ by more than %.3g %% left out",
		common, r.Rule.MinNights, r.Rule.AlertP, r.Rule.MinMagnitude*50)
}

// footer are the sentences below the results.
func (r *Report) footer() []string {
	var out []string
	if r.Ended > 0 {
		out = append(out, fmt.Sprintf("%d series of other settings or environments have ended; --all shows them.", r.Ended))
	}
	for i := range r.Analyses {
		if a := &r.Analyses[i]; a.Elsewhere > 0 {
			out = append(out, fmt.Sprintf("%s %s: not compared with %s of other settings or environments.", results.OneLine(a.Cell), a.Name(), nights(a.Elsewhere)))
		}
	}
	return append(out, "Method: "+r.method()+".")
}
