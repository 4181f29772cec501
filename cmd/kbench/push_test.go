package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kbench/harness/netns"
	"kbench/results"
)

// pushSpec has topics made, a broker leave and a controller die. A cell that a
// busy machine made invalid is run again.
const pushSpec = `name: push
targets: [raft-push]
provider: process
trials: 1
retries: 3
cluster: {partitions: 50, timeouts: matched}
workloads:
  - {kind: create-topics, partitions: 50}
  - {kind: controlled-shutdown, probe: {rate: 50/s}}
  - {kind: controller-failover, how: kill, probe: {rate: 50/s}}
`

// reconcileSpec follows pushSpec where links can be cut.
const reconcileSpec = `  - {kind: reconcile, partitions: 50}
`

// TestPushedRun measures controllers whose leader pushes, and judges the run
// again.
func TestPushedRun(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a cluster")
	}
	text := pushSpec
	want := []string{
		"creation.rate", "controlled-shutdown.granted", "controlled-shutdown.moved", "controlled-shutdown.exit",
		"recovery.controller.detect", "recovery.controller.elect", "recovery.controller.load", "recovery.controller.push", "recovery.controller.first-admin",
	}
	switch err := netns.Check(); {
	case err == nil:
		text += reconcileSpec
		want = append(want, "reconcile.found", "reconcile.agreed", "reconcile.rest", "traffic.messages", "traffic.bytes", "traffic.round-trips")
	case os.Getenv("KBENCH_REQUIRE_NETNS") != "":
		t.Fatal(err)
	default:
		t.Log("SKIPPED: no link was cut, and no log diverged: ", err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := runSpec(t, ctx, dir, text)
	for _, c := range r.Manifest.Cells {
		if c.Target != "raft-push" || c.Verdict != results.Valid {
			t.Errorf("%s of target %s is %s: %v", c.ID, c.Target, c.Verdict, c.Reasons)
		}
	}
	checkFigures(t, r, want...)
	if !controllersSaid(t, r.Dir, "voter can be reached again") { // which voters that fetch do not say
		t.Error("no voter tells that it sends to the one that was killed: does the leader push?")
	}
	out, err := runKbench(ctx, os.Args[0], dir, "verify", "out").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ok   raft-push.base.1: quorum, looked at ") {
		t.Errorf("verify: %v\n%s", err, out)
	}
}

// controllersSaid looks for a line in the logs of a run's controllers.
func controllersSaid(t *testing.T, dir, line string) bool {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "nodes", "*", "controller-*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs of controllers in %s, %v", dir, err)
	}
	for _, file := range logs {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), line) {
			return true
		}
	}
	return false
}
