package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kbench/results"
	"kbench/results/simulated"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, got, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run with -rewrite and read the diff\n%s", path, got)
	}
}

// truth has trials of both directions and a histogram. kraft is 20 % better
// than zk in everything but creation, where it is 20 % worse.
func truth() simulated.Truth {
	return simulated.Truth{
		Name: "nightly", Targets: []string{"zk", "kraft"}, Partitions: []int{1000, 10_000}, Trials: 10, Seed: 1, Commit: "0123abc",
		Metrics: []string{"creation", "controlled-shutdown.granted", "controlled-shutdown.moved", "propagation.last"},
		Noise:   &simulated.Noise{Sigma: 0.05},
		Value: func(p simulated.Point) float64 {
			v := 1e6 * float64(p.Partitions)
			if p.Metric == "creation.rate" {
				v = 5000
			}
			if p.Target == "kraft" {
				v *= 0.8
			}
			return v
		},
	}
}

func simulate(t *testing.T, tr simulated.Truth) *results.Run {
	t.Helper()
	r, err := simulated.New(tr)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func runs(list ...*results.Run) []Input {
	out := make([]Input, len(list))
	for i, r := range list {
		out[i] = Input{Label: "folder/" + r.Manifest.ID, Run: r}
	}
	return out
}

func mustCompare(t *testing.T, in []Input, o Options) *Comparison {
	t.Helper()
	c, err := New(in, o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, c)
	return c
}

// check holds for every comparison.
func check(t *testing.T, c *Comparison) {
	t.Helper()
	for _, r := range c.Rows {
		if len(r.Values) != len(c.Sides) {
			t.Fatalf("%s.%s has %d values for %d sides", r.Metric, r.Phase, len(r.Values), len(c.Sides))
		}
		for _, ch := range r.Changes {
			if ch.Verdict == "" || ch.Adjusted != nil && *ch.Adjusted < *ch.P || (ch.Lo == nil) != (ch.Hi == nil) {
				t.Errorf("%s.%s: change %+v", r.Metric, r.Phase, ch)
			}
			if ch.Lo != nil && (*ch.Ratio < *ch.Lo*(1-1e-12) || *ch.Ratio > *ch.Hi*(1+1e-12)) {
				t.Errorf("%s.%s: the ratio %v lies outside of %v to %v", r.Metric, r.Phase, *ch.Ratio, *ch.Lo, *ch.Hi)
			}
			if (ch.Verdict == Untested) != (ch.Needs > 0) {
				t.Errorf("%s.%s: %s, needs %d", r.Metric, r.Phase, ch.Verdict, ch.Needs)
			}
		}
	}
	if _, err := c.JSON(); err != nil {
		t.Errorf("JSON: %v", err)
	}
	if _, err := c.CSV(); err != nil {
		t.Errorf("CSV: %v", err)
	}
	c.Markdown()
	for line := range strings.Lines(c.Text()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, " \n")); strings.Contains(line, " | ") && n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestTruths requires that planted changes come out, with their size and in
// the right direction, and that nothing else does.
func TestTruths(t *testing.T) {
	c := mustCompare(t, runs(simulate(t, truth())), Options{})
	if len(c.Rows) != 2*(3+2) || len(c.Unmatched)+len(c.Excluded)+len(c.Differences) != 0 || c.ExitCode() != 0 {
		t.Fatalf("%d rows; %+v %+v %+v", len(c.Rows), c.Unmatched, c.Excluded, c.Differences)
	}
	for _, r := range c.Rows {
		ch := r.Changes[0]
		want := Better
		switch {
		case r.Histogram:
			want = Untested // one repeat
		case r.Metric == "creation":
			want = Worse
		}
		if ch.Verdict != want || math.Abs(*ch.Ratio-0.8) > 0.06 {
			t.Errorf("%s.%s %s: %v %s, want 0.8 %s", r.Metric, r.Phase, r.Stat, *ch.Ratio, ch.Verdict, want)
		}
		if (ch.Adjusted != nil) != (r.Headline && !r.Histogram) {
			t.Errorf("%s.%s: headline %v, adjusted %v", r.Metric, r.Phase, r.Headline, ch.Adjusted)
		}
	}
	if c.HeadlineTests != 4 {
		t.Errorf("%d headline tests, want 4", c.HeadlineTests)
	}
}

// TestHistograms requires repeats for a verdict on a histogram: 3,000 values
// of one trial are no 3,000 trials.
func TestHistograms(t *testing.T) {
	tr := truth()
	tr.Metrics, tr.Partitions = []string{"propagation.last"}, []int{1000}
	for repeats, want := range map[int]Verdict{1: Untested, 3: Untested, 4: Better, 8: Better} {
		tr.Repeats, tr.PerTrial = repeats, 300
		c := mustCompare(t, runs(simulate(t, tr)), Options{})
		if len(c.Rows) != 2 || c.Rows[0].Stat != median || c.Rows[1].Stat != p99 || c.Rows[1].Headline {
			t.Fatalf("rows %+v", c.Rows)
		}
		for _, r := range c.Rows {
			v := r.Values[0]
			if r.Changes[0].Verdict != want || v.N != repeats || v.Count != int64(repeats*10*300) {
				t.Errorf("%d repeats, %s: %s with n %d of %d values, want %s", repeats, r.Stat, r.Changes[0].Verdict, v.N, v.Count, want)
			}
		}
	}
}

// TestSame requires that a run never differs from itself, and that swapping
// the sides turns every answer around.
func TestSame(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: many simulated runs, which share nothing")
	}
	for seed := range uint64(10) {
		tr := truth()
		tr.Seed, tr.Repeats = seed, 1+int(seed%5)
		tr.Noise = &simulated.Noise{Sigma: 0.3, AR: 0.3, Outliers: 0.05, Factor: 5}
		a := simulate(t, tr)
		c := mustCompare(t, runs(a, a), Options{})
		for _, r := range c.Rows {
			if ch := r.Changes[0]; ch.Verdict != None && ch.Verdict != Untested || ch.P != nil && *ch.P != 1 || *ch.Ratio != 1 {
				t.Fatalf("%s.%s differs from itself: %+v", r.Metric, r.Phase, ch)
			}
		}
		if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "same run") {
			t.Fatalf("warnings %q", c.Warnings)
		}
		tr.Seed += 100
		value := tr.Value
		tr.Value = func(p simulated.Point) float64 { return 1.3 * value(p) }
		b := simulate(t, tr)
		x, y := mustCompare(t, runs(a, b), Options{}), mustCompare(t, runs(b, a), Options{})
		turned := map[Verdict]Verdict{Better: Worse, Worse: Better, None: None, Untested: Untested}
		for i, r := range x.Rows {
			one, other := r.Changes[0], y.Rows[i].Changes[0]
			if math.Abs(*one.Ratio**other.Ratio-1) > 1e-9 || other.Verdict != turned[one.Verdict] || one.P != nil && math.Abs(*one.P-*other.P) > 1e-12 {
				t.Fatalf("%s.%s: %+v, swapped %+v", r.Metric, r.Phase, one, other)
			}
			if one.Lo != nil && math.Abs(*one.Lo**other.Hi-1) > 1e-9 {
				t.Fatalf("%s.%s: from %v, swapped up to %v", r.Metric, r.Phase, *one.Lo, *other.Hi)
			}
		}
	}
}

