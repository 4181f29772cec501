package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"kbench/harness"
	"kbench/harness/live"
	"kbench/harness/spec"
	"kbench/workloads"
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
	trialOverhead       = 2 * time.Second

	// Of real Kafka: what JVMs take to start, and each of them to come back.
	kafkaUp      = 20 * time.Second
	kafkaRestart = 8 * time.Second
	// Of real brokers, which make a directory for each replica and read it again.
	realUp                  = 25 * time.Second
	realPartitionsPerSecond = 150
	realRestartedPerSecond  = 400
	moveCandidates          = 10 * time.Second // each is the controller once
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
	n := time.Duration(c.Config.Cluster.Partitions)
	took := cellUp + n*time.Second/partitionsPerSecond
	detect := c.Config.KRaft.FetchTimeout
	if c.Target.InZooKeeper() {
		detect = c.Config.ZK.SessionTimeout
	}
	trial := detect + trialOverhead
	// What comes back after a trial, a broker or a controller.
	var broker, controller time.Duration
	creates := time.Duration(partitionsPerSecond)
	if c.Target.Kafka() != "" {
		took += kafkaUp
		controller = kafkaRestart
		if c.Target.InZooKeeper() {
			took += moveCandidates
		}
	}
	if c.RealBrokers() {
		creates = realPartitionsPerSecond
		took += realUp - kafkaUp + n*time.Second/realPartitionsPerSecond
		broker = kafkaRestart + n*time.Second/realRestartedPerSecond
		if c.Target.InZooKeeper() { // the same ones
			controller = broker
		}
	}
	if c.Target.Kafka() != "" || c.Target.InZooKeeper() && c.Config.Cluster.Store != spec.StoreEmbedded {
		took += time.Duration(harness.WarmShutdowns(c)) * (trial + broker)
	}
	for _, w := range c.Workloads {
		back := broker
		if w.Kind == "controller-failover" {
			back = controller
		}
		created := time.Duration(w.Params.Trials*w.Params.Partitions) * time.Second / creates
		took += lasts(w, c.Config.Cluster.Brokers, trial+back) + created
	}
	return took
}

// lasts guesses how long a workload takes that waits so long for each of its
// losses; a kind that nobody knows takes nothing.
func lasts(w spec.Workload, brokers int, loss time.Duration) time.Duration {
	kind, err := workloads.Lookup(w.Kind)
	if err != nil {
		return 0
	}
	return kind.Lasts(w.Params) + time.Duration(kind.Losses(w.Params, brokers))*loss
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
