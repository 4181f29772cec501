package plan

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"kbench/results"
	"kbench/results/simulated"
)

var decade = []int{1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000}

// costs are the truths of the two targets: zk grows, kraft does not.
func costs(p simulated.Point) float64 {
	n := float64(p.Partitions)
	switch {
	case p.Metric == "creation.rate" && p.Target == "zk":
		return 1e9 / (100e3 + 3*n)
	case p.Metric == "creation.rate":
		return 9000
	case p.Target == "zk":
		return 2.05e9 + 130e3*n
	}
	return 2.06e9
}

func ladderTruth() simulated.Truth {
	return simulated.Truth{
		Name: "ladder", Targets: []string{"zk", "kraft"}, Partitions: decade,
		Metrics: []string{"recovery.controller.first-admin", "controlled-shutdown.moved", "creation.rate"},
		Trials:  5, Seed: 3, Value: costs, Noise: &simulated.Noise{Sigma: 0.05},
	}
}

func simulate(t *testing.T, truth simulated.Truth) *results.Run {
	t.Helper()
	r, err := simulated.New(truth)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func slo(t *testing.T, text string) SLO {
	t.Helper()
	s, err := ParseSLO(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustMake(t *testing.T, o Options, runs ...*results.Run) *Plan {
	t.Helper()
	p, err := Make(runs, o)
	if err != nil {
		t.Fatal(err)
	}
	whole(t, p)
	return p
}

// whole requires that every form can be made and is well formed.
func whole(t *testing.T, p *Plan) {
	t.Helper()
	b, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(b, &back); err != nil || back["format"] != "kbench-plan" || back["schemaVersion"] != 1.0 {
		t.Errorf("JSON: %v: %.200s", err, b)
	}
	svg, err := p.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("SVG: %v", err)
		}
	}
	for _, text := range []string{p.Text(), p.Markdown(), string(svg)} {
		for _, bad := range []string{"NaN", "Inf", "%!"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s in:\n%s", bad, text)
			}
		}
	}
}

func only(t *testing.T, p *Plan, side string) Answer {
	t.Helper()
	i := slices.IndexFunc(p.Answers, func(a Answer) bool { return a.Side == side })
	if i < 0 {
		t.Fatalf("no answer of %s: %+v, refused %q", side, p.Answers, p.Refused)
	}
	return p.Answers[i]
}

// TestCapacity holds answers of every kind against the truth.
func TestCapacity(t *testing.T) {
	run := simulate(t, ladderTruth())
	for _, c := range []struct {
		slo, side string
		status    Status
		truth     float64 // partitions, 0 for none
		words     string
	}{
		{"recovery.controller<10s", "zk", Within, 61.1e3, "zk holds "},
		{"recovery.controller<10s", "kraft", Beyond, 0, "kraft holds more than 100k partitions, the largest measured rung: the SLO is not reached within the measured ladder"},
		{"zk: recovery.controller < 30s", "zk", Extrapolated, 215e3, "an EXTRAPOLATION, 2."},
		{"zk: recovery.controller < 90s", "zk", Beyond, 0, "--extrapolate answers farther"},
		{"recovery.controller.median < 1s", "zk", Unmet, 0, "zk misses it at the smallest measured rung already (1k partitions: 2."},
		{"creation > 4000/s", "zk", Within, 50e3, "zk holds "},
		{"creation.rate.median > 4000/s", "kraft", Beyond, 0, "kraft holds more than 100k"},
		{"max(recovery.controller.first-admin) < 10s", "zk", Within, 61.1e3 * 0.93, "zk holds "},
	} {
		a := only(t, mustMake(t, Options{SLOs: []SLO{slo(t, c.slo)}}, run), c.side)
		if a.Status != c.status || !strings.Contains(a.Words, c.words) {
			t.Errorf("%s on %s: %s: %s", c.slo, c.side, a.Status, a.Words)
		}
		if (a.Partitions != nil) != (c.truth > 0) {
			t.Errorf("%s on %s: %+v", c.slo, c.side, a)
		} else if c.truth > 0 && (*a.Lo > c.truth || a.Hi != nil && *a.Hi < c.truth || math.Abs(*a.Partitions/c.truth-1) > 0.15) {
			t.Errorf("%s on %s: %v (%v to %v), true is %v", c.slo, c.side, *a.Partitions, *a.Lo, a.Hi, c.truth)
		}
	}
}

