package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kbench/harness/spec"
	"kbench/results"
	"kbench/workloads"
)

// listings are what `kbench list` knows, in its order.
var listings = []struct {
	name  string
	write func(w io.Writer)
}{
	{"targets", func(w io.Writer) {
		rows(w, "zk", "our ZooKeeper-style controller: election by an ephemeral znode, state in ZooKeeper, changes pushed to brokers")
		rows(w, "kraft", "our KRaft quorum: state is a replicated log that brokers fetch")
		rows(w, "raft-push", "the same controllers over the textbook's Raft (go.etcd.io/raft), whose leader pushes the log to the other voters; brokers fetch it as in kraft")
		rows(w, "kafka-zk", "controllers of Apache Kafka "+spec.KafkaZKVersion+" in ZooKeeper mode over our brokers, or over its own (kafka.brokers: real); kafka-zk@VERSION for another")
		rows(w, "kafka-kraft", "a KRaft quorum of Apache Kafka "+spec.KafkaKRaftVersion+" over our brokers, or over its own (kafka.brokers: real); kafka-kraft@VERSION for another")
		rows(w, "attach", "a cluster that kbench did not start, found at --bootstrap HOST:PORT; faults by hooks that you name")
	}},
	{"specs", func(w io.Writer) {
		for _, b := range spec.Builtins() {
			rows(w, b.Name, b.Doc)
		}
	}},
	{"workloads", func(w io.Writer) {
		for _, k := range workloads.All() {
			rows(w, k.Kind, k.Doc)
			rows(w, "  clock", k.Clock)
			for _, p := range k.Params {
				rows(w, "  "+p.Name, paramDoc(p))
			}
		}
	}},
	{"clients", func(w io.Writer) {
		for _, c := range workloads.ClientSettings() {
			rows(w, c.Name, c.Value)
		}
	}},
	{"metrics", func(w io.Writer) {
		for _, m := range results.Metrics() {
			rows(w, m.Name, fmt.Sprintf("%s (workload %s, headline %s)", m.Doc, strings.Join(measurers(m.Name), ", "), m.Headline))
			for _, p := range m.Phases {
				rows(w, "  "+m.Name+"."+p.Name, p.Doc)
			}
		}
	}},
	{"settings", func(w io.Writer) {
		for _, s := range spec.Settings() {
			target := ""
			if len(s.Targets) > 0 {
				target = " [" + targetList(s.Targets) + " only]"
			}
			if s.Default == "" {
				s.Default = "none"
			}
			rows(w, s.Path, fmt.Sprintf("%s (default %s)%s", s.Doc, s.Default, target))
		}
	}},
	{"faults", func(w io.Writer) {
		for _, k := range spec.FaultKinds {
			rows(w, string(k.Fault), k.Doc+"; seen by: "+k.Probe)
			if k.Without != "" {
				rows(w, "", "not for: "+k.Without)
			}
		}
		for _, r := range spec.Roles {
			rows(w, "on: "+r.Name, r.Doc)
		}
		rows(w, "on: PROCESS", "one by its name: broker-1, controller-1001, zookeeper-1, zookeeper-embedded, or brokers-1-20 where brokers share one")
		rows(w, "at once", workloads.BesideDoc)
	}},
	{"providers", func(w io.Writer) {
		rows(w, "process", "nodes are child processes on loopback; where links are cut (how: isolate, cut), each in a network namespace of its own, which needs root on Linux")
		rows(w, "docker", "nodes are containers; needs a Docker engine; links are cut by a sidecar of each")
		rows(w, "auto", "docker where an engine answers, else process")
	}},
	{"stores", func(w io.Writer) {
		rows(w, "zookeeper", "a real ZooKeeper ensemble of 3 or 1")
		rows(w, "embedded", "the embedded server: single, not replicated")
		rows(w, "auto", "a real ZooKeeper where one is to be had, else the embedded server")
	}},
}

// paramDoc is the line on a parameter of a workload.
func paramDoc(p workloads.Param) string {
	if len(p.Choices) > 0 {
		return fmt.Sprintf("%s: %s (default %s)", p.Doc, strings.Join(p.Choices, ", "), p.Default)
	}
	var more []string
	unit := ""
	if _, rate := p.Field()(new(workloads.Params)).(*float64); rate { // as a spec writes it
		unit = "/s"
	}
	if p.Default != "" {
		more = append(more, "default "+p.Default+unit)
	}
	if p.Check == nil {
		more = append(more, p.Min+unit+" to "+p.Max+unit)
	}
	return fmt.Sprintf("%s (%s)", p.Doc, strings.Join(more, ", "))
}

func targetList(targets []spec.Target) string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

// measurers are the kinds of workload that give samples of a metric.
func measurers(metric string) []string {
	var kinds []string
	for _, k := range workloads.All() {
		if results.Measures(k.Kind, metric) {
			kinds = append(kinds, k.Kind)
		}
	}
	return kinds
}

func rows(w io.Writer, name, doc string) { _, _ = fmt.Fprintf(w, "  %s\t%s\n", name, doc) }

func listNames() []string {
	var names []string
	for _, l := range listings {
		names = append(names, l.name)
	}
	return names
}

func newList() *cobra.Command {
	return &cobra.Command{
		Use:       "list [" + strings.Join(listNames(), "|") + "]",
		Short:     "List what there is to run, measure and set",
		Example:   "  kbench list\n  kbench list settings",
		ValidArgs: listNames(),
		Args:      atMost(1, "at most one subject"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			found := false
			for _, l := range listings {
				if len(args) == 1 && args[0] != l.name {
					continue
				}
				found = true
				_, _ = fmt.Fprintln(w, l.name)
				l.write(w)
			}
			if !found {
				return badInput(fmt.Errorf("nothing to list under %q; %s", args[0], didYouMean(args[0], listNames(), "there are "+strings.Join(listNames(), ", "))))
			}
			return w.Flush()
		},
	}
}
