package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kbench/results"
	"kbench/results/simulated"
)

// forms makes every form of a report and judges what holds for all of them: no
// error, nothing that is no number, no chart without a mark.
func forms(t *testing.T, r *results.Run) map[string]string {
	t.Helper()
	rep := mustReport(t, r)
	html, err := rep.HTML()
	if err != nil {
		t.Fatal(err)
	}
	csv, err := rep.CSV()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"text": rep.Text(), "markdown": rep.Markdown(), "html": string(html), "csv": string(csv), "json": string(mustJSON(t, rep))}
	checkAgainstSchema(t, []byte(out["json"]))
	_, body, _ := strings.Cut(out["html"], "<body>")
	body, _, _ = strings.Cut(body, "<script>var uPlot")
	for form, text := range map[string]string{"text": out["text"], "markdown": out["markdown"], "csv": out["csv"], "html": body} {
		if at := regexp.MustCompile(`\b(NaN|[+-]?Inf|%!\w?)\b|<nil>`).FindString(text); at != "" {
			t.Errorf("%s holds %s", form, at)
		}
	}
	for _, svg := range strings.Split(body, `<svg class="chart"`)[1:] {
		svg, _, _ = strings.Cut(svg, "</svg>")
		if !regexp.MustCompile(`class="(bar|dot|line|thin|span|fault|epoch|whisker|mark)\b`).MatchString(svg) {
			t.Errorf("an empty chart: %.300s", svg)
		}
	}
	return out
}

// oneOf is a run in memory of zk and kraft at one point, with the given values
// of the controller's recovery.
func oneOf(t *testing.T, zk, kraft []float64, edit func(*results.Manifest)) *results.Run {
	t.Helper()
	m := results.Manifest{Name: "small", Started: started, Ended: started.Add(time.Minute), CommandLine: []string{"kbench", "run"}}
	var samples []results.Sample
	for target, values := range map[string][]float64{"zk": zk, "kraft": kraft} {
		id := target + ".base"
		for i, v := range values {
			for _, phase := range []string{"detect", "first-admin"} {
				samples = append(samples, results.Sample{Cell: id, Workload: "controller-failover", Repeat: 1, Trial: i + 1, Metric: "recovery.controller." + phase, Value: v, Unit: results.Nanoseconds, Valid: true})
			}
		}
	}
	for _, target := range []string{"zk", "kraft"} {
		m.Cells = append(m.Cells, results.Cell{ID: target + ".base", Target: target, Variant: "base", Partitions: 1000, Verdict: results.Valid})
	}
	if edit != nil {
		edit(&m)
	}
	r, err := results.NewRun(m, samples)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func around(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v * (1 + float64(i)/1000)
	}
	return out
}

// TestThinRuns: whatever there is too little of, the report says so, and claims
// no difference that the values do not show.
func TestThinRuns(t *testing.T) {
	for name, c := range map[string]struct {
		zk, kraft []float64
		edit      func(*results.Manifest)
		lead      string
		shown     bool
	}{
		"no cell":             {edit: func(m *results.Manifest) { m.Cells = nil }, lead: "inconclusive"},
		"no sample":           {lead: "inconclusive"},
		"one side is empty":   {zk: around(1e9, 9), lead: "inconclusive"},
		"one sample":          {zk: []float64{2e9}, kraft: []float64{1e9}, lead: "With 1 trial or repeat a side none can be"},
		"three samples":       {zk: around(9e9, 3), kraft: around(1e9, 3), lead: "With 3 trials or repeats a side none can be"},
		"equal samples":       {zk: repeat(1e9, 9), kraft: repeat(1e9, 9), lead: "No difference between zk and kraft is shown."},
		"overlapping samples": {zk: around(1e9, 9), kraft: around(1.001e9, 9), lead: "No difference between zk and kraft is shown."},
		"far apart":           {zk: around(9e9, 9), kraft: around(1e9, 9), lead: "takes zk 9 times as long as kraft", shown: true},
		"constant, far apart": {zk: repeat(9e9, 9), kraft: repeat(1e9, 9), lead: "takes zk 9 times as long as kraft", shown: true},
		"zeros":               {zk: repeat(0, 9), kraft: repeat(0, 9), lead: "No difference"},
		"zero against some":   {zk: repeat(0, 9), kraft: around(1e9, 9), lead: "No difference"},
		"one nanosecond":      {zk: repeat(1, 9), kraft: repeat(2, 9), lead: "takes kraft 2 times as long as zk", shown: true},
		"huge":                {zk: around(1e300, 9), kraft: around(1e299, 9), lead: "takes zk 10 times as long as kraft", shown: true},
		"invalid": {zk: around(9e9, 9), kraft: around(1e9, 9), lead: "This run is invalid: its numbers must not be compared.", edit: func(m *results.Manifest) {
			m.Cells[0].Verdict, m.Cells[0].Reasons = results.Invalid, []string{"the fault did not bite"}
		}},
		"one side": {zk: around(9e9, 9), lead: "recovery of the controller: 9.036 s", edit: func(m *results.Manifest) { m.Cells = m.Cells[:1] }},
	} {
		t.Run(name, func(t *testing.T) {
			for form, text := range forms(t, oneOf(t, c.zk, c.kraft, c.edit)) {
				if form == "text" || form == "markdown" || form == "html" {
					if !strings.Contains(text, c.lead) {
						t.Errorf("%s does not say %q:\n%.400s", form, c.lead, text)
					}
					if claims := regexp.MustCompile(`× (better|worse)`).MatchString(text); claims && !c.shown {
						t.Errorf("%s claims a difference", form)
					}
				}
				if one := len(c.kraft) == 0 && c.edit != nil; one && (form == "text" || form == "markdown" || form == "html") && strings.Contains(strings.ToLower(text), "what differs") {
					t.Errorf("%s compares a single side with itself", form)
				}
			}
		})
	}
}