// TestFalseAlarms measures how often any headline of two runs of the same
// truth is said to differ.
func TestFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: hundreds of simulated runs, which share nothing")
	}
	tr := truth()
	tr.Metrics = []string{"creation", "controlled-shutdown.moved", "recovery.controller.first-admin", "recovery.broker.moved"}
	tr.Noise = &simulated.Noise{Sigma: 0.1, Outliers: 0.02, Factor: 5}
	const rounds = 800
	alarms := 0
	for range rounds {
		tr.Seed += 2
		a := simulate(t, tr)
		tr.Seed++
		c, err := New(runs(a, simulate(t, tr)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Rows {
			if v := r.Changes[0].Verdict; v == Better || v == Worse {
				alarms++
				break
			}
		}
	}
	// 16 headline tests in each comparison; 0.05 and three standard errors.
	if share := float64(alarms) / rounds; share > 0.073 {
		t.Errorf("a headline differs in %v of comparisons of equals", share)
	} else {
		t.Logf("false alarms %v", share)
	}
}

// TestMatrix requires that the best is marked where it is better than every
// other, and nowhere else.
func TestMatrix(t *testing.T) {
	tr := truth()
	tr.Targets, tr.Metrics = []string{"kraft"}, []string{"creation", "controlled-shutdown.granted", "controlled-shutdown.moved"}
	tr.Variants = []string{"base", "linger-5ms", "linger-50ms", "no-prevote"}
	tr.Value = func(p simulated.Point) float64 {
		factor := map[string]float64{"base": 1, "linger-5ms": 0.9, "linger-50ms": 0.7, "no-prevote": 1}[p.Variant]
		switch {
		case p.Metric == "creation.rate":
			return 5000 / factor
		case p.Metric == "controlled-shutdown.granted":
			return 1e8
		case p.Partitions == 1000 && p.Variant == "linger-5ms":
			return 0.71e9 // hardly apart from the best
		}
		return 1e9 * factor
	}
	c := mustCompare(t, runs(simulate(t, tr)), Options{})
	for _, r := range c.Rows {
		want := -1
		if r.Metric == "creation" || r.Phase == "moved" && r.Partitions == 10_000 {
			want = 2
		}
		got := -1
		if r.Best != nil {
			got = *r.Best
		}
		if got != want {
			t.Errorf("%s.%s at %s: the best is %d, want %d", r.Metric, r.Phase, r.Point, got, want)
		}
	}
	if len(c.Differences) != 3 || c.Differences[0].Why != "variant" || c.Differences[0].Path != "broker.replicaLagMax" {
		t.Errorf("differences %+v", c.Differences)
	}
	golden(t, "matrix.txt", []byte(c.Text()))
	golden(t, "matrix.md", []byte(c.Markdown()))
}

// TestForms fixes all forms of two runs with something of everything.
func TestForms(t *testing.T) {
	tr := truth()
	tr.Partitions, tr.Repeats = []int{1000, 10_000, 100_000}, 4
	a := simulate(t, tr)
	tr.Partitions, tr.Started = []int{1000, 10_000, 30_000}, time.Date(2026, 1, 6, 2, 0, 0, 0, time.UTC)
	tr.Seed, tr.Commit = 2, "456def"
	value := tr.Value
	tr.Value = func(p simulated.Point) float64 {
		if p.Target == "zk" && p.Metric != "propagation.last" {
			return value(p) * 1.25
		}
		return value(p)
	}
	tr.Invalid = func(p simulated.Point) string {
		if p.Target == "kraft" && p.Partitions == 10_000 && p.Trial == 3 {
			return "the fault did not bite"
		}
		return ""
	}
	tr.Edit = func(m *results.Manifest) {
		m.Environment.Kernel = "6.2.0"
		m.Observed.FsyncP50 *= 4
		m.Interrupted = true
	}
	b := simulate(t, tr)
	if _, err := New(runs(a, b), Options{}); err == nil {
		t.Error("another kernel was not refused")
	}
	if _, err := New(runs(a, b), Options{Ignore: []string{"environment.kernel", "no.such.path"}}); err == nil || !strings.Contains(err.Error(), "no.such.path") {
		t.Errorf("a path that names nothing is ignored in silence: %v", err)
	}
	c := mustCompare(t, runs(a, b), Options{Ignore: []string{"environment.kernel"}})
	j, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	table, err := c.CSV()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "two.txt", []byte(c.Text()))
	golden(t, "two.md", []byte(c.Markdown()))
	golden(t, "two.json", j)
	golden(t, "two.csv", table)
	var back Comparison
	if err := json.Unmarshal(j, &back); err != nil || len(back.Rows) != len(c.Rows) || back.Format != "kbench-comparison" {
		t.Errorf("JSON reads back as %d rows, %v", len(back.Rows), err)
	}
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil || len(rows) != 1+len(c.Rows) {
		t.Errorf("CSV reads back as %d lines, %v", len(rows), err)
	}
}

