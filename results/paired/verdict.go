package paired

import (
	"fmt"
	"math"
	"strings"

	"kbench/results"
	"kbench/results/stat"
)

// correct adjusts the p-values of one family and gives each result its
// verdict.
func (a *Analysis) correct(family []Result) {
	raw := make([]float64, len(family))
	for i, r := range family {
		if raw[i] = math.NaN(); r.P != nil {
			raw[i] = *r.P
		}
	}
	for i, p := range stat.Holm(raw) {
		r := &family[i]
		if !math.IsNaN(p) {
			r.Adjusted = pointer(p)
		}
		r.judge(a.Margin)
	}
}

// judge gives the verdict. What is within the margin is the same, however
// surely it differs.
func (r *Result) judge(margin float64) {
	r.Verdict = Inconclusive
	if r.Lo != nil {
		lower := r.better == results.Lower
		switch {
		case *r.Lo >= 1/(1+margin) && *r.Hi <= 1+margin:
			r.Verdict = Same
		case *r.Adjusted >= stat.Alpha || *r.Lo <= 1 && *r.Hi >= 1:
		case (*r.Hi < 1) == lower:
			r.Verdict = Faster
		default:
			r.Verdict = Slower
		}
	}
	if r.Verdict == Inconclusive && r.Ratio != nil {
		r.Needed = max(stat.PairsNeeded(r.sdLog(), margin, stat.Alpha, power), r.N+1)
	}
}

// sdLog is the standard deviation of the logarithms of the ratios.
func (r *Result) sdLog() float64 {
	var logs []float64
	mean := 0.0
	for _, p := range r.Values {
		logs = append(logs, math.Log(p.Variant)-math.Log(p.Base))
		mean += logs[len(logs)-1] / float64(len(r.Values))
	}
	squares := 0.0
	for _, l := range logs {
		squares += (l - mean) * (l - mean)
	}
	return math.Sqrt(squares / float64(max(len(logs)-1, 1)))
}

// TooFew says why a number of pairs can decide nothing, whatever they show;
// empty where they can.
func TooFew(pairs int) string {
	least := stat.SignedRankNeeds(stat.Alpha)
	if pairs >= least {
		return ""
	}
	return fmt.Sprintf("%s cannot decide at the level %v: %d are the fewest", countOf(pairs), stat.Alpha, least)
}

func timesOf(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// judge gives the verdict over all points, and why there is none.
func (a *Analysis) judge(r *results.Run) {
	m := r.Manifest
	missing := func(res Result) bool { return res.N < a.Pairs }
	for _, res := range a.Points {
		if missing(res) {
			a.Reasons = append(a.Reasons, fmt.Sprintf("%d of %d pairs are whole at %s: the number of pairs was fixed beforehand, and fewer are no verdict", res.N, a.Pairs, a.at(&res)))
		}
	}
	for _, name := range a.Metrics {
		of := 0
		for _, p := range a.Points {
			if p.Metric == name {
				of++
			}
		}
		if n := len(m.Comparison.Matches); n > of {
			a.Reasons = append(a.Reasons, fmt.Sprintf("%s was measured at %d of %d points", name, of, n))
		}
	}
	if why := TooFew(a.Pairs); why != "" {
		a.Notes = append(a.Notes, why)
	}
	for _, c := range m.Cells {
		if n := c.Retried(); n > 0 {
			a.Notes = append(a.Notes, fmt.Sprintf("%s was built %s more than planned, since a pair was invalid; what was invalid is not counted", c.ID, timesOf(n)))
		}
	}
	switch {
	case m.Interrupted:
		a.Verdict = Invalid
		a.Reasons = append([]string{interruption(m)}, a.Reasons...)
	case m.Verdict != results.Valid:
		a.Verdict = Invalid
		a.Reasons = append(a.Reasons, m.Reasons...)
	case len(a.Reasons) > 0:
		a.Verdict = Invalid
	default:
		a.Verdict = overall(a.Points)
	}
}

// interruption says how far the run had come, where it tells.
func interruption(m results.Manifest) string {
	for _, r := range m.Reasons {
		if strings.HasPrefix(r, "interrupted") {
			return r
		}
	}
	return "interrupted"
}

// overall is the verdict that all points share; where one has none, nor has
// the whole.
func overall(points []Result) Verdict {
	out := points[0].Verdict
	for _, p := range points {
		switch {
		case p.Verdict == Inconclusive:
			return Inconclusive
		case p.Verdict != out:
			out = Mixed
		}
	}
	return out
}

// ExitCode is 0 where every point has a verdict, 3 where one has none or the
// comparison is not valid. With failIfSlower it is 1 where the variant is
// slower at any point of a valid comparison.
func (a *Analysis) ExitCode(failIfSlower bool) int {
	code := 0
	if len(a.Reasons) > 0 {
		return 3
	}
	for _, p := range a.Points {
		switch {
		case p.Verdict == Slower && failIfSlower:
			return 1
		case p.Verdict == Inconclusive:
			code = 3
		}
	}
	return code
}
