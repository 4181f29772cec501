package simulated

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kbench/results"
)

// Point is one value of a run, by all that decides its truth.
type Point struct {
	Target     string
	Variant    string
	Partitions int
	Repeat     int    // from 1
	Trial      int    // from 1; 0 where a whole repeat is meant
	Metric     string // metric.phase, empty where none is meant
}

// Truth is what a run measures. Equal truths make equal runs.
type Truth struct {
	Name       string // of the spec; empty means simulated
	Targets    []string
	Variants   []string // empty means base alone
	Partitions []int
	Metrics    []string // metric.phase, as results.FindMetric knows them
	Trials     int      // of each cell, repeat and workload; 0 measures nothing
	Repeats    int      // 0 means 1
	Seed       uint64
	Started    time.Time // zero means 2026-01-05 02:00 UTC
	Commit     string
	Bounds     []string // thresholds as a spec writes them

	Environment *results.Environment // nil: a fixed one

	// Value is the true value in the metric's unit, ns or 1/s.
	Value func(Point) float64
	Noise *Noise // nil: none

	// PerTrial is how many values a trial gives of a metric that the harness
	// takes by histogram (propagation, unavailability); 0 means 50. They stand
	// in .hlog files, not in trials.csv, as in reality.
	PerTrial int

	// Invalid says why a trial is not valid; nil or empty: it is.
	Invalid func(Point) string

	// Resources are what every node of a cell holds at the end of a repeat, in
	// bytes; nil: the run has no metrics. The log grows from nothing.
	Resources func(Point) (heap, rss, log int64)

	// Edit has the last word on the manifest before it is judged.
	Edit func(*results.Manifest)
}

// maxValues bounds what one truth may ask for.
const maxValues = 50_000_000

// filled gives the truth its defaults, or says what is wrong with it.
func (t Truth) filled() (Truth, error) {
	if t.Name == "" {
		t.Name = "simulated"
	}
	if len(t.Variants) == 0 {
		t.Variants = []string{"base"}
	}
	if t.Repeats == 0 {
		t.Repeats = 1
	}
	if t.PerTrial == 0 {
		t.PerTrial = 50
	}
	if t.Started.IsZero() {
		t.Started = time.Date(2026, 1, 5, 2, 0, 0, 0, time.UTC)
	}
	if t.Environment == nil {
		t.Environment = &results.Environment{
			OS: "linux", Arch: "amd64", Kernel: "6.1.0", CPU: "Simulated CPU", Cores: 8, GoMaxProcs: 8,
			MemoryMB: 16384, FileSystem: "ext4", Versions: map[string]string{"java": "17.0.15"},
		}
	}
	switch {
	case len(t.Targets) == 0 || len(t.Partitions) == 0:
		return t, errors.New("simulate a run: a truth needs a target and a rung of partitions")
	case t.Value == nil && t.Trials > 0 && len(t.Metrics) > 0:
		return t, errors.New("simulate a run: a truth with trials needs Value")
	case t.Trials < 0 || t.Repeats < 0 || t.PerTrial < 0:
		return t, fmt.Errorf("simulate a run: %d trials, %d repeats, %d values a trial: none may be negative", t.Trials, t.Repeats, t.PerTrial)
	case float64(len(t.Targets))*float64(len(t.Variants))*float64(len(t.Partitions))*float64(len(t.Metrics))*float64(t.Trials)*float64(t.Repeats)*float64(t.PerTrial) > maxValues:
		return t, fmt.Errorf("simulate a run: more than %d values", maxValues)
	}
	metrics := make([]string, len(t.Metrics))
	for i, name := range t.Metrics {
		m, phase, err := results.FindMetric(name)
		if err != nil {
			return t, fmt.Errorf("simulate a run: %w", err)
		}
		if metrics[i] = m.Name + "." + phase; slices.Contains(metrics[:i], metrics[i]) {
			return t, fmt.Errorf("simulate a run: %s is named twice", metrics[i])
		}
	}
	t.Metrics = metrics
	return t, nil
}

// byHistogram reports whether the harness takes the metric by histogram.
func byHistogram(metric string) bool {
	name, _, _ := strings.Cut(metric, ".")
	return name == "propagation" || name == "unavailability"
}

// workloads lists the workloads that measure the truth's metrics.
func (t Truth) workloads() []string {
	var out []string
	for _, m := range t.Metrics {
		if w := results.WorkloadOf(m); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
