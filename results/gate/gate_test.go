package gate

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"kbench/results"
	"kbench/results/history"
	"kbench/results/simulated"
)

func thresholds(t *testing.T, texts ...string) []results.Threshold {
	t.Helper()
	var out []results.Threshold
	for _, text := range texts {
		th, err := results.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, th)
	}
	return out
}

// on changes the last night of so many.
func on(night int, factor float64) func(int, string) float64 {
	return func(n int, _ string) float64 {
		if n == night {
			return factor
		}
		return 1
	}
}

func states(r *Report) []State {
	var out []State
	for _, c := range r.Checks {
		out = append(out, c.State)
	}
	return out
}

func TestJudge(t *testing.T) {
	steady := simulated.Noise{Sigma: 0.02}
	const enough = MinNights + 1
	for name, c := range map[string]struct {
		calendar
		nights int
		none   bool // no history is given
		o      Options
		extra  []string
		want   Verdict
		exit   int
		states []State
		says   string
	}{
		"as usual":    {calendar: calendar{within: steady}, nights: 11, want: Pass, states: []State{Passed}, says: "the median of 10 nights was"},
		"a regressed": {calendar: calendar{within: steady, change: on(10, 1.3)}, nights: 11, want: Regressed, exit: 1, states: []State{Missed}, says: "% worse, p = "},
		"improved":    {calendar: calendar{within: steady, change: on(10, 0.7)}, nights: 11, want: Pass, states: []State{Improved}, says: "% better"},
		"a slower rate": {
			calendar: calendar{within: steady, metrics: []string{"creation.rate"}, change: on(10, 0.7)}, nights: 11,
			want: Regressed, exit: 1, states: []State{Missed}, says: "30.",
		},
		"by histogram": {
			calendar: calendar{within: steady, metrics: []string{"propagation.last"}, change: on(10, 1.5)}, nights: 11,
			want: Regressed, exit: 1, states: []State{Missed}, says: "worse",
		},
		"sure but small": {calendar: calendar{within: simulated.Noise{Sigma: 0.001}, change: on(10, 1.04)}, nights: 11, want: Pass, states: []State{Passed}, says: "4."},
		"large but within floor": {
			calendar: calendar{within: steady, change: func(n int, _ string) float64 { return on(10, 1.5)(n, "") * 1e-2 }}, nights: 11,
			want: Pass, states: []State{Passed}, says: "worse",
		},
		"equal nights":        {calendar: calendar{}, nights: 11, want: Pass, states: []State{Passed}, says: "no change"},
		"equal, then slower":  {calendar: calendar{change: on(10, 1.2)}, nights: 11, want: Regressed, exit: 1, states: []State{Missed}, says: "20.0 % worse, p = "},
		"one trial a night":   {calendar: calendar{within: steady, trials: 1, change: on(20, 1.5)}, nights: 21, want: Regressed, exit: 1, states: []State{Missed}},
		"zero, as always":     {calendar: calendar{change: func(int, string) float64 { return 0 }}, nights: 11, want: Pass, states: []State{Passed}, says: "no change"},
		"zero, then not":      {calendar: calendar{change: func(n int, _ string) float64 { return float64(n / 10) }}, nights: 11, want: Regressed, exit: 1, states: []State{Missed}, says: "was 0 ns: worse"},
		"huge":                {calendar: calendar{change: func(int, string) float64 { return 1e280 }}, nights: 11, want: Pass, states: []State{Passed}},
		"first night":         {calendar: calendar{within: steady}, nights: 1, want: Unjudged, exit: 3, states: []State{NoBaseline}, says: "0 comparable nights of the 5"},
		"first night allowed": {calendar: calendar{within: steady}, nights: 1, o: Options{AllowNoBaseline: true}, want: Unjudged, states: []State{NoBaseline}},
		"one night too few":   {calendar: calendar{within: steady}, nights: enough - 1, want: Unjudged, exit: 3, states: []State{NoBaseline}},
		"just enough":         {calendar: calendar{within: steady}, nights: enough, want: Pass, states: []State{Passed}},
		"first night with an absolute threshold": {
			calendar: calendar{within: steady, bounds: []string{"controlled-shutdown.median < 1s"}}, nights: 1,
			want: Pass, states: []State{Passed, NoBaseline}, says: "NO BASELINE YET for 1 of 2 checks",
		},
		"first night, threshold missed": {
			calendar: calendar{within: steady, bounds: []string{"controlled-shutdown.median < 1ms"}}, nights: 1,
			want: Regressed, exit: 1, states: []State{Missed, NoBaseline},
		},
		"thresholds alone": {calendar: calendar{bounds: []string{"controlled-shutdown.median < 1s", "controlled-shutdown.n >= 10"}}, nights: 1, none: true, want: Pass, states: []State{Passed, Passed}},
		"nothing to judge": {calendar: calendar{}, nights: 1, none: true, want: Invalid, exit: 3, says: "nothing was judged"},
		"too few for p99":  {calendar: calendar{}, nights: 1, none: true, extra: []string{"p99(controlled-shutdown.moved) < 9s"}, want: Invalid, exit: 3, states: []State{NoData}, says: "10 values do not support p99"},
		"nothing measured": {calendar: calendar{}, nights: 1, none: true, extra: []string{"propagation.median < 9s", "controlled-shutdown.median < 1ms"}, want: Invalid, exit: 3, states: []State{NoData, Missed}, says: "no valid value of it"},
		"no cell is meant": {calendar: calendar{}, nights: 1, none: true, extra: []string{"kraft: controlled-shutdown.median < 9s"}, want: Invalid, exit: 3, states: []State{NoData}, says: "no cell of the run is meant"},
		"relative, worse by both": {
			calendar: calendar{within: steady, change: on(10, 1.3)}, nights: 11, extra: []string{"controlled-shutdown.median < baseline + max(10%, 20ms)"},
			want: Regressed, exit: 1, states: []State{Missed}, says: "must be < 1",
		},
		"relative, worse by one": {
			calendar: calendar{within: steady, change: on(10, 1.15)}, nights: 11, extra: []string{"controlled-shutdown.median < baseline + max(10%, 20ms)"},
			want: Pass, states: []State{Passed},
		},
		"relative without history": {calendar: calendar{}, nights: 1, none: true, extra: []string{"controlled-shutdown.median < baseline + 10%"}, want: Unjudged, exit: 3, states: []State{NoBaseline}, says: "--against"},
		"relative maximum": {
			calendar: calendar{within: steady}, nights: 11, extra: []string{"controlled-shutdown.max < baseline + 50%"},
			want: Pass, states: []State{Passed, Passed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Thresholds = thresholds(t, c.extra...)
			cal := newCalendar(c.calendar, c.nights)
			log := cal.log(t, 0, c.nights-1)
			if c.none {
				log = nil
			}
			r, err := Judge(cal.run(t, c.nights-1), log, c.o)
			if err != nil {
				t.Fatal(err)
			}
			text := r.Text()
			if r.Verdict != c.want || r.ExitCode != c.exit || !slices.Equal(states(r), c.states) || !strings.Contains(text, c.says) {
				t.Errorf("%s, exit %d, %v\n%s", r.Verdict, r.ExitCode, states(r), text)
			}
			if _, err := r.JSON(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An invalid night is no regression, however slow it was.
func TestInvalidIsNoRegression(t *testing.T) {
	c := newCalendar(calendar{change: on(10, 9), bounds: []string{"controlled-shutdown.median < 1ms"}, edit: func(night int, m *results.Manifest) {
		if night == 10 {
			m.Cells[0].Verdict, m.Reasons = results.Invalid, []string{"zk.base: a gate failed"}
		}
	}}, 11)
	r := c.judge(t, Options{AllowNoBaseline: true})
	if r.Verdict != Invalid || r.ExitCode != 3 || len(r.Checks) != 0 || !strings.Contains(r.Text(), "a gate failed") {
		t.Errorf("%+v", r)
	}
}

func TestInvalidNightsAreNoBaseline(t *testing.T) {
	c := newCalendar(calendar{edit: func(night int, m *results.Manifest) {
		if night < 6 {
			m.Cells[0].Verdict = results.Invalid
		}
	}}, 10)
	if r := c.judge(t, Options{}); r.Verdict != Unjudged || r.Checks[0].Nights != 3 {
		t.Errorf("%+v", r.Checks)
	}
}

// What an earlier night measured and tonight did not is no pass.
func TestVanished(t *testing.T) {
	c := newCalendar(calendar{metrics: []string{"controlled-shutdown.moved", "creation.rate"}}, 11)
	log := c.log(t, 0, 10)
	run := c.run(t, 10)
	run.Samples = slices.DeleteFunc(run.Samples, func(s results.Sample) bool { return s.Workload == "create-topics" })
	r, err := Judge(run, log, Options{})
	if err != nil || r.Verdict != Invalid || r.ExitCode != 3 || !strings.Contains(r.Text(), "creation.rate: no data: run ") {
		t.Errorf("%v\n%s", err, r.Text())
	}
}

func TestVanishedCell(t *testing.T) {
	c := newCalendar(calendar{targets: []string{"zk", "kraft"}, edit: func(_ int, m *results.Manifest) { m.SpecHash = "same" }}, 11)
	log := c.log(t, 0, 10)
	run := c.run(t, 10)
	run.Manifest.Cells = run.Manifest.Cells[:1]
	run.Samples = slices.DeleteFunc(run.Samples, func(s results.Sample) bool { return strings.HasPrefix(s.Cell, "kraft") })
	r, err := Judge(run, log, Options{})
	if err != nil || r.ExitCode != 3 || !strings.Contains(r.Text(), "kraft.base.partitions-1k controlled-shutdown.moved: no data") {
		t.Errorf("%v\n%s", err, r.Text())
	}
}

// Another machine is another baseline.
func TestAnotherEnvironment(t *testing.T) {
	c := newCalendar(calendar{edit: func(night int, m *results.Manifest) {
		if night == 10 {
			m.Environment.Cores++
		}
	}}, 11)
	r := c.judge(t, Options{})
	if r.Verdict != Unjudged || !strings.Contains(r.Text(), "10 more were measured under other settings or in another environment") {
		t.Errorf("%s", r.Text())
	}
}

func TestRetriesAreSaid(t *testing.T) {
	c := newCalendar(calendar{edit: func(_ int, m *results.Manifest) {
		m.Cells[0].Attempts = []results.Attempt{{Repeat: 1, Number: 1, Dropped: "invalid"}, {Repeat: 1, Number: 2, Verdict: results.Valid}}
	}}, 11)
	if r := c.judge(t, Options{}); r.ExitCode != 0 || !strings.Contains(r.Text(), "was run again once") {
		t.Errorf("%s", r.Text())
	}
}

func TestRefused(t *testing.T) {
	c := newCalendar(calendar{edit: func(night int, m *results.Manifest) {
		if night == 0 {
			m.Comparison = &results.Comparison{}
		}
	}}, 2)
	if _, err := Judge(c.run(t, 0), nil, Options{}); err == nil || !strings.Contains(err.Error(), "kbench ab") {
		t.Error(err)
	}
	run := c.run(t, 1)
	run.Manifest.Bounds = []string{"nonsense"}
	if _, err := Judge(run, nil, Options{}); err == nil || !strings.Contains(err.Error(), `threshold "nonsense" of the run`) {
		t.Error(err)
	}
}

// The prediction against Student's t by tables: for n = 5, a value beyond
// mean + 3.747·s·√(1+1/5) comes in one of a hundred nights.
func TestPrediction(t *testing.T) {
	b := baseline{mean: 10, sd: 2, n: 5, scale: func(v float64) float64 { return v }}
	edge := 10 + 3.7469*2*math.Sqrt(1.2)
	if p := b.predict(edge, results.Lower); math.Abs(p-0.01) > 1e-5 {
		t.Errorf("p %v at %v", p, edge)
	}
	if p := b.predict(20-edge, results.Higher); math.Abs(p-0.01) > 1e-5 {
		t.Errorf("p %v of a rate", p)
	}
	if limit := b.limit(0.01, results.Lower); math.Abs(limit-edge) > 1e-3 {
		t.Errorf("limit %v, want %v", limit, edge)
	}
	if limit := b.limit(0.01, results.Higher); math.Abs(limit-(20-edge)) > 1e-3 {
		t.Errorf("limit %v of a rate", limit)
	}
}

// Any night of an odd history is judged without a panic and without a number
// that JSON cannot hold.
func TestOddHistories(t *testing.T) {
	odd := []float64{0, 1, 1e-300, 1e300, math.MaxFloat64, 5e-324}
	for _, tonight := range odd {
		for _, before := range odd {
			c := newCalendar(calendar{}, 9)
			log := c.log(t, 0, 8)
			for _, n := range log.Nights {
				n.Cells[0].Figures[0] = of(n.Cells[0].Figures[0], before)
			}
			run := c.run(t, 8)
			for i := range run.Samples {
				run.Samples[i].Value = tonight
			}
			r, err := Judge(run, log, Options{})
			if err != nil {
				continue // refused in words
			}
			if _, err := r.JSON(); err != nil {
				t.Errorf("%v after %v: %v", tonight, before, err)
			}
			if worse := tonight > before*1.05 && tonight-before > 1e6; (r.ExitCode == 1) != worse {
				t.Errorf("%v after %v: exit %d\n%s", tonight, before, r.ExitCode, r.Text())
			}
		}
	}
}

// of gives every value of a figure one size.
func of(f history.Figure, v float64) history.Figure {
	f.Min, f.Median, f.Max = v, v, v
	f.Repeats = slices.Clone(f.Repeats)
	for i := range f.Repeats {
		f.Repeats[i].Median = v
		f.Repeats[i].Values = slices.Repeat([]float64{v}, len(f.Repeats[i].Values))
	}
	return f
}

func TestJSONIsTheContract(t *testing.T) {
	r := newCalendar(calendar{within: simulated.Noise{Sigma: 0.02}}, 11).judge(t, Options{})
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	check := back["checks"].([]any)[0].(map[string]any)
	for _, key := range []string{"kind", "cell", "metric", "unit", "rule", "state", "value", "bound", "baseline", "nights", "p", "adjusted", "message"} {
		if check[key] == nil {
			t.Errorf("no %s in %v", key, check)
		}
	}
	if back["format"] != "kbench-gate" || back["exitCode"] != 0.0 {
		t.Errorf("%v", back)
	}
}
