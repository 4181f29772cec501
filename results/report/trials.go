package report

import (
	"math"
	"slices"

	"kbench/results"
	"kbench/results/stat"
)

// Excluded is a trial that is in no figure, and why.
type Excluded struct {
	Cell     string `json:"cell"`
	Workload string `json:"workload"`
	Repeat   int    `json:"repeat"`
	Trial    int    `json:"trial"`
	Subject  string `json:"subject,omitempty"` // the node that was hurt
	Reason   string `json:"reason"`
}

// Outlier is a valid value far from the others of its phase and cell. It is in
// every figure all the same.
type Outlier struct {
	Cell     string       `json:"cell"`
	Workload string       `json:"workload"`
	Repeat   int          `json:"repeat"`
	Trial    int          `json:"trial"`
	Metric   string       `json:"metric"` // metric.phase
	Value    float64      `json:"value"`
	Unit     results.Unit `json:"unit"`
}

const (
	// maxExcluded bounds the trials that are listed one by one; trials.csv has
	// all of them.
	maxExcluded = 200
	// outliersNeed is the number of values under which none is called far from
	// the others, and outlierShare the part of them that may be.
	outliersNeed = 8
	outlierShare = 5
)

// takeSamples keeps the valid values of each phase and the trials that are not
// valid.
func (rep *Report) takeSamples(samples []results.Sample) {
	of := make(map[figureKey][]results.Sample) // headlines
	for _, s := range samples {
		m, phase, err := results.FindMetric(s.Metric)
		if err != nil {
			continue // Open refuses such samples
		}
		if !s.Valid {
			rep.exclude(Excluded{s.Cell, s.Workload, s.Repeat, s.Trial, s.Subject, s.Reason})
			continue
		}
		key := figureKey{s.Cell, s.Workload, m.Name, phase}
		rep.values[key] = append(rep.values[key], s.Value)
		if phase == m.Headline {
			of[key] = append(of[key], s)
		}
	}
	for i := range rep.Figures {
		f := &rep.Figures[i]
		rep.flag(of[figureKey{f.Cell, f.Workload, f.Metric, f.Phase}])
	}
}

// trialKey tells an invalid trial from others; attempts of one repeat differ in
// their reasons.
type trialKey struct {
	cell, workload string
	repeat, trial  int
	reason         string
}

// exclude lists an invalid trial once. One of a repeat of which nothing was
// meant to count is listed and not counted.
func (rep *Report) exclude(e Excluded) {
	key := trialKey{e.Cell, e.Workload, e.Repeat, e.Trial, e.Reason}
	if rep.excluded[key] {
		return
	}
	rep.excluded[key] = true
	if !rep.warmUp(e.Cell, e.Repeat) {
		rep.invalid++
	}
	if len(rep.Excluded) < maxExcluded {
		rep.Excluded = append(rep.Excluded, e)
	} else {
		rep.ExcludedMore++
	}
}

// warmUp reports whether no attempt at the repeat was meant to count.
func (rep *Report) warmUp(cell string, repeat int) bool {
	dropped := false
	for _, c := range rep.Run.Cells {
		for _, a := range c.Attempts {
			if c.ID == cell && a.Repeat == repeat {
				dropped = a.Dropped != ""
			}
		}
	}
	return dropped
}

// nothingValid adds the figures of workloads whose trials are all invalid and
// left no sample, as those of histograms do: that nothing came is shown.
func (rep *Report) nothingValid() {
	trials := make(map[[2]string]int64) // by cell and workload
	for key := range rep.excluded {
		if !rep.warmUp(key.cell, key.repeat) {
			trials[[2]string{key.cell, key.workload}]++
		}
	}
	for _, c := range rep.Run.Cells {
		for _, m := range results.Metrics() {
			n := trials[[2]string{c.ID, m.Workload}]
			if n == 0 || slices.ContainsFunc(rep.Figures, func(f results.Figure) bool { return f.Cell == c.ID && f.Metric == m.Name && f.Workload == m.Workload }) {
				continue
			}
			rep.Figures = append(rep.Figures, results.Figure{
				Cell: c.ID, Workload: m.Workload, Metric: m.Name, Phase: m.Headline, Headline: true, Unit: m.Unit, Invalid: n,
			})
		}
	}
}

// takeRepeats keeps one value of each repeat where a headline has a histogram:
// its median. Values within a repeat depend on each other, repeats do not.
func (rep *Report) takeRepeats(r *results.Run) error {
	fresh := make(map[figureKey]bool)
	return r.EachRepeat(func(_ int, h results.Histogram) error {
		m, phase, err := results.FindMetric(h.Metric + "." + h.Tag)
		median, ok := h.Dist.Quantile(50)
		if err != nil || phase != m.Headline || !ok {
			return nil
		}
		key := figureKey{h.Cell, h.Workload, h.Metric, phase}
		if !fresh[key] { // the histogram counts where trials have samples too
			fresh[key], rep.values[key] = true, nil
		}
		rep.values[key] = append(rep.values[key], float64(median))
		return nil
	})
}

// flag finds the outliers among the values of one phase, by their logarithms:
// latencies are skewed.
func (rep *Report) flag(samples []results.Sample) {
	if len(samples) < outliersNeed {
		return
	}
	logs := make([]float64, len(samples))
	for i, s := range samples {
		logs[i] = math.Log(s.Value)
	}
	for _, i := range stat.GESD(logs, len(logs)/outlierShare, stat.Alpha) {
		s := samples[i]
		rep.Outliers = append(rep.Outliers, Outlier{s.Cell, s.Workload, s.Repeat, s.Trial, s.Metric, s.Value, s.Unit})
	}
}

// shownValues gives at most n of a phase's values, its extremes among them.
func (rep *Report) shownValues(f *results.Figure, n int) []float64 {
	v := slices.Sorted(slices.Values(rep.values[figureKey{f.Cell, f.Workload, f.Metric, f.Phase}]))
	if len(v) <= n {
		return v
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = v[i*(len(v)-1)/(n-1)]
	}
	return out
}
