package plan

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kbench/results"
	"kbench/results/simulated"
)

// TestGrowth: memory and data of every role, from the metrics of nodes.
func TestGrowth(t *testing.T) {
	truth := ladderTruth()
	truth.Metrics, truth.Repeats = []string{"controlled-shutdown.moved"}, 2
	truth.Resources = func(p simulated.Point) (heap, rss, log int64) {
		n := int64(p.Partitions)
		return 2e6 + 900*n, 20e6 + 1500*n, 100 * n
	}
	run, err := simulated.Write(t.TempDir(), truth)
	if err != nil {
		t.Fatal(err)
	}
	p := mustMake(t, Options{SLOs: []SLO{slo(t, "zk: controlled-shutdown < 10s")}, Need: 150e3}, run)
	found := 0
	for _, f := range p.Growth {
		if !strings.HasSuffix(f.Metric, ".rss") {
			continue
		}
		found++
		if f.Model != "linear" || math.Abs(f.PerUnit/1500-1) > 0.1 || len(f.Rungs) != 7 || f.Rungs[0].N != 2 || f.BackTest == nil || math.Abs(f.BackTest.Error) > 0.1 {
			t.Errorf("%+v", f)
		}
		i := slices.IndexFunc(f.At, func(p Prediction) bool { return p.Partitions == 150e3 })
		if i < 0 || math.Abs(f.At[i].Value/245e6-1) > 0.1 || f.At[i].Beyond != 1.5 {
			t.Errorf("at the need: %+v", f.At)
		}
	}
	if found < 2 || !strings.Contains(p.Text(), "extrapolated, 1.5 times the largest rung") {
		t.Errorf("%d fits of memory:\n%s", found, p.Text())
	}
}

// TestNoMetrics: a run without node metrics has no growth, a damaged file is
// named.
func TestNoMetrics(t *testing.T) {
	truth := ladderTruth()
	run, err := simulated.Write(t.TempDir(), truth)
	if err != nil {
		t.Fatal(err)
	}
	if p := mustMake(t, Options{}, run); len(p.Growth) != 0 || p.ExitCode() != 0 {
		t.Errorf("%+v", p.Growth)
	}
	if err := os.WriteFile(filepath.Join(run.Dir, "metrics.jsonl"), []byte("{\"cell\":\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Make([]*results.Run{run}, Options{}); err == nil || !strings.Contains(err.Error(), "metrics.jsonl") {
		t.Errorf("%v", err)
	}
}

// TestDropped: what an attempt used of which nothing counts is not counted.
func TestDropped(t *testing.T) {
	truth := ladderTruth()
	truth.Resources = func(p simulated.Point) (heap, rss, log int64) { return 1e6, 2e6, 0 }
	truth.Edit = func(m *results.Manifest) {
		for i := range m.Cells {
			m.Cells[i].Attempts = []results.Attempt{{Repeat: 1, Number: 1, Dropped: "a host that slept"}}
		}
	}
	run, err := simulated.Write(t.TempDir(), truth)
	if err != nil {
		t.Fatal(err)
	}
	if p := mustMake(t, Options{}, run); len(p.Growth) != 0 {
		t.Errorf("%+v", p.Growth)
	}
}
