package paired

import (
	"fmt"
	"slices"
	"strings"

	"kbench/results"
	"kbench/results/stat"
)

// series is a metric's phase as a workload measured it, in one statistic of a
// cell-run.
type series struct {
	workload, metric, phase string
	stat                    results.Stat // "" for the median
}

// tail is the other statistic, of phases that give many values.
const tail results.Stat = "p99"

func (s series) name() string {
	if s.stat != "" {
		return s.metric + "." + s.phase + "." + string(s.stat)
	}
	return s.metric + "." + s.phase
}

// String names the workload where it is not the metric's own.
func (s series) String() string {
	if results.WorkloadOf(s.metric) == s.workload {
		return s.name()
	}
	return s.name() + " during " + s.workload
}

// measured is what one cell gave in each of its counted repeats.
type measured map[series]map[int]float64

// pairsOf finds the values of a cell's repeats: the median of the trials, or
// of the histogram where a trial gives many values, and then the 99th percentile
// too where there are enough of them.
func pairsOf(r *results.Run, figs []results.Figure, cell results.Cell) (measured, error) {
	out := make(measured)
	valid := validRepeats(cell)
	trials := make(map[series]map[int][]float64)
	for _, s := range r.Samples {
		if s.Cell != cell.ID || !s.Valid || !valid(s.Repeat) {
			continue
		}
		m, phase, err := results.FindMetric(s.Metric)
		if err != nil {
			return nil, err
		}
		key := series{workload: s.Workload, metric: m.Name, phase: phase}
		if trials[key] == nil {
			trials[key] = make(map[int][]float64)
		}
		trials[key][s.Repeat] = append(trials[key][s.Repeat], s.Value)
	}
	for key, byRepeat := range trials {
		for repeat, values := range byRepeat {
			out.put(key, repeat, stat.Median(values))
		}
	}
	for _, f := range figs {
		if f.Cell == cell.ID && f.Histogram {
			if err := out.histograms(r, cell, f, valid); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (m measured) put(s series, repeat int, v float64) {
	if m[s] == nil {
		m[s] = make(map[int]float64)
	}
	m[s][repeat] = v
}

// histograms takes the statistics of each repeat's histogram.
func (m measured) histograms(r *results.Run, cell results.Cell, f results.Figure, valid func(int) bool) error {
	prefix := fmt.Sprintf("%s.%s.%s.", cell.ID, f.Workload, f.Metric)
	for _, file := range r.HlogNames() {
		var repeat int
		number := strings.TrimSuffix(strings.TrimPrefix(file, prefix), ".hlog")
		if _, err := fmt.Sscanf(number, "%d", &repeat); err != nil || file != prefix+fmt.Sprint(repeat)+".hlog" || !valid(repeat) {
			continue
		}
		intervals, err := r.Hlog(cell.ID, results.HlogFigure(f.Workload, f.Metric, repeat))
		if err != nil {
			return err
		}
		merged := results.NewDistribution()
		for _, iv := range intervals {
			if iv.Tag == f.Phase {
				if err := merged.Merge(iv.Dist); err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
			}
		}
		for s, p := range map[results.Stat]float64{"": 50, tail: 99} {
			if v, ok := merged.Quantile(p); ok && (s == "" || results.Supports(merged.Count(), p)) {
				m.put(series{f.Workload, f.Metric, f.Phase, s}, repeat, float64(v))
			}
		}
	}
	return nil
}

// validRepeats tells the repeats that count: those whose last attempt was
// valid. A folder that lists no attempts has none that were not.
func validRepeats(c results.Cell) func(repeat int) bool {
	return func(repeat int) bool {
		i := slices.IndexFunc(c.Attempts, func(a results.Attempt) bool { return a.Repeat == repeat && a.Dropped == "" })
		if i < 0 {
			return len(c.Attempts) == 0
		}
		return c.Attempts[i].Verdict == results.Valid
	}
}

// firstOf tells which side of a pair ran first; empty where the folder does
// not say.
func firstOf(base, variant results.Cell, repeat int) string {
	at := func(c results.Cell) (results.Attempt, bool) {
		i := slices.IndexFunc(c.Attempts, func(a results.Attempt) bool { return a.Repeat == repeat && a.Dropped == "" })
		if i < 0 {
			return results.Attempt{}, false
		}
		return c.Attempts[i], true
	}
	a, ok1 := at(base)
	b, ok2 := at(variant)
	switch {
	case !ok1 || !ok2:
		return ""
	case a.Started.After(b.Started):
		return "variant"
	default:
		return "base"
	}
}
