package paired

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/results"
	"kbench/results/simulated"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// trial is a comparison of two sides with known truths: change is by how much
// side b differs, 1.1 is 10 % more.
type trial struct {
	pairs, trials int
	metrics       []string // the first is primary
	partitions    []int
	seed          uint64
	sigma         float64
	change        func(simulated.Point) float64
	edit          func(*results.Manifest)
}

func (c trial) truth() simulated.Truth {
	if c.partitions == nil {
		c.partitions = []int{1000}
	}
	if c.metrics == nil {
		c.metrics = []string{"controlled-shutdown.moved"}
	}
	return simulated.Truth{
		Name: "ab", Targets: []string{"zk"}, Variants: []string{"base", "b"}, Partitions: c.partitions, Metrics: c.metrics,
		Trials: max(c.trials, 1), Repeats: c.pairs + 1, Seed: c.seed, Noise: &simulated.Noise{Sigma: c.sigma},
		Value: func(p simulated.Point) float64 {
			v := 100e6
			if p.Repeat == 1 {
				v *= 7 // the warm-up pair is slow and must not count
			}
			if strings.HasPrefix(p.Metric, "creation") {
				v = 1e4
			}
			if p.Variant == "b" && c.change != nil {
				v *= c.change(p)
			}
			return v
		},
		Edit: func(m *results.Manifest) {
			m.Comparison = &results.Comparison{
				Base: results.ComparedSide{Name: "base"}, Variant: results.ComparedSide{Name: "b"},
				Metric: c.metrics[0], Margin: 0.05, Pairs: c.pairs, Warmup: 1,
			}
			for i := 0; i+1 < len(m.Cells); i += 2 {
				m.Comparison.Matches = append(m.Comparison.Matches, results.MatchedCell{
					Point: m.Cells[i].PointLabel(), Base: m.Cells[i].ID, Variant: m.Cells[i+1].ID,
				})
			}
			if c.edit != nil {
				c.edit(m)
			}
		},
	}
}

