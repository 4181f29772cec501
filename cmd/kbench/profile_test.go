package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProfile keeps profiles of every node, in the run folder and linked from
// the report.
func TestProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := runKbench(ctx, os.Args[0], dir, "run", "--targets", "kraft", "--provider", "process", "--partitions", "10", "--workloads", "propagation",
		"--set", "workloads.propagation.duration=1s", "--retries", "3", "--profile", "--out", "out", "--data-dir", "data")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(dir, "out", "latest", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"broker-1", "broker-2", "broker-3", "controller-1001"} {
		for _, kind := range []string{"cpu", "heap"} {
			name := "nodes/kraft.base.partitions-10.1/" + node + ".propagation." + kind + ".pprof"
			if b, err := os.ReadFile(filepath.Join(dir, "out", "latest", name)); err != nil || len(b) < 100 {
				t.Errorf("%s holds %d bytes, %v", name, len(b), err)
			}
			if !strings.Contains(string(page), `<a href="`+name+`">`) {
				t.Errorf("the report has no link to %s", name)
			}
		}
	}
}
