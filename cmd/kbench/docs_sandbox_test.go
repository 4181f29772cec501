package main

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kbench/results"
	"kbench/results/history"
	"kbench/results/simulated"
)

// sandboxes are the run folders that a page's commands find, by the name that
// the page gives: simulated ones with known truths, and the README's own run.
var sandboxes = map[string]func(t *testing.T, dir string){
	"measured": measuredRun,
	"ladder":   ladderRun,
	"tuning":   tuningRuns,
	"nights":   nightlyRuns,
	"nodes":    endNodes,
}

// endNodes ends what a page started and left behind, where its commands failed
// halfway: it notes the processes in files.
func endNodes(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() {
		files, _ := filepath.Glob(filepath.Join(dir, "*.pid"))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if pid, bad := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && bad == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // gone already where all went well
			}
		}
	})
}

func simulate(t *testing.T, out string, truth simulated.Truth) *results.Run {
	t.Helper()
	r, err := simulated.Write(out, truth)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// measuredRun is the run that the README shows.
func measuredRun(t *testing.T, dir string) {
	t.Helper()
	out := filepath.Join(dir, "kbench-results")
	if err := os.CopyFS(out, os.DirFS(readmeRun)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(readmeRun)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			_ = os.Remove(filepath.Join(out, results.LatestLink))
			if err := os.Symlink(e.Name(), filepath.Join(out, results.LatestLink)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// ladderRun is a ladder of seven rungs: zk recovers in 2.05 s and 130 µs for
// each partition, kraft in 2.06 s.
func ladderRun(t *testing.T, dir string) {
	t.Helper()
	simulate(t, filepath.Join(dir, "kbench-results"), simulated.Truth{
		Name: "ladder", Targets: []string{"zk", "kraft"}, Metrics: []string{"recovery.controller.first-admin"}, Trials: 5, Seed: 7,
		Partitions: []int{1000, 2000, 5000, 10000, 20000, 50000, 100000},
		Noise:      &simulated.Noise{Sigma: 0.03},
		Value: func(p simulated.Point) float64 {
			if p.Target == "kraft" {
				return 2.06e9
			}
			return 2.05e9 + 130e3*float64(p.Partitions)
		},
		Resources: func(p simulated.Point) (heap, rss, log int64) {
			n := int64(p.Partitions)
			return 1e6 + 900*n, 2e7 + 1500*n, 100 * n
		},
	})
}

// tuningRuns are two runs, the second of which propagates changes in 60 % of
// the time, and an interleaved comparison of the same in ten pairs.
func tuningRuns(t *testing.T, dir string) {
	t.Helper()
	value := func(factor float64) func(simulated.Point) float64 {
		return func(p simulated.Point) float64 {
			v := 80e6
			if p.Metric == "controlled-shutdown.moved" {
				v = 480e6
			}
			if p.Variant == "linger-5ms" && p.Metric == "propagation.last" {
				v *= 0.6
			}
			return v * factor
		}
	}
	truth := simulated.Truth{
		Targets: []string{"kraft"}, Partitions: []int{10000}, Metrics: []string{"propagation.last", "controlled-shutdown.moved"},
		Trials: 10, Noise: &simulated.Noise{Sigma: 0.03},
	}
	for i, name := range []string{"before", "after"} {
		truth.Name, truth.Seed, truth.Value = name, uint64(i+1), value(1-0.15*float64(i))
		truth.Started = time.Date(2026, 1, 5+i, 2, 0, 0, 0, time.UTC)
		r := simulate(t, filepath.Join(dir, "runs"), truth)
		if err := os.Rename(r.Dir, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	truth.Name, truth.Seed, truth.Value, truth.Repeats = "ab", 3, value(1), 11
	truth.Trials, truth.Variants = 3, []string{"base", "linger-5ms"}
	truth.Edit = func(m *results.Manifest) {
		base, variant := m.Cells[0], m.Cells[1]
		m.Comparison = &results.Comparison{
			Pairs: 10, Warmup: 1, Metric: "propagation.last", Margin: 0.05,
			Base: results.ComparedSide{Name: "base"}, Variant: results.ComparedSide{Name: "linger-5ms"},
			Matches: []results.MatchedCell{{Point: "partitions 10k", Base: base.ID, Variant: variant.ID}},
		}
		for i := range m.Cells {
			m.Cells[i].Config = maps.Clone(m.Cells[i].Config)
			m.Cells[i].Config["kraft.append.linger"] = strconv.Itoa(25-20*i) + "ms"
		}
	}
	r := simulate(t, filepath.Join(dir, "runs"), truth)
	if err := os.Rename(r.Dir, filepath.Join(dir, "pairs")); err != nil {
		t.Fatal(err)
	}
}

// nightlyRuns are a history of six quiet nights, the seventh, and an eighth
// that is slower by a fifth.
func nightlyRuns(t *testing.T, dir string) {
	t.Helper()
	for night := range 8 {
		out, factor := filepath.Join(dir, "kbench-results"), 1.0
		if night == 7 {
			out, factor = filepath.Join(dir, "slow"), 1.2
		}
		r := simulate(t, out, nightTruth(night, factor))
		if night >= 6 {
			continue
		}
		n, err := history.FromRun(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := history.Add(filepath.Join(dir, "kbench-history", history.FileName), n); err != nil {
			t.Fatal(err)
		}
	}
}
