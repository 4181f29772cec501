package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kbench/results"
)

// series is a ladder: cells that differ in their partitions alone.
type series struct {
	target, variant string
	config          map[string]string // without partitions
	label           string            // how readers tell it from others
	cells           []measured        // by partitions, then in the order of runs
}

// storePath stands for where the metadata was, beside the settings.
const storePath = "store"

// measured is one valid cell and the run it is in.
type measured struct {
	run  *source
	cell *results.Cell
}

// source is a run with what is looked up in it often.
type source struct {
	*results.Run
	figures []results.Figure
	samples map[sampleKey][]float64 // valid ones
	hists   map[sampleKey]*results.Distribution
	usage   map[string][]usage // of nodes, by cell
}

type sampleKey struct{ cell, workload, metric string }

func openSource(r *results.Run) (*source, error) {
	s := &source{Run: r, samples: make(map[sampleKey][]float64), hists: make(map[sampleKey]*results.Distribution)}
	var err error
	if s.figures, err = r.Figures(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Manifest.ID, err)
	}
	for _, v := range r.Samples {
		if v.Valid {
			key := sampleKey{v.Cell, v.Workload, v.Metric}
			s.samples[key] = append(s.samples[key], v.Value)
		}
	}
	err = r.EachHistogram(func(h results.Histogram) error {
		m, phase, err := results.FindMetric(h.Metric + "." + h.Tag)
		if err != nil {
			return nil // raw material beside the phases
		}
		own := results.NewDistribution() // h.Dist is ours only now
		s.hists[sampleKey{h.Cell, h.Workload, m.Name + "." + phase}] = own
		return own.Merge(h.Dist)
	})
	if err != nil {
		return nil, err
	}
	s.usage, err = readUsage(r)
	return s, err
}

// gather groups the valid cells of the runs into series, in the order of
// cells, and names those that are left out.
func gather(runs []*source) (all []*series, excluded []string) {
	byKey := make(map[string]*series)
	for _, run := range runs {
		for i := range run.Manifest.Cells {
			c := &run.Manifest.Cells[i]
			if why := unusable(c); why != "" {
				excluded = append(excluded, fmt.Sprintf("%s of %s: %s", c.ID, run.Manifest.ID, why))
				continue
			}
			config := maps.Clone(c.Config)
			delete(config, partitionsAxis)
			config[storePath] = c.Store                                 // what auto chose
			key := fmt.Sprintf("%q %q %q", c.Target, c.Variant, config) // maps print sorted
			se := byKey[key]
			if se == nil {
				se = &series{target: c.Target, variant: c.Variant, config: config, label: c.Side()}
				byKey[key] = se
				all = append(all, se)
			}
			se.cells = append(se.cells, measured{run, c})
		}
	}
	for _, se := range all {
		slices.SortStableFunc(se.cells, func(a, b measured) int { return cmp.Compare(a.cell.Partitions, b.cell.Partitions) })
	}
	tellApart(all)
	return all, excluded
}

func unusable(c *results.Cell) string {
	switch {
	case c.Verdict != results.Valid:
		why := "is " + string(cmp.Or(c.Verdict, results.Inconclusive))
		if len(c.Reasons) > 0 {
			why += ": " + c.Reasons[0]
		}
		return why
	case c.Partitions < 1:
		return fmt.Sprintf("has %d partitions", c.Partitions)
	}
	return ""
}

// tellApart adds to the labels of series of one side the settings in which
// they differ.
func tellApart(all []*series) {
	bySide := make(map[string][]*series)
	for _, se := range all {
		bySide[se.label] = append(bySide[se.label], se)
	}
	for _, same := range bySide {
		for _, path := range differing(same) {
			for _, se := range same {
				se.label += fmt.Sprintf(" %s=%s", strings.TrimPrefix(path, "cluster."), cmp.Or(se.config[path], "-"))
			}
		}
	}
}

// differing lists the settings that are not the same in all series, sorted.
func differing(all []*series) []string {
	paths := make(map[string]bool)
	for _, se := range all {
		for path := range se.config {
			paths[path] = true
		}
	}
	for path := range paths {
		if !slices.ContainsFunc(all, func(se *series) bool { return se.config[path] != all[0].config[path] }) {
			delete(paths, path)
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// subject is one thing that was measured on a series: a phase of a metric as
// one workload saw it.
type subject struct {
	workload string
	metric   results.Metric
	phase    string
}

func (s subject) name() string { return s.metric.Name + "." + s.phase }

// title names the workload where it is not the metric's own.
func (s subject) title() string {
	if s.workload != s.metric.Workload {
		return s.name() + " during " + s.workload
	}
	return s.name()
}

// subjects lists what was measured on the series, headlines alone or one
// phase, in the order of the catalogue.
func (se *series) subjects(want func(results.Figure) bool) []subject {
	var out []subject
	for _, m := range se.cells {
		for _, f := range m.run.figures {
			if f.Cell != m.cell.ID || f.N == 0 || !want(f) {
				continue
			}
			metric, phase, err := results.FindMetric(f.Metric + "." + f.Phase)
			if err != nil {
				continue
			}
			same := func(s subject) bool {
				return s.workload == f.Workload && s.metric.Name == f.Metric && s.phase == phase
			}
			if !slices.ContainsFunc(out, same) {
				out = append(out, subject{f.Workload, metric, phase})
			}
		}
	}
	return out
}
