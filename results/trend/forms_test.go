package trend

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kbench/results/history"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// story has every kind of night and change.
func story() history.Loaded {
	values := append(append(steady(1e9, 30), 5e9), steady(1e9, 5)...)
	first := seriesOf(append(values, steady(1.2e9, 3)...)...)
	first.Readings[7].Why, first.Readings[7].N, first.Readings[7].Median = "invalid: the generator slipped", 0, 0
	first.Readings[9].Apart = 0.04
	for i := range first.Readings {
		first.Readings[i].Commit = fmt.Sprintf("%040x", i)
	}
	old := first
	old.Comparable, old.Readings = "another environment", seriesOf(steady(3e9, 4)...).Readings
	rate := seriesOf(append(steady(5000, 20), steady(4000, 20)...)...)
	rate.SeriesKey = history.SeriesKey{Cell: "kraft.base", Workload: "create-topics", Metric: "creation", Phase: "rate"}
	rate.Unit = "1/s"
	phase := seriesOf(steady(5e7, 5)...)
	phase.Phase, phase.Headline = "load", false
	return history.Loaded{
		Path: "kbench-history/history.jsonl", Series: []history.Series{rate, first, old, phase}, Notes: []string{"a note"},
		Accepts: []history.Accept{{Run: rate.Readings[20].Run, RunAt: rate.Readings[20].At, Metric: "creation", Reason: "fewer threads", By: "me"}},
	}
}

func mustReport(t *testing.T, l history.Loaded, w Watch) *Report {
	t.Helper()
	r, err := NewReport(l, w, DefaultRule())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestForms(t *testing.T) {
	r := mustReport(t, story(), Watch{})
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.CSV()
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"trend.txt": r.Text(), "trend.md": r.Markdown(), "trend.json": string(b), "trend.csv": table, "trend.svg": r.SVG(), "trend.html": r.HTML(),
	} {
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
			t.Errorf("%s is not the golden file; -rewrite it and read the difference. It is\n%s", name, got)
		}
	}
	if r.Alerts() != 1 || r.Ended != 1 || len(r.Analyses) != 2 {
		t.Errorf("%d alerts, %d ended, %d series", r.Alerts(), r.Ended, len(r.Analyses))
	}
}

func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		w    Watch
		want int
	}{
		"headlines": {Watch{}, 2},
		"all":       {Watch{All: true}, 4},
		"metric":    {Watch{Metric: "recovery.controller"}, 1},
		"phase":     {Watch{Metric: "recovery.controller.load"}, 1},
		"cell":      {Watch{Cell: "kraft.base"}, 1},
		"both":      {Watch{Cell: "kraft.base", Metric: "recovery.controller"}, 0},
	} {
		r := mustReport(t, story(), c.w)
		if len(r.Analyses) != c.want {
			t.Errorf("%s: %d series", name, len(r.Analyses))
		}
		if want := DefaultRule().For(c.want).AlertP; r.Rule.AlertP != want {
			t.Errorf("%s: p %v, want %v", name, r.Rule.AlertP, want)
		}
	}
}

// TestTwoMachines: series of two environments that go on side by side are both
// watched.
func TestTwoMachines(t *testing.T) {
	s := seriesOf(steady(1e9, 40)...)
	a, b := s, s
	a.Readings, b.Readings, b.Comparable = nil, nil, "b"
	for i, r := range s.Readings {
		if i%2 == 0 {
			a.Readings = append(a.Readings, r)
		} else {
			b.Readings = append(b.Readings, r)
		}
	}
	r := mustReport(t, history.Loaded{Series: []history.Series{b, a}}, Watch{})
	if len(r.Analyses) != 2 || r.Ended != 0 || r.Analyses[0].Elsewhere != 20 {
		t.Errorf("%d series, %d ended", len(r.Analyses), r.Ended)
	}
}

