package main

import (
	"fmt"
	"strings"

	"kbench/harness/spec"
	"kbench/kafka"
	"kbench/workloads"
)

// faultPlan tells what a workload will do to which nodes, as the seed has it: one
// line for each repeat, or one where repeats do not differ. A broker that is the
// active controller when its turn comes is spared for the next one.
func faultPlan(s *spec.Spec, c spec.Cell, w spec.Workload) []string {
	kind, err := workloads.Lookup(w.Kind)
	if err != nil {
		return nil
	}
	what := w.Kind
	if w.Params.How != "" {
		what += ", " + w.Params.How
	}
	if w.Kind == "controller-failover" {
		return []string{fmt.Sprintf("%s: the active controller, %d times", what, kind.Losses(w.Params, c.Config.Cluster.Brokers))}
	}
	ids := make([]kafka.BrokerID, c.Config.Cluster.Brokers)
	for i := range ids {
		ids[i] = kafka.BrokerID(i + 1)
	}
	var out []string
	for repeat := 1; repeat <= max(s.Repeats, 1); repeat++ {
		seed := uint64(s.Seed) + uint64(repeat)
		gone := append(kind.Hurts(seed, ids, w.Params), kind.Rolls(seed, ids, w.Params)...)
		switch {
		case len(gone) == 0:
			return nil
		case c.Target == spec.AttachTarget:
			return []string{fmt.Sprintf("%s: %d brokers, drawn from those that are found", what, w.Params.Trials)}
		}
		line := what + ": brokers " + fewIDs(gone)
		if s.Repeats > 1 {
			line = fmt.Sprintf("repeat %d, %s", repeat, line)
		}
		out = append(out, line)
	}
	return out
}

// fewIDs lists up to thirty.
func fewIDs(ids []kafka.BrokerID) string {
	const most = 30
	var words []string
	for _, id := range ids[:min(len(ids), most)] {
		words = append(words, fmt.Sprint(id))
	}
	text := strings.Join(words, ", ")
	if len(ids) > most {
		text += fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return text
}