// TestExtrapolate answers farther only where it is asked to.
func TestExtrapolate(t *testing.T) {
	run := simulate(t, ladderTruth())
	o := Options{SLOs: []SLO{slo(t, "zk: recovery.controller < 90s")}}
	if a := only(t, mustMake(t, o, run), "zk"); a.Partitions != nil || a.AtLeast != 100e3 {
		t.Errorf("%+v", a)
	}
	o.Extrapolate = true
	if a := only(t, mustMake(t, o, run), "zk"); a.Status != Extrapolated || a.Beyond < 5.5 || a.Beyond > 8 || !strings.Contains(a.Words, "times beyond the largest measured rung (100k)") {
		t.Errorf("%+v", a)
	}
}

// TestNeed: the lower end of the interval decides.
func TestNeed(t *testing.T) {
	run := simulate(t, ladderTruth())
	o := Options{SLOs: []SLO{slo(t, "zk: recovery.controller < 10s")}}
	for need, code := range map[float64]int{0: 0, 50e3: 0, 60.9e3: 1, 80e3: 1} {
		o.Need = need
		p := mustMake(t, o, run)
		if p.ExitCode() != code {
			t.Errorf("need %v: exit %d:\n%s", need, p.ExitCode(), p.Text())
		}
	}
	o.SLOs[0] = slo(t, "kraft: recovery.controller < 1s")
	o.Need = 0
	if p := mustMake(t, o, run); p.ExitCode() != 1 {
		t.Errorf("an objective missed everywhere: exit %d", p.ExitCode())
	}
}

// TestPercentile: a bound where n supports it, else the n that is needed.
func TestPercentile(t *testing.T) {
	truth := ladderTruth()
	o := Options{SLOs: []SLO{slo(t, "zk: p95(recovery.controller) < 10s")}}
	a := only(t, mustMake(t, o, simulate(t, truth)), "zk")
	if a.Status != Refused || !strings.Contains(a.Why, "p95 needs 59 valid values a rung for a 95 % bound, 1k partitions have 5") {
		t.Errorf("%+v", a)
	}
	truth.Trials = 80
	p := mustMake(t, o, simulate(t, truth))
	// p95 of log-normal noise of 5 % is 1.086 times the median, its bound a
	// little more.
	if a := only(t, p, "zk"); a.Status != Within || *a.Partitions > 56.5e3 || *a.Partitions < 48e3 {
		t.Errorf("%s", a.Words)
	}
	o.SLOs[0] = slo(t, "zk: p5(creation.rate) > 4000/s")
	if a := only(t, mustMake(t, o, simulate(t, truth)), "zk"); a.Status != Within || *a.Partitions > 47e3 || *a.Partitions < 35e3 {
		t.Errorf("%s", a.Words)
	}
	truth = simulated.Truth{
		Targets: []string{"zk"}, Partitions: decade, Metrics: []string{"propagation.last"}, Trials: 2, PerTrial: 200, Seed: 1,
		Value: func(p simulated.Point) float64 { return 5e6 + 500*float64(p.Partitions) }, Noise: &simulated.Noise{Sigma: 0.1},
	}
	o.SLOs[0] = slo(t, "p95(propagation.last) < 40ms")
	if a := only(t, mustMake(t, o, simulate(t, truth)), "zk"); a.Status != Within || *a.Partitions > 60e3 || *a.Partitions < 48e3 {
		t.Errorf("%s", a.Words)
	}
}

