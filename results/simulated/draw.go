package simulated

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"kbench/results"
)

// startNs is the monotonic clock when a simulated run starts.
const startNs = int64(1_000_000_000_000)

// drawing is what a truth comes to.
type drawing struct {
	Truth
	manifest results.Manifest
	samples  []results.Sample
	hlogs    []results.Hlog
	ofTrial  map[int64][]int // samples by AtNs, which no two trials share
}

// draw draws every value of the run.
func (t Truth) draw() (*drawing, error) {
	t, err := t.filled()
	if err != nil {
		return nil, err
	}
	d := &drawing{Truth: t, manifest: t.manifest()}
	for i := range d.manifest.Cells {
		c := &d.manifest.Cells[i]
		for repeat := 1; repeat <= t.Repeats; repeat++ {
			for w, workload := range t.workloads() {
				if err := d.workload(c, repeat, w, workload); err != nil {
					return nil, fmt.Errorf("simulate %s: %w", c.ID, err)
				}
			}
		}
		d.judge(c)
	}
	for _, c := range d.manifest.Cells {
		for _, reason := range c.Reasons {
			d.manifest.Reasons = append(d.manifest.Reasons, c.ID+": "+reason)
		}
	}
	if t.Edit != nil {
		t.Edit(&d.manifest)
	}
	return d, nil
}

// judge makes a cell with invalid trials invalid, as the harness does.
func (d *drawing) judge(c *results.Cell) {
	trials := d.Repeats * d.Trials * len(d.workloads())
	invalid := 0
	for repeat := 1; repeat <= d.Repeats; repeat++ {
		for _, workload := range d.workloads() {
			for trial := 1; trial <= d.Trials; trial++ {
				if d.why(c, repeat, trial, workload) != "" {
					invalid++
				}
			}
		}
	}
	if invalid > 0 {
		c.Verdict = results.Invalid
		c.Reasons = append(c.Reasons, fmt.Sprintf("%d of %d trials are invalid", invalid, trials))
	}
}

// why says why a trial of a workload is invalid: Invalid is asked with the
// first of its metrics.
func (d *drawing) why(c *results.Cell, repeat, trial int, workload string) string {
	if d.Invalid == nil {
		return ""
	}
	for _, m := range d.Metrics {
		if results.WorkloadOf(m) == workload {
			return d.Invalid(Point{c.Target, c.Variant, c.Partitions, repeat, trial, m})
		}
	}
	return ""
}

// atNs is when a trial starts: repeats go through all cells in turn.
func (d *drawing) atNs(c *results.Cell, repeat, workload, trial int) int64 {
	at := c.Started.Sub(d.Started) + time.Duration((repeat-1)*len(d.manifest.Cells))*d.span() + cellSpan/2
	return startNs + int64(at) + int64(trialSpan)*int64(workload*d.Trials+trial-1)
}

// workload draws every metric of one workload of one repeat.
func (d *drawing) workload(c *results.Cell, repeat, index int, workload string) error {
	byMetric := map[string][]results.Interval{}
	var order []string
	for _, metric := range d.Metrics {
		if results.WorkloadOf(metric) != workload || d.Trials == 0 {
			continue
		}
		if !byHistogram(metric) {
			d.trials(c, repeat, index, workload, metric)
			continue
		}
		iv, err := d.histogram(c, repeat, index, workload, metric)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(metric, "."+iv.Tag)
		if byMetric[name] == nil {
			order = append(order, name)
		}
		byMetric[name] = append(byMetric[name], iv)
	}
	for _, name := range order {
		d.hlogs = append(d.hlogs, results.Hlog{Cell: c.ID, Name: results.HlogFigure(workload, name, repeat), Intervals: byMetric[name]})
	}
	return nil
}

// trials draws a metric that gives one value a trial.
func (d *drawing) trials(c *results.Cell, repeat, index int, workload, metric string) {
	m, _, _ := results.FindMetric(metric)
	factors := d.factors(d.rng(c, repeat, metric), d.Trials)
	for trial := 1; trial <= d.Trials; trial++ {
		why := d.why(c, repeat, trial, workload)
		d.samples = append(d.samples, results.Sample{
			Cell: c.ID, Workload: workload, Repeat: repeat, Trial: trial, Metric: metric,
			Value: d.value(c, repeat, trial, metric) * factors[trial-1], Unit: m.Unit,
			AtNs: d.atNs(c, repeat, index, trial), Subject: victim(workload, trial), Valid: why == "", Reason: why,
		})
	}
}

// histogram draws a metric that gives many values a trial: each trial has a
// factor of its own, as values of one trial are not independent, and its
// values spread around it by the same Sigma.
func (d *drawing) histogram(c *results.Cell, repeat, index int, workload, metric string) (results.Interval, error) {
	_, phase, _ := results.FindMetric(metric)
	rng := d.rng(c, repeat, metric)
	factors := d.factors(rng, d.Trials)
	rec := results.NewRecorder(1)
	for trial := 1; trial <= d.Trials; trial++ {
		if d.why(c, repeat, trial, workload) != "" {
			continue
		}
		center := d.value(c, repeat, trial, metric) * factors[trial-1]
		for _, f := range d.spread(rng) {
			v := center * f
			if math.IsNaN(v) || v < 0 || v >= math.MaxInt64 {
				return results.Interval{}, fmt.Errorf("%s of trial %d is %v", metric, trial, v)
			}
			rec.Shard(0).Record(time.Duration(v))
		}
	}
	from, to := d.atNs(c, repeat, index, 1), d.atNs(c, repeat, index, d.Trials+1)
	return results.Interval{Tag: phase, Start: d.wall(from), End: d.wall(to), Dist: rec.Merged()}, nil
}

func (d *drawing) wall(ns int64) time.Time { return d.Started.Add(time.Duration(ns - startNs)) }

func (d *drawing) value(c *results.Cell, repeat, trial int, metric string) float64 {
	return d.Value(Point{c.Target, c.Variant, c.Partitions, repeat, trial, metric})
}

// rng gives every series a generator of its own, so that one more cell or
// metric changes no other.
func (d *drawing) rng(c *results.Cell, repeat int, metric string) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\n%d\n%s", c.ID, repeat, metric)
	return rand.New(rand.NewPCG(d.Seed, h.Sum64()))
}

func (d *drawing) factors(rng *rand.Rand, n int) []float64 {
	if d.Noise == nil {
		return Noise{}.Series(rng, n)
	}
	return d.Noise.Series(rng, n)
}

func (d *drawing) spread(rng *rand.Rand) []float64 {
	if d.Noise == nil {
		return Noise{}.Series(rng, d.PerTrial)
	}
	return Noise{Sigma: d.Noise.Sigma}.Series(rng, d.PerTrial)
}

// victim rotates through the three brokers or controllers.
func victim(workload string, trial int) string {
	switch workload {
	case "controller-failover":
		return fmt.Sprint(101 + (trial-1)%3)
	case "create-topics", "propagation":
		return ""
	}
	return fmt.Sprint(1 + (trial-1)%3)
}
