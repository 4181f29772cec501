package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/internal/trace"
	"kbench/results"
)

const controlPlaneSpec = `name: control-plane
targets: [zk]
trials: 1
retries: 3
provider: process
cluster: {partitions: 20, partitionsPerTopic: 5, store: embedded, timeouts: matched}
workloads:
  - {kind: data-interference, rate: 10/s, duration: 1s, probe: {rate: 50/s}}
variants:
  - {name: separate, set: {zk.controlPlaneListener: true}}
`

// TestControlPlaneListener: the controller's requests come by the listener that
// the variant gives them, and by that of clients without it; reports tell both.
func TestControlPlaneListener(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts two clusters")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := runSpec(t, ctx, t.TempDir(), controlPlaneSpec)
	for _, c := range r.Manifest.Cells {
		if c.Verdict != results.Valid {
			t.Errorf("%s is %s: %v", c.ID, c.Verdict, c.Reasons)
		}
	}
	checkListener(t, r, "zk.base", "PLAINTEXT")
	checkListener(t, r, "zk.separate", "CONTROL")
	if !slices.ContainsFunc(r.Manifest.Differences, func(c results.Contrast) bool {
		return c.What == "requests of the controller reach a broker" && len(c.Values) == 2
	}) {
		t.Errorf("what differs lacks the listener: %v", r.Manifest.Differences)
	}
	checkFigures(t, r, "interference.loaded")
}

// checkListener reads in the traces of a cell's brokers by which listener they
// heard of their controller: all of them by the one.
func checkListener(t *testing.T, r *results.Run, cell, listener string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.Dir, "nodes", cell+".*", "broker*.trace.jsonl"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%s: traces %v, %v", cell, files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		events, err := trace.Read(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		heard := 0
		for _, e := range events {
			if e.Kind != trace.BrokerControllerEpoch {
				continue
			}
			if heard++; !strings.HasSuffix(e.Detail, " "+listener) {
				t.Errorf("%s: %+v, want it by %s", file, e, listener)
			}
		}
		if heard == 0 {
			t.Errorf("%s: no controller was heard of", file)
		}
	}
}
