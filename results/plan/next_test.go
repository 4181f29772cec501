package plan

import (
	"strings"
	"testing"

	"kbench/results"
)

// TestNext: the rung that is proposed lies near the crossing, is not one that
// was measured, and its command is that of the run.
func TestNext(t *testing.T) {
	truth := ladderTruth()
	truth.Edit = func(m *results.Manifest) {
		m.CommandLine = []string{"/opt/bin/kbench", "run", "my spec.yaml", "--partitions=1k,2k", "--targets", "zk,kraft", "--trials", "5", "--set", "a=it's"}
	}
	p := mustMake(t, Options{SLOs: []SLO{slo(t, "zk: recovery.controller < 10s"), slo(t, "kraft: recovery.controller < 10s"), slo(t, "zk: recovery.controller < 25s")}}, simulate(t, truth))
	a := p.Answers[0]
	if a.Next == nil || a.Next.Partitions < 55e3 || a.Next.Partitions > 200e3 || a.Next.Narrows < 0.05 {
		t.Errorf("%+v", a.Next)
	}
	for _, want := range []string{"kbench run 'my spec.yaml' --trials 5 --set 'a=it'\\''s' --targets zk --partitions "} {
		if !strings.HasPrefix(a.Next.Command, want) {
			t.Errorf("%s, want %s", a.Next.Command, want)
		}
	}
	if n := p.Answers[1].Next; n == nil || n.Partitions <= 100e3 || n.Partitions > 200e3 || !strings.Contains(n.Command, "--targets kraft") {
		t.Errorf("of a side without a crossing: %+v", n)
	}
	if n := p.Answers[2].Next; n == nil || n.Partitions <= 100e3 {
		t.Errorf("of a crossing beyond the ladder: %+v", n)
	}
}

func TestPartitions(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "50000": 50e3, "50k": 50e3, "1.5M": 1.5e6, "1000M": 1e9} {
		if got, err := ParsePartitions(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "k", "0", "-5", "1e5", "0x10", "1.5", "NaN", "Inf", "2000M", "5 k", "1_000"} {
		if got, err := ParsePartitions(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	for n, want := range map[float64]string{60e3: "60k", 61500: "61500", 1.5e6: "1500k", 2e6: "2M", 640: "640"} {
		if got := specCount(n); got != want {
			t.Errorf("%v: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[float64][2]float64{61234: {61e3, 62e3}, 61000: {61e3, 61e3}, 9876: {9800, 9900}, 55.5: {55, 56}, 0: {0, 0}} {
		if got := [2]float64{round(n, false), round(n, true)}; got != want {
			t.Errorf("%v is rounded to %v, want %v", n, got, want)
		}
	}
}