func (c trial) analyse(t *testing.T) *Analysis {
	t.Helper()
	run, err := simulated.New(c.truth())
	if err != nil {
		t.Fatal(err)
	}
	a, err := Analyse(run, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func by(f float64) func(simulated.Point) float64 { return func(simulated.Point) float64 { return f } }

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		trial
		want     Verdict
		exit     int // with --fail-if slower
		sentence string
	}{
		"faster":         {trial{pairs: 10, sigma: 0.03, change: by(0.8)}, Faster, 0, "b is 19 % faster (95 %: 17 to 20 %), p = 0.002, n = 10 pairs"},
		"slower":         {trial{pairs: 10, sigma: 0.03, change: by(1.25)}, Slower, 1, "% slower (95 %: "},
		"faster rate":    {trial{pairs: 10, sigma: 0.03, change: by(1.25), metrics: []string{"creation.rate"}}, Faster, 0, "% faster (95 %: "},
		"slower rate":    {trial{pairs: 10, sigma: 0.03, change: by(0.8), metrics: []string{"creation.rate"}}, Slower, 1, "b is 20 % slower"},
		"same":           {trial{pairs: 10, sigma: 0.01}, Same, 0, "b is the same as base within 5 %"},
		"equal":          {trial{pairs: 10}, Same, 0, "within 5 % (0 % apart, 95 %: 0 % apart to 0 % apart)"},
		"within":         {trial{pairs: 10, sigma: 0.001, change: by(1.02)}, Same, 0, "(2.1 % slower, 95 %: "},
		"noise":          {trial{pairs: 10, sigma: 0.2}, Inconclusive, 3, "pairs would tell 5 % apart at this spread"},
		"too few":        {trial{pairs: 5, sigma: 0.01, change: by(2)}, Inconclusive, 3, "n = 5 pairs are too few for an interval"},
		"six pairs do":   {trial{pairs: 6, sigma: 0.01, change: by(2)}, Slower, 1, "p = 0.031, n = 6 pairs"},
		"one pair":       {trial{pairs: 1, change: by(2)}, Inconclusive, 3, "100 % slower in the median pair"},
		"zero":           {trial{pairs: 10, change: by(0)}, Inconclusive, 3, "a ratio needs values over zero"},
		"by histogram":   {trial{pairs: 10, sigma: 0.03, change: by(1.25), metrics: []string{"propagation.last"}}, Slower, 1, "% slower"},
		"not the median": {trial{pairs: 10, trials: 3, change: func(p simulated.Point) float64 { return []float64{1, 1, 50}[p.Trial-1] }}, Same, 0, "0 % apart"},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.analyse(t)
			got := a.Points[0].Sentence(a.Base, a.Variant, a.Margin)
			if a.Verdict != c.want || a.ExitCode(true) != c.exit || !strings.Contains(got, c.sentence) {
				t.Errorf("%s, exit %d: %s", a.Verdict, a.ExitCode(true), got)
			}
			if len(a.Points) != 1 || a.Points[0].N != c.pairs {
				t.Errorf("%+v", a.Points)
			}
			if _, err := a.JSON(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPointsDecideTogether(t *testing.T) {
	rungs := []int{1000, 10_000}
	at := func(small, large float64) func(simulated.Point) float64 {
		return func(p simulated.Point) float64 {
			if p.Partitions == rungs[0] {
				return small
			}
			return large
		}
	}
	for name, c := range map[string]struct {
		small, large float64
		sigma        float64
		want         Verdict
		exit, strict int
	}{
		"all slower":            {1.3, 1.4, 0.02, Slower, 0, 1},
		"one each":              {0.7, 1.4, 0.02, Mixed, 0, 1},
		"one same":              {0.7, 1, 0.01, Mixed, 0, 0},
		"one open":              {0.5, 1, 0.15, Inconclusive, 3, 3},
		"one open, one slower":  {3, 1, 0.15, Inconclusive, 3, 1},
		"the same at every one": {1, 1, 0.01, Same, 0, 0},
	} {
		a := trial{pairs: 10, partitions: rungs, sigma: c.sigma, change: at(c.small, c.large)}.analyse(t)
		if a.Verdict != c.want || a.ExitCode(false) != c.exit || a.ExitCode(true) != c.strict {
			t.Errorf("%s: %s, exit %d and %d: %v", name, a.Verdict, a.ExitCode(false), a.ExitCode(true), a.Headline())
		}
	}
	a := trial{pairs: 10, partitions: rungs, sigma: 0.02, change: by(1.3)}.analyse(t)
	for _, p := range a.Points {
		if *p.P >= *p.Adjusted || *p.Adjusted != 2**p.P {
			t.Errorf("p %v is not corrected for two points: %v", *p.P, *p.Adjusted)
		}
	}
}

func TestSecondaryDecideNothing(t *testing.T) {
	a := trial{
		pairs: 10, sigma: 0.02, metrics: []string{"controlled-shutdown.granted", "controlled-shutdown.moved", "creation.rate"},
		change: func(p simulated.Point) float64 {
			if p.Metric == "controlled-shutdown.granted" {
				return 1
			}
			return 0.5
		},
	}.analyse(t)
	if a.Verdict != Same || len(a.Points) != 1 || len(a.Secondary) != 2 || a.ExitCode(true) != 0 {
		t.Fatalf("%s: %v", a.Verdict, a.Headline())
	}
	// The catalogue's order; half of a duration is faster, half of a rate slower.
	if a.Secondary[0].Metric != "creation.rate" || a.Secondary[0].Verdict != Slower || a.Secondary[1].Verdict != Faster {
		t.Errorf("%+v", a.Secondary)
	}
}

// What was planned is not whole: no verdict, however clear it looks.
func TestNoVerdict(t *testing.T) {
	attempts := func(m *results.Manifest, change func(*results.Attempt)) {
		for i := range m.Cells {
			for repeat := 1; repeat <= 9; repeat++ {
				a := results.Attempt{Repeat: repeat, Number: 1, Started: m.Started.Add(time.Duration(10*repeat+i) * time.Minute), Verdict: results.Valid}
				if i == 1 && repeat == 9 {
					change(&a)
				}
				m.Cells[i].Attempts = append(m.Cells[i].Attempts, a)
			}
		}
	}
	for name, c := range map[string]struct {
		edit func(*results.Manifest)
		want Verdict
		why  string
	}{
		"interrupted": {func(m *results.Manifest) { m.Interrupted = true; m.Comparison.Pairs = 20 }, Invalid, "interrupted"},
		"interrupted, and how far": {func(m *results.Manifest) {
			m.Interrupted, m.Reasons = true, []string{"interrupted: 3 of 16 cells finished"}
		}, Invalid, "interrupted: 3 of 16 cells finished"},
		"a pair too few": {func(m *results.Manifest) { m.Comparison.Pairs = 9 }, Invalid, "8 of 9 pairs are whole"},
		"an invalid pair": {func(m *results.Manifest) {
			attempts(m, func(a *results.Attempt) { a.Verdict = results.Invalid })
		}, Invalid, "7 of 8 pairs are whole"},
		"a broken invariant": {func(m *results.Manifest) {
			m.Cells[0].Verdict, m.Reasons = results.Invalid, []string{"topic a is missing"}
		}, Invalid, "topic a is missing"},
		"a point is missing": {func(m *results.Manifest) {
			m.Comparison.Matches = append(m.Comparison.Matches, results.MatchedCell{Point: "10k", Base: "x", Variant: "y"})
		}, Invalid, "measured at 1 of 2 points"},
	} {
		a := trial{pairs: 8, sigma: 0.01, change: by(2), edit: c.edit}.analyse(t)
		if a.Verdict != c.want || a.ExitCode(true) != 3 || !strings.Contains(strings.Join(a.Reasons, "\n"), c.why) {
			t.Errorf("%s: %s, exit %d, %q", name, a.Verdict, a.ExitCode(true), a.Reasons)
		}
		if !strings.Contains(a.Text(), "no verdict; so far b is") {
			t.Errorf("%s: the figures claim a verdict:\n%s", name, a.Text())
		}
	}
	a := trial{pairs: 8, edit: func(m *results.Manifest) { attempts(m, func(*results.Attempt) {}) }}.analyse(t)
	if a.Verdict != Same || a.Points[0].Values[0].First != "base" {
		t.Errorf("%s: %v", a.Verdict, a.Points[0].Values)
	}
}

func TestWhatIsNoComparison(t *testing.T) {
	for want, c := range map[string]struct {
		o    Options
		edit func(*results.Manifest)
	}{
		"holds no interleaved comparison":    {Options{}, func(m *results.Manifest) { m.Comparison = nil }},
		"holds 1152921504606846976 pairs":    {Options{}, func(m *results.Manifest) { m.Comparison.Pairs = 1 << 60 }},
		"holds 0 pairs and 1":                {Options{}, func(m *results.Manifest) { m.Comparison.Pairs = 0 }},
		"unknown metric":                     {Options{Metric: "x"}, nil},
		"recovery.broker.moved was not":      {Options{Metric: "recovery.broker"}, nil},
		"must be over 0 and under 1":         {Options{Margin: math.NaN()}, nil},
		"the margin is 2":                    {Options{Margin: 2}, nil},
		"it has [controlled-shutdown.moved]": {Options{Metric: "creation"}, nil},
	} {
		run, err := simulated.New(trial{pairs: 6, edit: c.edit}.truth())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Analyse(run, c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// Interrupted before the first pair was whole: nothing to judge, no error.
	run, err := simulated.New(trial{pairs: 6, edit: func(m *results.Manifest) {
		m.Interrupted, m.Verdict = true, results.Invalid
		m.Cells[1].Verdict = results.Inconclusive
		m.Comparison.Matches[0].Variant = "never ran"
	}}.truth())
	if err != nil {
		t.Fatal(err)
	}
	a, err := Analyse(run, Options{})
	if err != nil || a.ExitCode(false) != 3 || a.Text() == "" {
		t.Errorf("%v, %v", a, err)
	}
}

// Forms of one comparison with names that want to be markup.
func TestForms(t *testing.T) {
	c := trial{pairs: 10, sigma: 0.02, change: by(0.88), metrics: []string{"controlled-shutdown.moved", "controlled-shutdown.exit"}}
	c.edit = func(m *results.Manifest) {
		m.Comparison.Variant.Name = "<b>|\"x\"\n*"
		m.Comparison.Matches[0].Point = "=1k~"
	}
	a := c.analyse(t)
	j, err := a.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Analysis
	if err := json.Unmarshal(j, &back); err != nil || back.Variant != a.Variant {
		t.Errorf("%v, %q", err, back.Variant)
	}
	for name, got := range map[string]string{"ab.txt": a.Text(), "ab.md": a.Markdown(), "ab.json": string(j)} {
		path := filepath.Join("testdata", name)
		if *rewrite {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%s differs (%v); go test ./results/paired -rewrite, and read the difference:\n%s", path, err, got)
		}
	}
}

// Six pairs decide one metric; of several others none could ever be significant,
// which must be said lest a wide difference marked ~ be read as none.
func TestTooFewForOthers(t *testing.T) {
	metrics := []string{"controlled-shutdown.moved", "controlled-shutdown.exit", "controlled-shutdown.granted"}
	for _, c := range []struct {
		pairs, metrics int
		want           string
	}{
		{6, 1, ""},
		{6, 2, ""},
		{6, 3, "with 6 pairs none of 2 others can be significant (~), whatever its interval: 7 are the fewest"},
		{7, 3, ""},
		{5, 3, ""}, // too few for the primary one too, which is said there
	} {
		a := trial{pairs: c.pairs, sigma: 0.01, change: by(0.5), metrics: metrics[:c.metrics]}.analyse(t)
		if got := strings.TrimPrefix(a.tooFewForOthers(), "; "); got != c.want {
			t.Errorf("%d pairs, %d metrics: %q, want %q", c.pairs, c.metrics, got, c.want)
		}
		for _, r := range a.Secondary {
			if significant := r.Verdict == Faster; significant != (c.want == "" && c.pairs > 5) {
				t.Errorf("%d pairs, %d metrics: %v is %s, which %q denies", c.pairs, c.metrics, r.series, r.Verdict, c.want)
			}
		}
	}
}

// The interval and the test are one: it leaves out 1 where p is under 0.05.
func TestIntervalIsTheTest(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: hundreds of simulated runs, which share nothing")
	}
	for _, n := range []int{6, 7, 10, 25, 40} {
		for seed := range uint64(200) {
			a := trial{pairs: n, sigma: 0.1, change: by(1.05), seed: seed, edit: func(m *results.Manifest) { m.Comparison.Margin = 1e-6 }}.analyse(t)
			p := a.Points[0]
			out := *p.Lo > 1 || *p.Hi < 1
			// Over 25 pairs the test is by the normal distribution.
			if n <= 25 && out != (*p.P < 0.05) || *p.Lo > *p.Ratio || *p.Ratio > *p.Hi {
				t.Fatalf("n %d, seed %d: p %v, %v in %v to %v", n, seed, *p.P, *p.Ratio, *p.Lo, *p.Hi)
			}
		}
	}
}

// Values that no ratio can hold end in words.
func TestFarApart(t *testing.T) {
	r := Result{Values: []Pair{{1, "", 1e300, 1e-300}, {2, "", 1e300, 1e-300}}}
	r.compare()
	if r.judge(0.05); r.Ratio != nil || r.Verdict != Inconclusive || !strings.Contains(r.Sentence("a", "b", 0.05), "too far apart") {
		t.Errorf("%+v", r)
	}
}

// With ten pairs a change of 10 % is found in 95 of 100 comparisons even where
// a cell-run is one trial and every value has 5 % of noise of its own, and no
// change is called one in 5 (of 2,000, with two standard errors).
func TestPower(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: hundreds of simulated runs, which share nothing")
	}
	const rounds = 1000
	count := func(trials int, change float64, want ...Verdict) (found int) {
		for seed := range uint64(rounds) {
			a := trial{pairs: 10, trials: trials, sigma: 0.05, change: by(change), seed: seed}.analyse(t)
			if slices.Contains(want, a.Verdict) {
				found++
			}
		}
		return found
	}
	if found := count(1, 1.1, Slower) + count(1, 1/1.1, Faster); found < 2*rounds*95/100 {
		t.Errorf("10 %%, one trial: found in %d of %d", found, 2*rounds)
	}
	if found := count(3, 1.1, Slower); found < rounds*99/100 {
		t.Errorf("10 %%, three trials: found in %d of %d", found, rounds)
	}
	if found := count(1, 1, Slower, Faster) + count(3, 1, Slower, Faster); found > 2*rounds*6/100 {
		t.Errorf("nothing: found in %d of %d", found, 2*rounds)
	}
}

// Of several primary metrics each must show it, at each point, and none is
// corrected for the others: six pairs decide however many there are.
func TestSeveralPrimaryMetrics(t *testing.T) {
	all := []string{"controlled-shutdown.moved", "creation.rate", "propagation.last.p99"}
	for name, c := range map[string]struct {
		pairs, trials int
		names         []string
		rate          func(repeat int) float64 // by how much the rate of creation differs
		want          Verdict
		says          string
	}{
		"all faster": {6, 320, all, func(int) float64 { return 2 }, Faster, "propagation.last.p99 at 10k: b is 50 % faster"},
		"one slower": {6, 1, all[:2], func(int) float64 { return 0.5 }, Mixed, "creation.rate at 1k: b is 49 % slower"},
		"one open":   {6, 1, all[:2], func(repeat int) float64 { return 1 + float64(repeat%2)/2 }, Inconclusive, "creation.rate at 1k: inconclusive"},
		"too few":    {5, 1, all[:2], func(int) float64 { return 2 }, Inconclusive, "n = 5 pairs are too few for an interval"},
	} {
		run, err := simulated.New(trial{
			pairs: c.pairs, trials: c.trials, sigma: 0.02, partitions: []int{1000, 10_000},
			metrics: []string{"controlled-shutdown.moved", "controlled-shutdown.exit", "creation.rate", "propagation.last"},
			change: func(p simulated.Point) float64 {
				if p.Metric == "creation.rate" {
					return c.rate(p.Repeat)
				}
				return 0.5
			},
			edit: func(m *results.Manifest) { m.Comparison.Metrics = c.names },
		}.truth())
		if err != nil {
			t.Fatal(err)
		}
		a, err := Analyse(run, Options{})
		if err != nil {
			t.Fatal(err)
		}
		head := strings.Join(a.Headline(), "\n")
		if a.Verdict != c.want || len(a.Points) != 2*len(c.names) || !strings.Contains(head, c.says) || !strings.Contains(head, "primary metrics "+strings.Join(c.names, ", ")) {
			t.Errorf("%s: %s, %d points:\n%s", name, a.Verdict, len(a.Points), head)
		}
		for i, p := range a.Points {
			if p.Metric != c.names[i/2] || *p.Adjusted != *p.P {
				t.Errorf("%s: point %d is of %s, p %v, corrected %v", name, i, p.Metric, *p.P, *p.Adjusted)
			}
		}
		if i := slices.IndexFunc(a.Secondary, func(r Result) bool { return slices.Contains(c.names, r.Metric) }); i >= 0 {
			t.Errorf("%s: %s decides and is listed among others", name, a.Secondary[i].Metric)
		}
	}
}

// Of memory there is less or more; nothing is faster.
func TestWordsOfMemory(t *testing.T) {
	for change, want := range map[float64]string{0.5: "b is 50 % less (95 %: ", 2: "b is 100 % more (95 %: "} {
		a := trial{pairs: 6, change: by(change), metrics: []string{"memory.controller.per-partition"}}.analyse(t)
		if got := a.Points[0].Sentence(a.Base, a.Variant, a.Margin); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", change, got)
		}
	}
}

func TestPrimary(t *testing.T) {
	got, err := Primary("creation, propagation.last.p99,recovery.broker.rest")
	if want := []string{"creation.rate", "propagation.last.p99", "recovery.broker.rest"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "creation,", "creation,creation.rate", "propagation.p99.last"} {
		if got, err := Primary(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}
