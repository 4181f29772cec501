package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kbench/harness/child"
	"kbench/internal/trace"
	"kbench/results"
)

// deathSpec has a workload that is measured before the node dies, and one that
// would go on for long.
const deathSpec = `name: death
targets: [TARGET]
provider: process
retries: 0
cluster: {brokers: 3, brokersPerNode: 1, controllers: 3, timeouts: matched, store: embedded, partitions: 20, partitionsPerTopic: 10}
workloads:
  - {kind: create-topics, partitions: 20, partitionsPerTopic: 10}
  - {kind: propagation, rate: 20/s, duration: 10m, probe: {rate: 20/s}}
`

// endsWithin is what a run may take to end when a node has died: that is seen at
// once, and what is left is judged for half a minute at most.
const endsWithin = time.Minute

// TestANodeThatDiesByItself kills a node behind kbench's back while a workload
// drives: the run ends soon, is invalid, names the node and its log, and keeps
// what was measured.
func TestANodeThatDiesByItself(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts clusters")
	}
	for name, c := range map[string]struct {
		target string
		who    func(t *testing.T, data string) string
	}{
		"broker":            {"kraft", func(*testing.T, string) string { return "broker-2" }},
		"active controller": {"kraft", elected},
		"store":             {"zk", func(*testing.T, string) string { return "zookeeper-embedded" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "spec.yaml"), []byte(strings.ReplaceAll(deathSpec, "TARGET", c.target)), 0o644); err != nil {
				t.Fatal(err)
			}
			node := dieUnasked(t, dir, c.who)
			checkDeath(t, dir, node)
		})
	}
}

// dieUnasked runs the spec, kills one of its nodes and waits until kbench has
// ended. It gives the node's name.
func dieUnasked(t *testing.T, dir string, who func(*testing.T, string) string) (node string) {
	t.Helper()
	cmd := runKbench(t.Context(), os.Args[0], dir, "run", "spec.yaml", "--out", "out", "--data-dir", "data")
	stderr := &watched{want: "partitions: propagation", found: make(chan struct{})}
	cmd.Stderr, cmd.WaitDelay = stderr, 10*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-exited })
	select {
	case <-stderr.found:
	case <-exited:
		t.Fatalf("kbench ended before a node died:\n%s", stderr)
	case <-time.After(3 * time.Minute):
		t.Fatalf("nothing drives:\n%s", stderr)
	}
	data := filepath.Join(dir, "data")
	node = who(t, data)
	if err := syscall.Kill(pidOf(t, data, node), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-exited:
	case <-time.After(endsWithin):
		t.Fatalf("it goes on without %s:\n%s", node, stderr)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInvalid {
		t.Errorf("exit %d, want %d:\n%s", code, exitInvalid, stderr)
	}
	checkNothingLeft(t, dir, cmd.Process.Pid)
	return node
}

// pidOf reads the pid that the provider keeps of a node.
func pidOf(t *testing.T, data, node string) int {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(data, "*", node, "pid"))
	if len(files) != 1 {
		all, _ := filepath.Glob(filepath.Join(data, "*", "*"))
		t.Fatalf("not one %s in %v", node, all)
	}
	pid, _, err := child.Recorded(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// elected is the controller whose trace tells of the last election.
func elected(t *testing.T, data string) (node string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(data, "*", "controller-*", "trace.jsonl"))
	last := int64(-1)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var e trace.Event
			if json.Unmarshal(line, &e) == nil && e.Kind == trace.ControllerElected && e.Epoch > last {
				last, node = e.Epoch, filepath.Base(filepath.Dir(file))
			}
		}
	}
	if node == "" {
		t.Fatalf("no election in %v", files)
	}
	return node
}

func checkDeath(t *testing.T, dir, node string) {
	t.Helper()
	r, err := results.Open(filepath.Join(dir, "out", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(r.Manifest.Reasons, "\n")
	for _, want := range []string{node + " has exited, and no fault of this run had ended it", "nodes/*/" + node + ".log"} {
		if !strings.Contains(said, want) {
			t.Errorf("the reasons lack %q: %s", want, said)
		}
	}
	if r.Manifest.Verdict != results.Invalid || r.Manifest.Interrupted {
		t.Errorf("%s, interrupted %v", r.Manifest.Verdict, r.Manifest.Interrupted)
	}
	if !slices.ContainsFunc(r.Samples, func(s results.Sample) bool { return s.Metric == "creation.rate" && s.Valid }) {
		t.Errorf("what was measured before is not kept: %+v", r.Samples)
	}
	if logs, _ := filepath.Glob(filepath.Join(dir, "out", "latest", "nodes", "*", node+".log")); len(logs) != 1 {
		t.Errorf("the log of %s: %v", node, logs)
	}
}
