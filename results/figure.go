package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kbench/results/stat"
)

// shownPercentiles are tried for every figure; those that n does not support
// are left out.
var shownPercentiles = []float64{90, 95, 99, 99.9, 99.99}

// Figure is one phase of one metric in one cell, described. Values are in
// Unit.
type Figure struct {
	Cell     string  `json:"cell"`
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"` // without the phase
	Phase    string  `json:"phase"`
	Headline bool    `json:"headline"`
	Unit     Unit    `json:"unit"`
	N        int64   `json:"n"`       // valid values
	Repeats  int     `json:"repeats"` // clusters that gave them: what is independent where a trial gives many
	Invalid  int64   `json:"invalid"` // values of invalid trials, not in the figures
	Min      float64 `json:"min"`
	Median   float64 `json:"median"`
	Max      float64 `json:"max"`
	// 95 % interval of the median: by the values where each is a trial of its
	// own, by the medians of repeats where it is a histogram, since the values
	// of one trial depend on each other. Null where there are fewer than six.
	MedianLo    *float64           `json:"medianLo"`
	MedianHi    *float64           `json:"medianHi"`
	Percentiles map[string]float64 `json:"percentiles,omitempty"` // p99: value, those that Supports lets describe n values
	OutOfRange  int64              `json:"outOfRange,omitempty"`  // values under 1 µs or over 1 h, counted in n
	Histogram   bool               `json:"histogram,omitempty"`   // from a histogram: three digits, exact min and max
}

// Value returns a statistic; ok is false where n does not support it.
func (f Figure) Value(stat Stat) (v float64, ok bool) {
	switch stat {
	case StatN:
		return float64(f.N), true
	case StatMin:
		return f.Min, f.N > 0
	case StatMedian:
		return f.Median, f.N > 0
	case StatMax:
		return f.Max, f.N > 0
	}
	v, ok = f.Percentiles[string(stat)]
	return v, ok
}

// percentileName writes 99.9 as p99.9.
func percentileName(p float64) string { return fmt.Sprintf("p%v", p) }

// Figures describes everything that the run measured, by cell and in the
// catalogue's order. percentiles are described besides the usual ones.
func (r *Run) Figures(percentiles ...float64) ([]Figure, error) {
	return r.FiguresAndEach(func(Histogram) error { return nil }, percentiles...)
}

// FiguresAndEach is Figures and EachHistogram in one reading.
func (r *Run) FiguresAndEach(each func(Histogram) error, percentiles ...float64) ([]Figure, error) {
	percentiles = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(shownPercentiles), percentiles...))))
	hists := make(map[figureKey]Figure)
	err := r.EachHistogram(func(h Histogram) error {
		if phase, ok := h.phase(); ok && h.Dist.Count() > 0 {
			var f Figure
			f.fromHistogram(h.Dist, h.Medians, percentiles)
			hists[figureKey{h.Cell, h.Workload, h.Metric, phase}] = f
		}
		return each(h)
	})
	if err != nil {
		return nil, err
	}
	return figures(r.Manifest.Cells, r.Samples, hists, percentiles)
}

func isMetric(name string) bool {
	return slices.ContainsFunc(metrics, func(m Metric) bool { return m.Name == name })
}

type figureKey struct{ cell, workload, metric, phase string }

// figures describes samples and histograms. Where a phase has both, the
// histogram is described: it holds every value, the samples one per trial.
func figures(cells []Cell, samples []Sample, hists map[figureKey]Figure, percentiles []float64) ([]Figure, error) {
	values := make(map[figureKey][]float64)
	repeats := make(map[figureKey]map[int]bool)
	invalid := make(map[figureKey]int64)
	warmup := uncounted(cells)
	for _, s := range samples {
		m, phase, err := FindMetric(s.Metric)
		if err != nil {
			return nil, err
		}
		key := figureKey{s.Cell, s.Workload, m.Name, phase}
		switch {
		case s.Valid:
			values[key] = append(values[key], s.Value)
			if repeats[key] == nil {
				repeats[key] = make(map[int]bool)
			}
			repeats[key][s.Repeat] = true
		case !warmup[cellRepeat{s.Cell, s.Repeat}]:
			invalid[key]++
		}
	}
	var out []Figure
	for _, key := range figureKeys(cells, values, invalid, hists) {
		m, _, _ := FindMetric(key.metric)
		f, ok := hists[key]
		if !ok {
			if err := f.fromValues(values[key], percentiles); err != nil {
				return nil, fmt.Errorf("%s.%s of %s: %w", key.metric, key.phase, key.cell, err)
			}
			f.Repeats = len(repeats[key])
		}
		f.Cell, f.Workload, f.Metric, f.Phase = key.cell, key.workload, key.metric, key.phase
		f.Headline, f.Unit, f.Invalid = key.phase == m.Headline, m.Unit, invalid[key]
		if f.N > 0 || f.Invalid > 0 {
			out = append(out, f)
		}
	}
	return out, nil
}

