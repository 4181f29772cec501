package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kbench/results"
	"kbench/workloads"
)

const maxRateSpec = `name: max-rate
targets: [kraft]
provider: process
trials: 1
retries: 0
cluster: {partitions: 30, partitionsPerTopic: 10, timeouts: matched}
workloads:
  - {kind: max-rate, trials: 1, rate: 50/s, duration: 300ms, limit: 200ms, probe: {rate: 100/s}}
`

// searched is one rate that a search drove.
type searched struct {
	rate      float64
	sustained bool
}

// TestMaxRate: the search for the highest rate runs on real nodes, doubles while
// a rate is sustained, goes between the highest that was and the lowest that was
// not, and keeps the highest. Which that is depends on the machine; one that is
// so busy that its generator slips ends the search, with the reason.
func TestMaxRate(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts nodes")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "spec.yaml")
	if err := os.WriteFile(file, []byte(maxRateSpec), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "run", file, "--out", filepath.Join(dir, "out"), "--data-dir", filepath.Join(dir, "data"))
	cmd.Env = append(os.Environ(), asKbench+"=1")
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != exitInvalid {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := results.Open(filepath.Join(dir, "out", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	var steps []searched
	err = r.EachEvent(func(e results.Event) error {
		text, _ := e.Data["detail"].(string)
		var s searched
		if _, err := fmt.Sscanf(text, "%f changes/s:", &s.rate); err == nil && e.Workload == "max-rate" && e.Kind == workloads.EventNote {
			s.sustained = !strings.Contains(text, "not sustained")
			steps = append(steps, s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	low := checkSearch(t, 50, steps)
	if r.Manifest.Verdict != results.Valid {
		reason := strings.Join(r.Manifest.Reasons, "\n")
		if !strings.Contains(reason, "slipped") && !strings.Contains(reason, "are sustained") {
			t.Errorf("%s: %s", r.Manifest.Verdict, reason)
		}
		t.Logf("SKIPPED: no rate was found on this machine: %s", reason)
		return
	}
	if len(steps) < 2 || len(r.Samples) != 1 || r.Samples[0].Metric != "sustained.rate" || int(r.Samples[0].Value) != int(low) {
		t.Errorf("of %v the result is %+v", steps, r.Samples)
	}
}

// checkSearch follows the steps of a search and gives the highest rate that was
// sustained.
func checkSearch(t *testing.T, first float64, steps []searched) (low float64) {
	t.Helper()
	high := 0.0
	for i, s := range steps {
		want := first
		switch {
		case i == 0:
		case high == 0:
			want = 2 * low
		case low == 0:
			want = high / 2
		default:
			want = (low + high) / 2
		}
		if d := s.rate - want; d > 0.1 || d < -0.1 {
			t.Errorf("step %d drives %v/s, want %v/s: %v", i, s.rate, want, steps)
		}
		if s.sustained {
			low = s.rate
		} else {
			high = s.rate
		}
	}
	if high > 0 && low > high {
		t.Errorf("%v/s are sustained, and %v/s are not: %v", low, high, steps)
	}
	return low
}
