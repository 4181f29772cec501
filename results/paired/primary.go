package paired

import (
	"fmt"
	"slices"
	"strings"

	"kbench/results"
)

// maxPrimary bounds the primary metrics of a comparison.
const maxPrimary = 20

// Primary reads the names of primary metrics between commas: each with its phase
// or without, then it is the headline, and with .p99 for the 99th percentile of
// one that has many values in a trial. It gives them in full, as Result.Metric
// has them.
func Primary(names string) ([]string, error) {
	var out []string
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		stem, isTail := strings.CutSuffix(name, "."+string(tail))
		m, phase, err := results.FindMetric(stem)
		if err != nil {
			return nil, err
		}
		full := m.Name + "." + phase
		if isTail {
			full += "." + string(tail)
		}
		if slices.Contains(out, full) {
			return nil, fmt.Errorf("%s is named twice; name it once", full)
		}
		out = append(out, full)
	}
	if len(out) > maxPrimary {
		return nil, fmt.Errorf("%d primary metrics; name at most %d", len(out), maxPrimary)
	}
	return out, nil
}

// WorkloadOf names the kind of workload by which a primary metric is judged.
func WorkloadOf(primary string) string {
	return results.WorkloadOf(strings.TrimSuffix(primary, "."+string(tail)))
}

// isPrimary reports whether a series decides.
func (a *Analysis) isPrimary(s series) bool {
	return slices.Contains(a.Metrics, s.name()) && s.workload == results.WorkloadOf(s.metric)
}

// inOrder puts the points of the first primary metric first.
func (a *Analysis) inOrder() {
	slices.SortStableFunc(a.Points, func(x, y Result) int {
		return slices.Index(a.Metrics, x.Metric) - slices.Index(a.Metrics, y.Metric)
	})
}

// correctPrimary adjusts the p-values of what decides. Of one metric each point is
// a claim of its own, so they are corrected by Holm. Of several the verdict claims
// all of them at once: it is false already where one row is no different, and no
// surer to be told than that row by itself, so that each is judged at the full
// level (an intersection-union test).
func (a *Analysis) correctPrimary() {
	if len(a.Metrics) == 1 {
		a.correct(a.Points)
		return
	}
	for i := range a.Points {
		a.correct(a.Points[i : i+1])
	}
}

// primaryNames are the primary metrics in words.
func (a *Analysis) primaryNames() string {
	if len(a.Metrics) == 1 {
		return "primary metric " + a.Metrics[0]
	}
	return "primary metrics " + strings.Join(a.Metrics, ", ")
}

// at says of which point, and where there are several primary metrics of which of
// them, a result is.
func (a *Analysis) at(r *Result) string {
	if len(a.Metrics) == 1 {
		return r.Point
	}
	return r.Metric + " at " + r.Point
}