// figureKeys orders what was measured: cells as listed, metrics and phases as
// in the catalogue, a metric's own workload before others.
func figureKeys(cells []Cell, values map[figureKey][]float64, invalid map[figureKey]int64, hists map[figureKey]Figure) []figureKey {
	keys := slices.Concat(slices.Collect(maps.Keys(values)), slices.Collect(maps.Keys(invalid)), slices.Collect(maps.Keys(hists)))
	rank := func(k figureKey) []int {
		cell := slices.IndexFunc(cells, func(c Cell) bool { return c.ID == k.cell })
		metric := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == k.metric })
		other := 1
		if metrics[metric].Workload == k.workload {
			other = 0
		}
		return []int{cell, metric, other, slices.Index(metrics[metric].phaseNames(), k.phase)}
	}
	slices.SortFunc(keys, func(a, b figureKey) int {
		ra, rb := rank(a), rank(b)
		// Other workloads of one metric stand in alphabetical order.
		return cmp.Or(slices.Compare(ra[:3], rb[:3]), cmp.Compare(a.workload, b.workload), cmp.Compare(ra[3], rb[3]))
	})
	return slices.Compact(keys)
}

func (f *Figure) fromValues(values []float64, percentiles []float64) error {
	s, err := Summarize(values)
	if err != nil {
		return err
	}
	f.N, f.Min, f.Median, f.Max = int64(s.N), s.Min, s.Median, s.Max
	if s.HasCI {
		f.MedianLo, f.MedianHi = &s.Lo, &s.Hi
	}
	for _, p := range percentiles {
		if v, ok := s.Percentile(p); ok {
			f.percentile(p, v)
		}
	}
	return nil
}

// fromHistogram describes what all repeats recorded together. medians are those
// of the repeats: only they are independent of each other.
func (f *Figure) fromHistogram(d *Distribution, medians, percentiles []float64) {
	f.Histogram, f.N, f.Repeats = true, d.Count(), len(medians)
	f.Min, f.Max = float64(d.min), float64(d.max)
	below, above := d.OutOfRange()
	f.OutOfRange = below + above
	f.Median = float64(d.atRank((f.N + 1) / 2))
	if iv, ok := stat.MedianInterval(medians, Confidence); ok {
		// Repeats of unequal size may leave the median of all values outside.
		l, h := min(iv.Lo, f.Median), max(iv.Hi, f.Median)
		f.MedianLo, f.MedianHi = &l, &h
	}
	for _, p := range percentiles {
		if v, ok := d.Quantile(p); ok && Supports(f.N, p) {
			f.percentile(p, float64(v))
		}
	}
}

func (f *Figure) percentile(p, v float64) {
	if f.Percentiles == nil {
		f.Percentiles = make(map[string]float64)
	}
	f.Percentiles[percentileName(p)] = v
}

// Side names the column group of a report in which the cell stands: its
// target, with the variant where one applies.
func (c Cell) Side() string {
	if c.Variant == "" || c.Variant == "base" {
		return c.Target
	}
	return c.Target + " " + c.Variant
}

// Sides lists the sides of a run in the order of its cells.
func Sides(cells []Cell) []string {
	var out []string
	for _, c := range cells {
		if s := c.Side(); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// PointLabel writes the cell's point of the sweep: 10k where partitions are
// the only axis, else "partitions=10k brokers=5".
func (c Cell) PointLabel() string {
	if len(c.Point) == 0 {
		return count(c.Partitions)
	}
	if len(c.Point) == 1 && c.Point[0].Axis == "cluster.partitions" {
		return c.Point[0].Value
	}
	var parts []string
	for _, p := range c.Point {
		parts = append(parts, strings.TrimPrefix(p.Axis, "cluster.")+"="+p.Value)
	}
	return strings.Join(parts, " ")
}

// Points lists the labels of the sweep's points in the order of the cells, by
// partitions where they differ.
func Points(cells []Cell) []string {
	sorted := slices.Clone(cells)
	slices.SortStableFunc(sorted, func(a, b Cell) int { return cmp.Compare(a.Partitions, b.Partitions) })
	var out []string
	for _, c := range sorted {
		if p := c.PointLabel(); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
