package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"kbench/results"
	"kbench/results/simulated"
)

// brokers simulates one run for each number of brokers: recovery takes longer
// with more of them, controlled shutdown is shared by them.
func brokers(t *testing.T, counts ...int) []*results.Run {
	t.Helper()
	var out []*results.Run
	for i, b := range counts {
		truth := ladderTruth()
		truth.Targets, truth.Name, truth.Seed = []string{"zk"}, fmt.Sprintf("brokers-%d", b), uint64(i)
		truth.Metrics = []string{"recovery.controller.first-admin", "controlled-shutdown.moved"}
		truth.Value = func(p simulated.Point) float64 {
			if p.Metric == "controlled-shutdown.moved" {
				return 50e6 + 300e3*float64(p.Partitions)/float64(b)
			}
			return 2.05e9 + 30e3*float64(p.Partitions)*float64(b)
		}
		truth.Edit = func(m *results.Manifest) {
			for i := range m.Cells {
				m.Cells[i].Config["cluster.brokers"] = strconv.Itoa(b)
			}
		}
		out = append(out, simulate(t, truth))
	}
	return out
}

// TestWhatIf answers from what was measured on the axis: at the value, or
// between three others; else it refuses and says how to measure it.
func TestWhatIf(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: many simulated runs, which share nothing")
	}
	runs := brokers(t, 3, 4, 8, 12)
	for _, c := range []struct {
		slo, whatIf string
		runs        []*results.Run
		truth       float64
		words       string
	}{
		{"recovery.controller < 10s", "brokers=8", runs, 7.95e9 / 240e3, "with brokers=8, with SLO recovery.controller < 10s (median) zk brokers=8 holds "},
		{"recovery.controller < 10s", "brokers=6", runs, 7.95e9 / 180e3, "with brokers=6, with SLO recovery.controller < 10s (median) zk holds "},
		{"controlled-shutdown < 2s", "cluster.brokers=6", runs, 1.95e9 / 50e3, "zk holds "},
		{"recovery.controller < 10s", "brokers=20", runs, 0, "brokers=20 was not measured (there is 3, 4, 8, 12), and only what was measured on at least 3 values around it is answered; `kbench run simulated.yaml --partitions 1k,2k,5k,10k,20k,50k,100k --targets zk --set cluster.brokers=20` measures it"},
		{"recovery.controller < 10s", "brokers=6", runs[1:3], 0, "brokers=6 was not measured (there is 4, 8)"},
		{"recovery.controller < 10s", "brokers=6", runs[:1], 0, "brokers=6 was not measured (there is 3)"},
		{"recovery.controller < 10s", "variant=linger-5ms", runs, 0, `no run measured the variant "linger-5ms"; there are base: add it under variants of the spec`},
		{"recovery.controller < 10s", "timeouts=default", runs, 0, "timeouts=default was not measured (there is matched)"},
		{"recovery.controller < 10s", "brokers=banana", runs, 0, "brokers=banana was not measured"},
	} {
		w, err := ParseWhatIf(c.whatIf)
		if err != nil {
			t.Fatal(err)
		}
		p := mustMake(t, Options{SLOs: []SLO{slo(t, c.slo)}, WhatIf: []WhatIf{w}}, c.runs...)
		text := p.Text()
		if !strings.Contains(text, c.words) {
			t.Errorf("%s: no %q in:\n%.2000s", c.whatIf, c.words, text)
		}
		if c.truth == 0 {
			if p.ExitCode() != 3 {
				t.Errorf("%s: exit %d", c.whatIf, p.ExitCode())
			}
			continue
		}
		a := p.Answers[0]
		if len(p.Answers) != 1 || a.Partitions == nil || math.Abs(*a.Partitions/c.truth-1) > 0.15 || *a.Lo > c.truth || a.Hi != nil && *a.Hi < c.truth {
			t.Errorf("%s: true is %.0f: %s", c.whatIf, c.truth, a.Words)
		}
	}
}

// TestWhatIfVariant answers from the variant's own cells.
func TestWhatIfVariant(t *testing.T) {
	truth := ladderTruth()
	truth.Variants = []string{"base", "linger-5ms"}
	truth.Value = func(p simulated.Point) float64 {
		if p.Variant == "base" {
			return 1e9 + 300e3*float64(p.Partitions)
		}
		return 1e9 + 150e3*float64(p.Partitions)
	}
	w, _ := ParseWhatIf("variant=linger-5ms")
	p := mustMake(t, Options{SLOs: []SLO{slo(t, "zk: recovery.controller < 10s")}, WhatIf: []WhatIf{w}}, simulate(t, truth))
	if a := only(t, p, "zk linger-5ms"); len(p.Answers) != 1 || math.Abs(*a.Partitions/60e3-1) > 0.1 {
		t.Errorf("%s", p.Text())
	}
}

func TestBadWhatIf(t *testing.T) {
	for text, want := range map[string]string{
		"brokers": "no axis=value", "=6": "no axis=value", "brokers=": "no axis=value", "partitions=5k": "partitions are what is asked for",
	} {
		if _, err := ParseWhatIf(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := Make([]*results.Run{simulate(t, ladderTruth())}, Options{SLOs: []SLO{slo(t, "zk: recovery.controller < 10s")}, WhatIf: []WhatIf{{"cluster.brokrs", "6"}}})
	var q *QuestionError
	if !errors.As(err, &q) || !strings.Contains(err.Error(), `no run has a setting "cluster.brokrs"; there are variant, `) {
		t.Errorf("%v", err)
	}
}