// TestBroken: what cannot be planned with is refused by name, never answered
// and never a panic.
func TestBroken(t *testing.T) {
	odd := "=cmd|' <b>&\"\x1b[31m/..\u202e"
	for name, c := range map[string]struct {
		edit func(*simulated.Truth)
		want string
		code int
	}{
		"no trials":     {func(s *simulated.Truth) { s.Trials = 0 }, "no cell of the runs is valid", 3},
		"one rung":      {func(s *simulated.Truth) { s.Partitions = []int{5000} }, "1 valid rung (5k); a fit needs at least 3", 3},
		"two rungs":     {func(s *simulated.Truth) { s.Partitions = []int{5000, 10_000} }, "2 valid rungs (5k, 10k); a fit needs at least 3", 3},
		"one sample":    {func(s *simulated.Truth) { s.Trials, s.Repeats = 1, 1 }, "zk holds", 0},
		"equal samples": {func(s *simulated.Truth) { s.Noise = nil }, "zk holds 61k partitions (95 %: ", 0},
		"rungs descend": {func(s *simulated.Truth) { slices.Reverse(s.Partitions) }, "zk holds", 0},
		"zero":          {func(s *simulated.Truth) { s.Value, s.Noise = func(simulated.Point) float64 { return 0 }, nil }, "growth is relative, and to nothing it is not", 3},
		"huge":          {func(s *simulated.Truth) { s.Value = func(p simulated.Point) float64 { return 1e300 } }, "zk misses it at the smallest measured rung", 1},
		"tiny":          {func(s *simulated.Truth) { s.Value = func(p simulated.Point) float64 { return 1e-300 } }, "zk holds more than 100k", 0},
		"falls": {func(s *simulated.Truth) {
			s.Value = func(p simulated.Point) float64 { return 9e12 / float64(p.Partitions) }
		}, "no model gets cheaper with the partitions", 0},
		"odd names":      {func(s *simulated.Truth) { s.Name, s.Variants = odd, []string{odd} }, "zk =cmd|' <b>&\"", 0},
		"no such metric": {func(s *simulated.Truth) { s.Metrics = []string{"creation.rate"} }, "has no valid value of recovery.controller.first-admin; the workload controller-failover measures it", 3},
		"all trials invalid": {func(s *simulated.Truth) {
			s.Invalid = func(simulated.Point) string { return "slipped" }
		}, "no cell of the runs is valid", 3},
		"one cell invalid": {func(s *simulated.Truth) {
			s.Edit = func(m *results.Manifest) {
				m.Cells[0].Verdict, m.Cells[0].Reasons = results.Invalid, []string{"a broken invariant"}
			}
		}, "zk.base.partitions-1k of ", 0},
		"partitions of nothing": {func(s *simulated.Truth) {
			s.Edit = func(m *results.Manifest) { m.Cells[0].Partitions = -5 }
		}, "has -5 partitions", 0},
		"partitions equal": {func(s *simulated.Truth) {
			s.Edit = func(m *results.Manifest) {
				for i := range m.Cells {
					m.Cells[i].Partitions = 1000
				}
			}
		}, "1 valid rung (1k)", 3},
		"an outlier trial in each rung": {func(s *simulated.Truth) {
			value := s.Value
			s.Value = func(p simulated.Point) float64 {
				if p.Trial == 2 {
					return 5 * value(p)
				}
				return value(p)
			}
		}, "zk holds ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			truth := ladderTruth()
			truth.Partitions, truth.Metrics = slices.Clone(truth.Partitions), []string{"recovery.controller.first-admin"}
			c.edit(&truth)
			r := simulate(t, truth)
			p := mustMake(t, Options{SLOs: []SLO{slo(t, "zk: recovery.controller < 10s")}}, r)
			if text := p.Text(); !strings.Contains(text, c.want) || p.ExitCode() != c.code {
				t.Errorf("exit %d, want %d and %q in:\n%s", p.ExitCode(), c.code, c.want, text)
			}
			if strings.ContainsAny(p.Text()+p.Markdown(), "\x1b") {
				t.Error("a name moves the cursor")
			}
			for i := range r.Samples {
				r.Samples[i].Value = math.NaN()
			}
			if p, err := Make([]*results.Run{r}, Options{SLOs: []SLO{slo(t, "zk: recovery.controller < 10s")}}); err == nil && p.ExitCode() == 0 {
				t.Errorf("NaN is answered:\n%s", p.Text())
			}
		})
	}
}

