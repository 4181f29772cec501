package plan

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kbench/results"
	"kbench/results/simulated"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -rewrite and read the diff\n%s", path, got)
	}
}

// shown is a plan with every kind of line.
func shown(t *testing.T) *Plan {
	truth := ladderTruth()
	truth.Edit = func(m *results.Manifest) {
		m.Cells[3].Verdict, m.Cells[3].Reasons = results.Invalid, []string{"the generator <slipped> by 2 s"}
	}
	return mustMake(t, Options{
		SLOs: []SLO{
			slo(t, "recovery.controller<10s"), slo(t, "zk: recovery.controller < 30s"), slo(t, "zk: p95(recovery.controller) < 10s"),
			slo(t, "kraft: recovery.controller < 1s"), slo(t, "creation > 4000/s"), slo(t, "propagation < 10ms"),
		},
		Need: 50e3,
	}, simulate(t, truth))
}

// TestForms holds text and Markdown against golden files.
func TestForms(t *testing.T) {
	p := shown(t)
	golden(t, "plan.txt", p.Text())
	golden(t, "plan.md", p.Markdown())
	if p.ExitCode() != 3 {
		t.Errorf("exit %d", p.ExitCode())
	}
}

// TestChart: every rung is a point, every side a curve and a band, every
// objective a line, and names stay text.
func TestChart(t *testing.T) {
	truth := ladderTruth()
	truth.Variants = []string{"base", `<script>alert("&")</script>`}
	p := mustMake(t, Options{SLOs: []SLO{slo(t, "recovery.controller<10s"), slo(t, "recovery.controller<20s"), slo(t, "creation.rate.min > 10/s")}}, simulate(t, truth))
	b, err := p.SVG()
	if err != nil {
		t.Fatal(err)
	}
	svg := string(b)
	for what, want := range map[string]int{
		`class="rung"`: 2 * 4 * 7, `class="spread"`: 2 * 4 * 7, `class="curve"`: 2 * 4, `class="band"`: 2 * 4, `class="slo"`: 3,
		">extrapolated<": 2, "<script": 0, "<desc>": 1,
	} {
		if got := strings.Count(svg, what); got != want {
			t.Errorf("%d of %s, want %d", got, what, want)
		}
	}
	if !strings.Contains(svg, "&lt;script&gt;") {
		t.Error("the variant's name is not shown")
	}
	if none := mustMake(t, Options{}, simulate(t, simulated.Truth{Targets: []string{"zk"}, Partitions: []int{5}, Metrics: []string{"creation.rate"}, Trials: 3, Value: costs})); none.ExitCode() != 3 {
		t.Errorf("one rung: exit %d", none.ExitCode())
	} else if b, _ := none.SVG(); !strings.Contains(string(b), "nothing to draw") {
		t.Errorf("%s", b)
	}
}

// TestDenied: a measured miss is not smoothed over by a fit that crosses the
// objective beyond it.
func TestDenied(t *testing.T) {
	truth := ladderTruth()
	truth.Noise, truth.Partitions = nil, []int{1000, 10_000, 30_000}
	truth.Value = func(p simulated.Point) float64 {
		return map[int]float64{1000: 2.07e9, 10_000: 2.56e9, 30_000: 4.93e9}[p.Partitions]
	}
	p := mustMake(t, Options{SLOs: []SLO{slo(t, "zk: recovery.controller < 4.8s"), slo(t, "zk: recovery.controller < 4.95s")}}, simulate(t, truth))
	a := p.Answers[0]
	if a.Status != Within || a.Partitions == nil || *a.Partitions != 10e3 || a.Denied < 30e3 || *a.Lo > 10e3 || !strings.Contains(a.Words, "holds 10k partitions (95 %: ") || !strings.Contains(a.Words, "30k miss it as measured, although the fit reaches it only at 3") {
		t.Errorf("%s: %s", a.Status, a.Words)
	}
	if a := p.Answers[1]; a.Status != Extrapolated || a.Denied != 0 {
		t.Errorf("a rung that holds denies nothing: %s", a.Words)
	}
}

// TestWarning: an answer whose own back-test is far off says so beside it, one
// that came near does not.
func TestWarning(t *testing.T) {
	truth := ladderTruth()
	truth.Value = func(p simulated.Point) float64 {
		if p.Target == "kraft" && p.Partitions == 100_000 {
			return 4e9
		}
		return costs(p)
	}
	p := mustMake(t, Options{SLOs: []SLO{slo(t, "recovery.controller < 30s")}}, simulate(t, truth))
	if a := only(t, p, "kraft"); !strings.Contains(a.Warning, "WARNING") || !strings.Contains(a.Warning, "OUTSIDE") {
		t.Errorf("no warning: %q: %s", a.Warning, a.Words)
	}
	if a := only(t, p, "zk"); a.Warning != "" {
		t.Errorf("a warning: %s", a.Warning)
	}
	if text := p.Text(); strings.Count(text, "WARNING") != 1 {
		t.Errorf("%d warnings in:\n%s", strings.Count(text, "WARNING"), text)
	}
}

// TestNoFit: without a fit there is no empty table.
func TestNoFit(t *testing.T) {
	truth := ladderTruth()
	truth.Partitions = truth.Partitions[:2]
	p := mustMake(t, Options{}, simulate(t, truth))
	if text := p.Text(); strings.Contains(text, "left-out rung") || !strings.Contains(text, "no fit of") {
		t.Errorf("a table without rows:\n%s", text)
	}
}