// TestLeftOut requires that what is not valid or alone enters nothing.
func TestLeftOut(t *testing.T) {
	a := simulate(t, truth())
	tr := truth()
	tr.Seed = 2
	tr.Invalid = func(p simulated.Point) string { return "slow disk" }
	bad := simulate(t, tr)
	c := mustCompare(t, runs(a, bad), Options{})
	if c.ExitCode() != 3 || len(c.Excluded) != 4 || len(c.Unmatched) != 0 || c.Excluded[0].Side != "B" || !strings.Contains(c.Why(), "4 cells") {
		t.Errorf("exit code %d, excluded %+v, unmatched %+v, %s", c.ExitCode(), c.Excluded, c.Unmatched, c.Why())
	}
	// A run that broke as a whole, although its cells are valid.
	tr.Invalid, tr.Edit = nil, func(m *results.Manifest) { m.Cells = nil }
	tr.Trials = 0
	empty := simulate(t, tr)
	c = mustCompare(t, runs(a, empty), Options{})
	if c.ExitCode() != 3 || len(c.Excluded) != 1 || c.Excluded[0].Cell != "" {
		t.Errorf("exit code %d, excluded %+v", c.ExitCode(), c.Excluded)
	}
	// Other targets, and the hint how to compare them.
	tr = truth()
	tr.Targets = []string{"kafka-kraft@4.4.0"}
	other := simulate(t, tr)
	c = mustCompare(t, runs(a, other), Options{})
	if c.ExitCode() != 3 || len(c.Unmatched) != 3*2*4 || !strings.Contains(c.Why(), "--by target") {
		t.Errorf("exit code %d, %d unmatched, %s", c.ExitCode(), len(c.Unmatched), c.Why())
	}
	c = mustCompare(t, runs(a, other), Options{By: []string{"target"}})
	if c.ExitCode() != 0 || len(c.Sides) != 3 || c.Sides[2].Name != "B kafka-kraft@4.4.0" {
		t.Errorf("exit code %d, sides %+v", c.ExitCode(), c.Sides)
	}
}

