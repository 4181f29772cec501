package simulated

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"kbench/results"
)

// Spans of the made-up clock of a run.
const (
	trialSpan = 10 * time.Second
	cellSpan  = 30 * time.Second // what a cell takes beside its trials
)

// settings are those of every cell; variants change broker.replicaLagMax.
var settings = map[string]string{
	"cluster.brokers": "3", "cluster.controllers": "3", "cluster.replication": "3", "cluster.partitionsPerTopic": "100",
	"cluster.timeouts": "matched", "cluster.store": "embedded", "zk.sessionTimeout": "2s", "zk.maxInFlight": "10",
	"kraft.append.linger": "25ms", "kraft.fetchTimeout": "2s", "broker.replicaLagMax": "30s",
}

// lagOf is the setting by which a variant differs.
func lagOf(variant int) string { return (30*time.Second + time.Duration(variant)*time.Second).String() }

// rung writes 10k for 10,000, as specs do.
func rung(n int) string {
	if n != 0 && n%1000 == 0 {
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

// span is how long one repeat of a cell takes.
func (t Truth) span() time.Duration {
	return cellSpan + time.Duration(len(t.workloads())*t.Trials)*trialSpan
}

// manifest describes the run before its verdict.
func (t Truth) manifest() results.Manifest {
	yaml := t.yaml()
	m := results.Manifest{
		Name: t.Name, Started: t.Started, CommandLine: []string{"kbench", "run", "simulated.yaml"},
		Tool:     results.Tool{Version: "0.2.0", Commit: t.Commit, Go: "go1.26"},
		SpecHash: digest(yaml), SpecYAML: yaml, Seed: int64(t.Seed), Provider: "process",
		Environment: *t.Environment, Observed: results.Observed{Load1: 0.2, FsyncP50: time.Millisecond, FreeMB: 100_000},
		Bounds: t.Bounds,
	}
	at := t.Started
	for _, n := range t.Partitions {
		for v, variant := range t.Variants {
			for _, target := range t.Targets {
				m.Cells = append(m.Cells, t.cell(target, v, variant, n, at))
				at = at.Add(t.span())
			}
		}
	}
	m.Ended = t.Started.Add(time.Duration(len(m.Cells)*t.Repeats) * t.span())
	for i := range m.Cells {
		m.Cells[i].Ended = m.Cells[i].Started.Add(time.Duration((t.Repeats-1)*len(m.Cells)+1) * t.span())
	}
	if len(t.Targets) > 1 {
		row := results.Contrast{What: "metadata store", Values: map[string]string{}}
		for _, target := range t.Targets {
			row.Values[target] = storeOf(target)
		}
		m.Differences = []results.Contrast{row}
	}
	return m
}

func (t Truth) cell(target string, v int, variant string, partitions int, at time.Time) results.Cell {
	config := maps.Clone(settings)
	config["cluster.partitions"] = rung(partitions)
	config["broker.replicaLagMax"] = lagOf(v)
	hash, _ := json.Marshal([]any{target, variant, config, t.workloadLines()})
	return results.Cell{
		ID:     fmt.Sprintf("%s.%s.partitions-%s", target, variant, rung(partitions)),
		Target: target, Variant: variant, Partitions: partitions,
		Point:  []results.Coordinate{{Axis: "cluster.partitions", Value: rung(partitions)}},
		Config: config, Hash: digest(string(hash)), Store: storeOf(target), Started: at, Verdict: results.Valid,
		Checks: []results.Check{{Name: "acknowledged changes are in the final metadata", OK: true, Looked: int64(partitions)}},
	}
}

func storeOf(target string) string {
	if strings.Contains(target, "zk") {
		return "embedded, not replicated"
	}
	return "metadata log, fsynced"
}

// yaml writes the spec that would ask for the run.
func (t Truth) yaml() string {
	var b strings.Builder
	rungs := make([]string, len(t.Partitions))
	for i, n := range t.Partitions {
		rungs[i] = rung(n)
	}
	fmt.Fprintf(&b, "name: %s\ntargets: [%s]\nprovider: process\ntrials: %d\nrepeats: %d\nseed: %d\n",
		quote(t.Name), quotes(t.Targets), t.Trials, t.Repeats, t.Seed)
	fmt.Fprintf(&b, "cluster:\n  brokers: 3\n  controllers: 3\n  replication: 3\n  timeouts: matched\n")
	fmt.Fprintf(&b, "sweep:\n  cluster.partitions: [%s]\nworkloads:\n", strings.Join(rungs, ", "))
	for _, line := range t.workloadLines() {
		fmt.Fprintf(&b, "  - %s\n", line)
	}
	if len(t.Variants) > 1 {
		b.WriteString("variants:\n")
	}
	for v, name := range t.Variants {
		if v > 0 {
			fmt.Fprintf(&b, "  - name: %s\n    set:\n      broker.replicaLagMax: %s\n", quote(name), lagOf(v))
		}
	}
	if len(t.Bounds) > 0 {
		b.WriteString("thresholds:\n")
	}
	for _, bound := range t.Bounds {
		fmt.Fprintf(&b, "  - %s\n", quote(bound))
	}
	return b.String()
}

func (t Truth) workloadLines() []string {
	var out []string
	for _, w := range t.workloads() {
		out = append(out, fmt.Sprintf("{kind: %s, trials: %d}", w, t.Trials))
	}
	return out
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func quotes(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quote(s)
	}
	return strings.Join(out, ", ")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