// TestPairsAreJudgedAsPairs: the report of an interleaved comparison says what
// its pairs say, and does not judge them a second time as if they were none.
func TestPairsAreJudgedAsPairs(t *testing.T) {
	r, err := simulated.New(simulated.Truth{
		Name: "ab", Targets: []string{"zk"}, Variants: []string{"base", "b"}, Partitions: []int{1000}, Metrics: []string{"controlled-shutdown.moved"},
		Trials: 2, Repeats: 11, Seed: 3, Noise: &simulated.Noise{Sigma: 0.01},
		Value: func(p simulated.Point) float64 { return map[string]float64{"base": 100e6, "b": 80e6}[p.Variant] },
		Edit: func(m *results.Manifest) {
			m.Comparison = &results.Comparison{
				Base: results.ComparedSide{Name: "base"}, Variant: results.ComparedSide{Name: "b"}, Metric: "controlled-shutdown.moved", Margin: 0.05, Pairs: 10, Warmup: 1,
				Matches: []results.MatchedCell{{Point: m.Cells[0].PointLabel(), Base: m.Cells[0].ID, Variant: m.Cells[1].ID}},
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range forms(t, r) {
		if form != "csv" && form != "json" && !strings.Contains(text, "FASTER: b against base") {
			t.Errorf("%s does not say what the pairs say:\n%.300s", form, text)
		}
		if strings.Contains(text, "× better") {
			t.Errorf("%s judges the pairs as if they were none", form)
		}
	}
}

// TestOneRepeatIsOneValue: values that come many to a trial show nothing by
// their number; repeats do.
func TestOneRepeatIsOneValue(t *testing.T) {
	for repeats, shown := range map[int]bool{1: false, 3: false, 6: true} {
		r, err := simulated.New(simulated.Truth{
			Targets: []string{"zk", "kraft"}, Partitions: []int{1000}, Metrics: []string{"propagation.last", "unavailability.partition"}, Trials: 2, Repeats: repeats, Seed: 5, PerTrial: 300,
			Value: func(p simulated.Point) float64 { return map[string]float64{"zk": 10e6, "kraft": 80e6}[p.Target] }, Noise: &simulated.Noise{Sigma: 0.1},
		})
		if err != nil {
			t.Fatal(err)
		}
		rep := mustReport(t, r)
		for _, c := range rep.Comparisons {
			if got := c.Shown == Worse; got != shown || c.N != int64(repeats) {
				t.Errorf("%d repeats of %s: %s with n = %d", repeats, c.Metric, c.Shown, c.N)
			}
		}
		if len(rep.Comparisons) != 2 {
			t.Errorf("%d comparisons, want 2", len(rep.Comparisons))
		}
		forms(t, r)
	}
}

// TestRefusedValues: what no measurement can be does not enter a run.
func TestRefusedValues(t *testing.T) {
	dir := comparison(t)
	for name, bad := range map[string]float64{"negative": -1, "NaN": math.NaN(), "infinite": math.Inf(1)} {
		sample := results.Sample{Cell: "zk.base.partitions-1000", Workload: "controlled-shutdown", Repeat: 1, Trial: 1, Metric: "controlled-shutdown.moved", Value: bad, Unit: results.Nanoseconds}
		if _, err := results.NewRun(results.Manifest{Cells: []results.Cell{{ID: sample.Cell}}}, []results.Sample{sample}); err == nil {
			t.Errorf("%s is taken for a measurement", name)
		}
	}
	if _, err := results.Open(filepath.Join(dir, "nodes")); err == nil {
		t.Error("a directory without a manifest is a run")
	}
}

// TestDamagedStories: events, metrics or histograms that are no longer what
// was written are named with their line; what is only strange is left out.
func TestDamagedStories(t *testing.T) {
	for name, c := range map[string]struct {
		file, from, to string // of the same length, so that only reading finds it
		want           string // of the error; empty where a report is made
	}{
		"events are no JSON":   {"events.jsonl", `{"monoNs"`, `{"monoNs'`, "events.jsonl is damaged: line 1"},
		"events are of a type": {"events.jsonl", `"kind":"fault"`, `"kind":7777777`, "events.jsonl is damaged: line"},
		"metrics are cut":      {"metrics.jsonl", `"node":"broker-1"`, `"node":"broker-1 `, "metrics.jsonl is damaged: line 1"},
		"a histogram is cut":   {"zk.base.partitions-1k.propagation.propagation.1.hlog", "HIST", "TSIH", "propagation.1.hlog is damaged"},
		"an event of nowhere":  {"events.jsonl", `"cell":"zk.base.partitions-1k"`, `"cell":"zk.base.partitions-7k"`, ""},
		"an event of no kind":  {"events.jsonl", `"kind":"fault"`, `"kind":"fruit"`, ""},
		"a fault out of time":  {"events.jsonl", `{"monoNs":1`, `{"monoNs":9`, ""},
		"metrics out of time":  {"metrics.jsonl", `"t":1`, `"t":9`, ""},
		"a negative resource":  {"metrics.jsonl", `"cpu_ms":100`, `"cpu_ms":-99`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := comparison(t)
			path := filepath.Join(dir, c.file)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(b, []byte(c.from)) || len(c.from) != len(c.to) {
				t.Fatalf("%s has no %s to replace by %s:\n%.300s", c.file, c.from, c.to, b)
			}
			if err := os.WriteFile(path, bytes.Replace(b, []byte(c.from), []byte(c.to), 1), 0o644); err != nil {
				t.Fatal(err)
			}
			r := mustOpen(t, dir)
			if c.want == "" {
				forms(t, r)
				return
			}
			if _, err := New(r); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestStrangeNames in every form: nothing breaks out of its place.
func TestStrangeNames(t *testing.T) {
	for _, name := range []string{"a/b\\c", `"quoted" 'twice'`, "<b>&amp;", "=1+1", "-1", "@SUM(A1)", "naïve 日本語", "| pipe | `tick` ```", strings.Repeat("long", 100), "two\nlines", " "} {
		out := forms(t, oneOf(t, around(9e9, 9), around(1e9, 9), func(m *results.Manifest) {
			m.Name = name
			m.Cells[0].Target, m.Cells[0].Point = name, []results.Coordinate{{Axis: "cluster.partitions", Value: name}}
			m.Cells[1].Point = m.Cells[0].Point
		}))
		for i, line := range strings.Split(out["csv"], "\r\n") {
			for _, cell := range strings.Split(line, ",") {
				if cell != "" && strings.ContainsAny(strings.Trim(cell, `"`)[:min(1, len(strings.Trim(cell, `"`)))], "=+-@") {
					t.Errorf("%q: a formula in line %d of the CSV: %s", name, i+1, cell)
				}
			}
		}
		rows := 0
		for line := range strings.Lines(out["markdown"]) {
			if strings.HasPrefix(line, "| headline |") {
				rows = strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			} else if strings.HasPrefix(line, "| recovery.controller |") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != rows {
				t.Errorf("%q breaks the Markdown table: %s", name, line)
			}
		}
	}
}
