package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"kbench/results"
	"kbench/results/columns"
	"kbench/results/simulated"
)

// widest is the most letters of a line, but for command lines, which stay
// whole.
func widest(text string) (n int, line string) {
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		if got := len([]rune(l)); got > n && !strings.Contains(l, "kbench run ") {
			n, line = got, l
		}
	}
	return n, line
}

// onTerminal runs a command whose stdout is a terminal of 80 columns.
func onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	ours, theirs := openPTY(t)
	shown := make(chan string)
	go func() {
		b, _ := io.ReadAll(ours) // ends with an error once the other end is closed
		shown <- string(b)
	}()
	var stderr bytes.Buffer
	code := run(args, theirs, &stderr)
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	out := <-shown
	if out == "" {
		t.Fatalf("%v printed nothing and left with %d: %s", args, code, &stderr)
	}
	return out
}

// TestTextFits: what is printed for people is as wide as their terminal, and in
// a pipe 120 columns.
func TestTextFits(t *testing.T) {
	dir := t.TempDir()
	ladder := simulate(t, dir, simulated.Truth{
		Name: "a-duel-with-a-long-name", Targets: []string{"zk", "kraft"}, Partitions: []int{1000, 2000, 5000, 10_000, 20_000}, Trials: 8, Repeats: 6,
		Metrics: []string{"controlled-shutdown.moved", "recovery.controller.first-admin", "propagation.last"}, Noise: &simulated.Noise{Sigma: 0.03},
		Commit: strings.Repeat("0123456789abcdef", 3)[:40],
		Edit: func(m *results.Manifest) {
			m.Warnings = []string{"2 trials were run again, since their generator slipped"}
		},
		Value: func(p simulated.Point) float64 { return 1e9 + 1e5*float64(p.Partitions) },
	})
	pairs := simulate(t, dir, simulated.Truth{
		Targets: []string{"zk", "kraft"}, Partitions: []int{1000, 2000}, Trials: 2, Repeats: 10, Noise: &simulated.Noise{Sigma: 0.03},
		Metrics: []string{"controlled-shutdown.moved", "recovery.controller.first-admin"},
		Value:   func(p simulated.Point) float64 { return 1e9 },
		Edit: func(m *results.Manifest) {
			m.Comparison = &results.Comparison{
				Base: results.ComparedSide{Name: "zk"}, Variant: results.ComparedSide{Name: "kraft"}, Pairs: 10, Margin: 0.05, Metric: "controlled-shutdown.moved",
				Matches: []results.MatchedCell{
					{Point: "1k", Base: "zk.base.partitions-1k", Variant: "kraft.base.partitions-1k"}, {Point: "2k", Base: "zk.base.partitions-2k", Variant: "kraft.base.partitions-2k"},
				},
			}
		},
	})
	store := filepath.Join(dir, "history")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"history", "add", ladder.Dir, "--history", store}, &stdout, &stderr); code != 0 {
		t.Fatalf("add: %d, %s", code, &stderr)
	}
	for _, args := range [][]string{
		{"report", ladder.Dir, "--format", "text"},
		{"compare", ladder.Dir},
		{"ab", pairs.Dir},
		{"plan", ladder.Dir, "--slo", "recovery.controller<10s"},
		{"history", "list", "--history", store},
		{"history", "show", ladder.Manifest.ID, "--history", store},
		{"history", "trend", "--history", store},
	} {
		name := strings.Join(args[:2], " ")
		if n, line := widest(onTerminal(t, args...)); n > 80 {
			t.Errorf("%s: %d columns on a terminal of 80:\n%s", name, n, line)
		}
		var stdout, stderr bytes.Buffer
		run(args, &stdout, &stderr)
		if n, line := widest(stdout.String()); n > columns.Pipe.Table {
			t.Errorf("%s: %d columns in a pipe:\n%s", name, n, line)
		}
	}
}
