package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Histogram is everything that a cell recorded under one tag of one metric, as
// one workload measured it: the distributions of all repeats, merged. Tag is a
// phase of the metric, or raw material beside its phases such as broker.2.
type Histogram struct {
	Cell     string
	Workload string
	Metric   string
	Tag      string
	Dist     *Distribution
	Medians  []float64 // of each repeat that has values, in ns
}

// phase gives the phase of the catalogue that the tag names. ok is false for
// raw material.
func (h Histogram) phase() (phase string, ok bool) {
	m, phase, err := FindMetric(h.Metric + "." + h.Tag)
	return phase, err == nil && m.Unit == Nanoseconds
}

// EachHistogram merges the histograms of the run and hands them to f, metric
// by metric, so that few are in memory at a time. f must not keep Dist beyond
// its call. An error of f ends it.
func (r *Run) EachHistogram(f func(Histogram) error) error {
	for _, c := range r.Manifest.Cells {
		logs, order := r.hlogFigures(c.ID)
		for _, key := range order {
			if err := r.eachTag(c.ID, key, logs[key], f); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachRepeat hands the histograms of the run to f as each repeat, from 1,
// recorded them: repeats are independent of each other, the values within one
// are not. An error of f ends it.
func (r *Run) EachRepeat(f func(repeat int, h Histogram) error) error {
	for _, c := range r.Manifest.Cells {
		logs, order := r.hlogFigures(c.ID)
		for _, key := range order {
			for _, name := range logs[key] {
				_, number, _ := cutLast(name)
				repeat, err := strconv.Atoi(number)
				if err != nil {
					return err // parseHlogFigure has seen it
				}
				err = r.eachTag(c.ID, key, []string{name}, func(h Histogram) error { return f(repeat, h) })
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// eachTag merges the intervals of some logs of one metric by their tags.
func (r *Run) eachTag(cell string, key figureKey, names []string, f func(Histogram) error) error {
	all := make(map[string]*Histogram)
	var tags []string
	for _, name := range names {
		one, order, err := r.tagsOf(cell, name)
		if err != nil {
			return err
		}
		for _, tag := range order {
			h := all[tag]
			if h == nil {
				h = &Histogram{Cell: cell, Workload: key.workload, Metric: key.metric, Tag: tag, Dist: NewDistribution()}
				all[tag] = h
				tags = append(tags, tag)
			}
			if median, ok := one[tag].Quantile(50); ok {
				h.Medians = append(h.Medians, float64(median))
			}
			if err := h.Dist.Merge(one[tag]); err != nil {
				return err
			}
		}
	}
	for _, tag := range tags {
		if err := f(*all[tag]); err != nil {
			return fmt.Errorf("%s: %w", hlogName(cell, names[0]), err)
		}
	}
	return nil
}

// tagsOf merges the intervals of one log by their tags, in the order of their
// first.
func (r *Run) tagsOf(cell, name string) (dists map[string]*Distribution, order []string, err error) {
	dists = make(map[string]*Distribution)
	err = r.eachInterval(cell, name, func(iv Interval) error {
		if dists[iv.Tag] == nil {
			dists[iv.Tag] = NewDistribution()
			order = append(order, iv.Tag)
		}
		return dists[iv.Tag].Merge(iv.Dist)
	})
	return dists, order, err
}

// cutLast cuts a name at its last dot.
func cutLast(name string) (before, after string, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return name, "", false
	}
	return name[:dot], name[dot+1:], true
}

// hlogFigures lists the logs of a cell that enter its figures, repeats of one
// workload and metric together.
func (r *Run) hlogFigures(cell string) (logs map[figureKey][]string, order []figureKey) {
	logs = make(map[figureKey][]string)
	prefix := strings.TrimSuffix(hlogName(cell, ""), hlogSuffix)
	for _, file := range r.HlogNames() {
		name, ok := strings.CutPrefix(strings.TrimSuffix(file, hlogSuffix), prefix)
		workload, metric, figure := parseHlogFigure(name)
		if !ok || !figure {
			continue
		}
		key := figureKey{cell, workload, metric, ""}
		if !slices.Contains(order, key) {
			order = append(order, key)
		}
		logs[key] = append(logs[key], name)
	}
	return logs, order
}
