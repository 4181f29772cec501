package main

import (
	"errors"
	"fmt"

	"kbench/harness/kafka"
	"kbench/harness/spec"
)

// manyReplicas is from how many a real broker is worth a warning: making their
// directories takes it minutes on a few cores.
const manyReplicas = 5000

// checkReplicas judges whether real brokers can hold what the cells give them.
// The warnings are for cells that they can hold, at a price.
func checkReplicas(s *spec.Spec, p place, limits kafka.Limits) (warnings []string, err error) {
	if p.provider != "process" {
		limits.Files = 0 // the engine has a limit of its own
	}
	var errs []error
	for _, c := range s.Cells() {
		if !c.RealBrokers() {
			continue
		}
		b := kafka.BurdenOf(replicasOf(c))
		if err := b.Within(limits); err != nil {
			errs = append(errs, fmt.Errorf("cell %s: %w", c.ID, err))
			continue
		}
		if b.Replicas >= manyReplicas {
			warnings = append(warnings, fmt.Sprintf("cell %s: each broker of Kafka holds %d replicas: %d open files of %d, %d memory maps of %d, and a directory for each, which takes minutes to make",
				c.ID, b.Replicas, b.Files, limits.Files, b.Maps, limits.Maps))
		}
	}
	return warnings, errors.Join(errs...)
}

// replicasOf is what a broker of the cell holds at most at the end, with what
// the workloads create beside the cell's partitions.
func replicasOf(c spec.Cell) int {
	cl := c.Config.Cluster
	replicas := cl.Partitions * cl.Replication
	for _, w := range c.Workloads {
		made := w.Params.Partitions * max(w.Params.Trials, 1)
		made += int(w.Params.Rate * w.Params.Duration.Seconds())
		replicas += made * max(w.Params.Replication, cl.Replication)
	}
	return (replicas + cl.Brokers - 1) / cl.Brokers
}
