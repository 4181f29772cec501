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
	what := w.Kind
	if w.Params.How != "" {
		what += ", " + w.Params.How
	}
	switch w.Kind {
	case "controlled-shutdown", "broker-failure":
	case "controller-failover":
		return []string{fmt.Sprintf("%s: the active controller, %d times", what, w.Params.Trials)}
	default:
		return nil
	}
	if c.Target == spec.AttachTarget {
		return []string{fmt.Sprintf("%s: %d brokers, drawn from those that are found", what, w.Params.Trials)}
	}
	ids := make([]kafka.BrokerID, c.Config.Cluster.Brokers)
	for i := range ids {
		ids[i] = kafka.BrokerID(i + 1)
	}
	var out []string
	for repeat := 1; repeat <= max(s.Repeats, 1); repeat++ {
		line := what + ": brokers " + fewIDs(workloads.Victims(uint64(s.Seed)+uint64(repeat), ids, w.Params.Trials))
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