// TestObjectives: the grammar is that of thresholds, with the median where no
// statistic is named.
func TestObjectives(t *testing.T) {
	for text, want := range map[string]string{
		"recovery.controller<10s":                "recovery.controller.first-admin median",
		"zk: recovery.controller.load < 1s":      "recovery.controller.load median",
		"kraft : controlled-shutdown.p95<=2s":    "controlled-shutdown.moved p95",
		"propagation.median < 5ms":               "propagation.median median",
		"max(propagation) < 5ms":                 "propagation.last max",
		"zk brokers=5: creation.min > 200/s":     "creation.rate min",
		"p99.9(unavailability.partition) < 30s ": "unavailability.partition p99.9",
	} {
		s, err := ParseSLO(text)
		if err != nil || s.Metric+" "+string(s.Stat) != want || s.Text != text {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
	for text, want := range map[string]string{
		"recovery":                          "no comparison",
		"recovery.controler < 4s":           "",
		"recovery.controller < 4":           "has no unit",
		"recovery.controller > 4s":          "better the lower",
		"creation < 2000/s":                 "better the higher",
		"recovery.controller.n > 4":         "n is no cost",
		"partitions=1k: creation > 20/s":    "partitions are what is asked for",
		"recovery.controller < 0s":          "met by nothing",
		"propagation.p99 < baseline + 10%":  "no baseline",
		"creation > 0/s":                    "by everything",
		"recovery.controller.median<10s<5s": "",
	} {
		if _, err := ParseSLO(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestPool: a second run adds a rung; a run of another environment or workload
// does not pass.
func TestPool(t *testing.T) {
	truth := ladderTruth()
	one := simulate(t, truth)
	truth.Partitions, truth.Trials, truth.Name, truth.Seed = []int{100_000, 200_000}, 7, "more", 4
	two := simulate(t, truth)
	p := mustMake(t, Options{SLOs: []SLO{slo(t, "zk: recovery.controller < 10s")}}, one, two)
	f := p.Fits[slices.IndexFunc(p.Fits, func(f Fitted) bool { return f.Side == "zk" && f.Metric == "recovery.controller.first-admin" })]
	if n := len(f.Rungs); n != 8 || f.Rungs[6].N != 12 || len(f.Rungs[6].Runs) != 2 || f.Rungs[7].N != 7 {
		t.Errorf("%d rungs: %+v", n, f.Rungs)
	}
	for want, edit := range map[string]func(*simulated.Truth){
		"not the same environment": func(s *simulated.Truth) {
			s.Environment = &results.Environment{OS: "linux", CPU: "another"}
		},
		"not the same workloads": func(s *simulated.Truth) { s.Metrics = []string{"creation.rate"} },
		"not the same provider":  func(s *simulated.Truth) { s.Edit = func(m *results.Manifest) { m.Provider = "docker" } },
	} {
		other := truth
		edit(&other)
		_, err := Make([]*results.Run{one, simulate(t, other)}, Options{})
		var q *QuestionError
		if !errors.As(err, &q) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Make([]*results.Run{one, one}, Options{}); err == nil || !strings.Contains(err.Error(), "named twice") {
		t.Errorf("the same run twice: %v", err)
	}
}