// TestConditions requires that whatever differs is named and refused.
func TestConditions(t *testing.T) {
	a := simulate(t, truth())
	for path, edit := range map[string]func(*results.Manifest){
		"cluster.brokers": func(m *results.Manifest) {
			for i := range m.Cells {
				m.Cells[i].Config["cluster.brokers"] = "5"
			}
		},
		"kraft.newSetting": func(m *results.Manifest) {
			for i := range m.Cells {
				m.Cells[i].Config["kraft.newSetting"] = "1"
			}
		},
		"store":                     func(m *results.Manifest) { m.Cells[0].Store = "ZooKeeper, ensemble of 3" },
		"provider":                  func(m *results.Manifest) { m.Provider = "docker" },
		"environment.kernel":        func(m *results.Manifest) { m.Environment.Kernel = "6.2.0" },
		"environment.cores":         func(m *results.Manifest) { m.Environment.Cores = 2 },
		"environment.cpuQuota":      func(m *results.Manifest) { m.Environment.CPUQuota = "1.50" },
		"environment.versions.java": func(m *results.Manifest) { m.Environment.Versions = map[string]string{"java": "21"} },
		"workloads.controlled-shutdown.probe.rate": func(m *results.Manifest) {
			m.SpecYAML = strings.Replace(m.SpecYAML, "kind: controlled-shutdown,", "kind: controlled-shutdown, probe: {rate: 200/s},", 1)
		},
		"workloads.create-topics": func(m *results.Manifest) {
			m.SpecYAML = strings.Replace(m.SpecYAML, "  - {kind: create-topics, trials: 10}\n", "", 1)
		},
		"workloads": func(m *results.Manifest) {
			line := "  - {kind: create-topics, trials: 10}\n"
			m.SpecYAML = strings.Replace(m.SpecYAML, line, "", 1) + line
		},
		"spec": func(m *results.Manifest) { m.SpecYAML = "name: [unclosed" },
	} {
		tr := truth()
		tr.Edit = edit
		b := simulate(t, tr)
		_, err := New(runs(a, b), Options{})
		var no *IncomparableError
		if !errors.As(err, &no) || !strings.Contains(err.Error(), "--ignore") || !strings.Contains(err.Error(), "  "+path+": ") {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, d := range no.Differences {
			if path != "spec" && d.Path != path {
				t.Errorf("%s: %s is named too", path, d.Path)
			}
		}
		ignore := []string{path}
		if path == "spec" {
			ignore = append(ignore, "workloads")
		}
		c, err := New(runs(a, b), Options{Ignore: ignore})
		if err != nil || len(c.Rows) == 0 || len(c.Differences) == 0 || c.Differences[0].Why != "ignored" {
			t.Errorf("%s ignored: %v", path, err)
		}
		if top, _, ok := strings.Cut(path, "."); ok {
			if _, err := New(runs(a, b), Options{Ignore: []string{top}}); err != nil {
				t.Errorf("%s ignored with all of %s: %v", path, top, err)
			}
		}
		if _, err := New(runs(a, b), Options{Ignore: []string{path + "x", "x"}}); err == nil {
			t.Errorf("%s: ignored by another path", path)
		}
	}
	// How much was measured, the name, seed, bounds and the ladder may differ.
	tr := truth()
	tr.Name, tr.Seed, tr.Trials, tr.Repeats, tr.Partitions, tr.Bounds = "other", 9, 5, 2, []int{10_000, 1000}, []string{"creation.median > 1/s"}
	if c, err := New(runs(a, simulate(t, tr)), Options{}); err != nil || len(c.Rows) != 2*2*5 {
		t.Errorf("%v", err)
	}
}

// TestOptions requires a word on what cannot be asked.
func TestOptions(t *testing.T) {
	one := truth()
	one.Targets = []string{"zk"}
	r := simulate(t, one)
	tr := truth()
	tr.Edit = func(m *results.Manifest) { m.Comparison = &results.Comparison{} }
	pairs := simulate(t, tr)
	many := make([]*results.Run, maxRuns+1)
	for i := range many {
		many[i] = r
	}
	for name, c := range map[string]struct {
		in   []Input
		o    Options
		want string
	}{
		"none":  {nil, Options{}, "name a run folder"},
		"alone": {runs(r), Options{}, "name a second run"},
		"side":  {runs(r), Options{By: []string{"variant"}}, "only side"},
		"by":    {runs(r, r), Options{By: []string{"broker"}}, "target, variant"},
		"pairs": {runs(pairs), Options{}, "kbench ab"},
		"many":  {runs(many...), Options{}, "too many"},
	} {
		if _, err := New(c.in, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if c := mustCompare(t, runs(r, r), Options{By: []string{"target", "variant"}}); c.Sides[1].Name != "B zk base" {
		t.Errorf("sides %+v", c.Sides)
	}
	if letters(0) != "A" || letters(25) != "Z" || letters(26) != "AA" || letters(63) != "BL" {
		t.Errorf("runs are named %s %s %s %s", letters(0), letters(25), letters(26), letters(63))
	}
}

// TestStrangeValues requires a correct answer of values that real runs hardly
// have.
func TestStrangeValues(t *testing.T) {
	for name, c := range map[string]struct {
		trials   int
		a, b     float64
		want     Verdict
		hasRatio bool
	}{
		"no samples":     {0, 1, 1, "", false},
		"one sample":     {1, 1e9, 2e9, Untested, true},
		"three samples":  {3, 1e9, 2e9, Untested, true},
		"equal samples":  {10, 1e9, 1e9, None, true},
		"zeros":          {10, 0, 0, None, true},
		"from zero":      {10, 0, 1e9, Worse, false},
		"to zero":        {10, 1e9, 0, Better, true},
		"huge":           {10, 1e300, 3e300, Worse, true},
		"from tiny":      {10, 1e-300, 1e300, Worse, false},
		"by a hair":      {10, 1e9, 1e9 + 1e-6, Worse, true},
		"quantised step": {10, 1, 2, Worse, true},
	} {
		t.Run(name, func(t *testing.T) {
			tr := truth()
			tr.Metrics, tr.Targets, tr.Partitions = []string{"controlled-shutdown.moved"}, []string{"zk", "kraft"}, []int{1000}
			tr.Noise, tr.Trials = nil, c.trials
			tr.Value = func(p simulated.Point) float64 {
				if p.Target == "zk" {
					return c.a
				}
				return c.b
			}
			got := mustCompare(t, runs(simulate(t, tr)), Options{})
			if c.want == "" {
				if len(got.Rows) != 0 || got.ExitCode() != 3 || got.Why() == "" {
					t.Errorf("%d rows, exit code %d, %s", len(got.Rows), got.ExitCode(), got.Why())
				}
				return
			}
			if ch := got.Rows[0].Changes[0]; ch.Verdict != c.want || (ch.Ratio != nil) != c.hasRatio {
				t.Errorf("%+v, want %s", ch, c.want)
			}
		})
	}
}

// TestStrangeNames requires that no name breaks a form.
func TestStrangeNames(t *testing.T) {
	names := []string{"=HYPERLINK(\"x\")", "<script>alert(1)</script>", "a|b", "\"q'", "ö/ü", "line\nbreak\x1b[31m", strings.Repeat("long", 30)}
	tr := truth()
	tr.Targets, tr.Name, tr.Commit = names, "<b>=1|x\n</b>", "<i>\n"
	tr.Variants = []string{"base", "=v|<w>"}
	r := simulate(t, tr)
	for _, o := range []Options{{}, {By: []string{"target"}}, {By: []string{"target", "variant"}}} {
		c := mustCompare(t, []Input{{Label: "=evil|<u>\n", Run: r}}, o)
		if strings.ContainsAny(c.Text(), "\x1b") || strings.ContainsAny(c.Markdown(), "\x1b") {
			t.Error("a name moves the cursor")
		}
		if md := c.Markdown(); strings.Contains(md, "<script>") || strings.Contains(md, "<b>") {
			t.Error("a name is markup")
		}
		for line := range strings.Lines(c.Markdown()) {
			if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, "\\|", ""), "|") != strings.Count(firstRow(c.Markdown()), "|") {
				t.Errorf("a name breaks a table: %s", line)
			}
		}
		b, err := c.CSV()
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			for i, cell := range row {
				if cell != "" && strings.ContainsRune("=@", rune(cell[0])) {
					t.Errorf("column %s is a formula: %s", csvHeader[i], cell)
				}
			}
		}
	}
}

// firstRow is a row of the tables of a Markdown text whose names hold no bars.
func firstRow(md string) string {
	for line := range strings.Lines(md) {
		if strings.HasPrefix(line, "| ---") {
			return line
		}
	}
	return ""
}

// TestSpec reads what stored specs hold beyond settings.
func TestSpec(t *testing.T) {
	s := readSpec("name: 'x'\nworkloads:\n  - {kind: propagation, rate: 100/s, duration: 30s, probe: {rate: 200/s}}\n  - {kind: propagation, rate: 1/s, trials: 4}\nvariants:\n  - name: 'v'\n    set:\n      kraft.append.linger: 5ms\n      zk.fencedWrites: false\n")
	want := map[string]string{
		"workloads": "propagation propagation#2", "workloads.propagation": "present", "workloads.propagation.rate": "100/s",
		"workloads.propagation.duration": "30s", "workloads.propagation.probe.rate": "200/s",
		"workloads.propagation#2": "present", "workloads.propagation#2.rate": "1/s",
	}
	if fmt.Sprint(s.workloads) != fmt.Sprint(want) || fmt.Sprint(s.variants) != "map[v:[kraft.append.linger zk.fencedWrites]]" {
		t.Errorf("%v, %v", s.workloads, s.variants)
	}
}