// TestForeignText: names of any letters stay text in every form, and every form
// stays what it is.
func TestForeignText(t *testing.T) {
	odd := "=a/b \"<script>alert(1)</script>\" & ü\u2028\n\x00\x1b[31m|`'"
	l := story()
	s := &l.Series[1]
	s.Cell, s.Workload, s.Target = odd, odd, odd
	for i := range s.Readings {
		s.Readings[i].Run, s.Readings[i].Commit = odd, odd
	}
	s.Readings[7].Why = odd
	l.Path, l.Notes, l.Accepts[0].Reason, l.Accepts[0].Metric = odd, []string{odd}, odd, ""
	r := mustReport(t, l, Watch{})
	forms := map[string]string{"text": r.Text(), "md": r.Markdown(), "svg": r.SVG(), "html": r.HTML()}
	for name, form := range forms {
		if strings.Contains(form, "\x1b") || strings.Contains(form, "\x00") || strings.Contains(form, "\u2028") {
			t.Errorf("%s has control characters", name)
		}
		if name != "text" && strings.Contains(form, "<script") {
			t.Errorf("%s has markup of others:\n%s", name, form)
		}
	}
	for _, name := range []string{"svg", "html"} {
		form := strings.NewReplacer("<!DOCTYPE html>", "", `<meta charset="utf-8">`, "", `initial-scale=1">`, `initial-scale=1"/>`, `'unsafe-inline'">`, `'unsafe-inline'"/>`).Replace(forms[name])
		d := xml.NewDecoder(strings.NewReader(form))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s is not well-formed: %v", name, err)
				break
			}
		}
	}
	b, err := r.JSON()
	if err != nil || !json.Valid(b) {
		t.Errorf("%v", err)
	}
	text, err := r.CSV()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	for _, cell := range rows[1] {
		if strings.HasPrefix(cell, "=") {
			t.Errorf("a spreadsheet would run %q", cell)
		}
	}
}

// TestEmptyForms: no series, and series that say nothing, have every form too.
func TestEmptyForms(t *testing.T) {
	invalid := seriesOf(0, 0)
	for i := range invalid.Readings {
		invalid.Readings[i].N, invalid.Readings[i].Why = 0, "invalid"
	}
	for name, series := range map[string][]history.Series{
		"none": nil, "no night": {seriesOf()}, "invalid": {invalid}, "one": {seriesOf(5e9)}, "equal": {seriesOf(1, 1, 1)},
		"zero": {seriesOf(0, 0, 0)}, "huge": {seriesOf(1e308, 1e308, 1e308)}, "long": {seriesOf(steady(1e9, 400)...)},
	} {
		r := mustReport(t, history.Loaded{Path: "h", Series: series}, Watch{})
		b, err := r.JSON()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for form, text := range map[string]string{"text": r.Text(), "md": r.Markdown(), "svg": r.SVG(), "html": r.HTML(), "json": string(b)} {
			for _, bad := range []string{"NaN", "Inf", "%!"} {
				if strings.Contains(text, bad) {
					t.Errorf("%s as %s has %s:\n%s", name, form, bad, text)
				}
			}
		}
		if r.Alerts() != 0 {
			t.Errorf("%s alerts", name)
		}
	}
}

// TestRoundValues: an axis has three to six round values within its ends.
func TestRoundValues(t *testing.T) {
	for _, ends := range [][2]float64{{0, 1}, {87.7e6, 141e6}, {1, 1.02}, {0, 9}, {3.3e9, 1e11}, {99, 101}, {0.6, 0.7}} {
		v := roundValues(ends[0], ends[1])
		if len(v) < 3 || len(v) > 6 {
			t.Errorf("%v: %d values, %v", ends, len(v), v)
		}
		for _, x := range v {
			if x < ends[0] || x > ends[1] || len(strings.Trim(strings.ReplaceAll(strconv.FormatFloat(x/math.Pow(10, math.Floor(math.Log10(max(x, 1e-9)))), 'g', 4, 64), ".", ""), "0")) > 4 {
				t.Errorf("%v: %v is outside or not round", ends, x)
			}
		}
	}
	if v := roundValues(87.7e6, 141e6); !slices.Equal(v, []float64{90e6, 100e6, 110e6, 120e6, 130e6, 140e6}) {
		t.Errorf("from 87.7 to 141 ms: %v", v)
	}
}
