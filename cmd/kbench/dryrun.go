package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"kbench/harness/live"
	"kbench/harness/spec"
)

// dryRun prints the spec that would run, its cells and the faults that the seed
// has chosen for each. The same spec prints the same bytes.
func dryRun(w io.Writer, s *spec.Spec, where place) error {
	var b strings.Builder
	b.Write(s.YAML())
	cells := s.Cells()
	fmt.Fprintf(&b, "# spec hash %s, provider %s", s.Hash(), where.provider)
	if where.why != "" {
		fmt.Fprintf(&b, " (%s)", where.why)
	}
	fmt.Fprintf(&b, "\n# %d cells", len(cells))
	if s.Repeats > 1 {
		fmt.Fprintf(&b, ", each %d times", s.Repeats)
	}
	fmt.Fprintf(&b, ", about %.0f min:\n", estimate(s, cells).Minutes())
	for _, c := range cells {
		fmt.Fprintf(&b, "#   %s: %d partitions, hash %s, about %s\n", c.ID, c.Config.Cluster.Partitions, c.Hash, estimateCell(c).Round(5*time.Second))
		for _, wl := range c.Workloads {
			for _, line := range faultPlan(s, c, wl) {
				fmt.Fprintf(&b, "#     %s\n", line)
			}
		}
	}
	for _, warning := range where.warnings {
		fmt.Fprintf(&b, "# warning: %s\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Rough costs of the parts of a cell, from runs on two cores. The estimate is
// for a person who decides whether to wait.
const (
	cellUp              = 6 * time.Second
	partitionsPerSecond = 5000
	trialOverhead       = 3 * time.Second
	// What JVMs take to start, and the brokers that leave and come back to warm
	// them.
	kafkaUp      = 15 * time.Second
	kafkaWarmUps = 2
)

// estimate guesses how long a run takes, at least a minute.
func estimate(s *spec.Spec, cells []spec.Cell) time.Duration {
	var total time.Duration
	for _, c := range cells {
		total += estimateCell(c)
	}
	return max(total*time.Duration(max(s.Repeats, 1)), time.Minute)
}

// estimateCell guesses how long one run of a cell takes.
func estimateCell(c spec.Cell) time.Duration {
	took := cellUp + time.Duration(c.Config.Cluster.Partitions)*time.Second/partitionsPerSecond
	detect := c.Config.KRaft.FetchTimeout
	if c.Target.InZooKeeper() {
		detect = c.Config.ZK.SessionTimeout
	}
	if c.Target.Kafka() != "" {
		took += kafkaUp + kafkaWarmUps*(detect+trialOverhead)
	}
	for _, w := range c.Workloads {
		took += estimateWorkload(w, detect, c.Config.Cluster.Brokers)
	}
	return took
}

// searchSteps is how many rates a search usually tries.
const searchSteps = 10

// estimateWorkload guesses how long a workload takes where a loss is detected
// within a time.
func estimateWorkload(w spec.Workload, detect time.Duration, brokers int) time.Duration {
	p := w.Params
	trial := p.Duration + p.Away
	switch w.Kind {
	case "max-rate":
		trial *= searchSteps
	case "rolling-restart":
		trial = time.Duration(brokers) * trialOverhead
	}
	if p.Trials == 0 {
		return trial
	}
	return time.Duration(p.Trials*max(p.Kills, 1)) * (trial + detect + trialOverhead)
}

// planOf is what the spec lets those who watch its run expect.
func planOf(s *spec.Spec) live.Plan {
	plan := live.Plan{Name: s.Name}
	byID := map[string]time.Duration{}
	for _, c := range s.Cells() {
		byID[c.ID] = estimateCell(c)
		plan.Total += byID[c.ID] * time.Duration(max(s.Repeats, 1))
	}
	plan.Cell = func(id string) time.Duration { return byID[id] }
	return plan
}
