package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"kbench/results"
)

var started = time.Date(2026, 11, 29, 17, 0, 0, 0, time.UTC)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
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

// writeComparison makes a run of two targets at two rungs with known truths.
func writeComparison(t *testing.T, out string, bounds ...string) string {
	t.Helper()
	w, err := results.Create(out, "zk-vs-kraft", started)
	if err != nil {
		t.Fatal(err)
	}
	m := results.Manifest{
		Name: "zk-vs-kraft", Started: started, Ended: started.Add(5 * time.Minute), Provider: "process",
		CommandLine: []string{"kbench", "run"}, Tool: results.Tool{Version: "0.1", Commit: "0123456789abcdef", Go: "go1.26"},
		Environment: results.Environment{OS: "linux", CPU: "Test CPU", Cores: 2, MemoryMB: 4096, FileSystem: "ext4"},
		Differences: []results.Contrast{{What: "how brokers learn", Values: map[string]string{"zk": "pushed | in turn", "kraft": "fetched"}}},
		Bounds:      bounds, SpecYAML: "name: zk-vs-kraft\n",
	}
	for i, p := range []string{"1k", "10k"} {
		for j, target := range []string{"zk", "kraft"} {
			c := results.Cell{
				ID: target + ".base.partitions-" + p, Target: target, Variant: "base", Partitions: []int{1000, 10000}[i],
				Point: []results.Coordinate{{Axis: "cluster.partitions", Value: p}}, Config: map[string]string{"cluster.partitions": p},
				Store: []string{"embedded, not replicated", "metadata log, 3 voters"}[j], Verdict: results.Valid,
				Checks: []results.Check{{Name: "acknowledged", OK: true, Looked: 10}},
			}
			m.Cells = append(m.Cells, c)
			for trial := 1; trial <= 3; trial++ {
				v := float64((i+1)*(2-j)*trial) * 1e6
				add := func(metric string, v float64, u results.Unit, valid bool) {
					s := results.Sample{Cell: c.ID, Repeat: 1, Trial: trial, Metric: metric, Value: v, Unit: u, Valid: valid, AtNs: 1}
					mm, _, _ := results.FindMetric(metric)
					s.Workload = mm.Workload
					if err := w.Sample(s); err != nil {
						t.Fatal(err)
					}
				}
				add("controlled-shutdown.granted", v, results.Nanoseconds, true)
				add("controlled-shutdown.moved", v*1.5, results.Nanoseconds, trial != 2 || j == 0)
				add("recovery.controller.detect", 2e9, results.Nanoseconds, true)
				add("recovery.controller.load", v, results.Nanoseconds, true)
				add("recovery.controller.first-admin", 2e9+v, results.Nanoseconds, true)
				add("creation.rate", 12345.6/float64(trial), results.PerSecond, true)
			}
			r := results.NewRecorder(1)
			for k := range 500 {
				r.Shard(0).Record(time.Duration((k+1)*(i+1)) * 10 * time.Microsecond)
			}
			name := results.HlogFigure("propagation", "propagation", 1)
			if err := w.Hlog(c.ID, name, []results.Interval{{Tag: "first", Start: started, End: started, Dist: r.Merged()}, {Tag: "last", Start: started, End: started, Dist: r.Merged()}}); err != nil {
				t.Fatal(err)
			}
			if err := w.Hlog(c.ID, results.HlogFigure("controlled-shutdown", "unavailability", 1), []results.Interval{{Tag: "partition", Start: started, End: started, Dist: r.Merged()}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	path, err := w.Commit(m)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t *testing.T, path string) *results.Run {
	t.Helper()
	r, err := results.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustReport(t *testing.T, r *results.Run) *Report {
	t.Helper()
	rep, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestReportForms(t *testing.T) {
	r := mustOpen(t, writeComparison(t, t.TempDir(), "kraft: recovery.controller.median < 4s", "zk partitions=10k: p99(propagation.last) < 1ms", "unavailability.p99.9 < 1s"))
	rep := mustReport(t, r)
	rep.Run.Files = nil // sizes and digests are another test's
	golden(t, "report.txt", []byte(rep.Text()))
	golden(t, "report.md", []byte(rep.Markdown()))
	j, err := rep.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", j)
	h, err := rep.HTML()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.html", h)
	var back Report
	if err := json.Unmarshal(j, &back); err != nil || !reflect.DeepEqual(back.Figures, rep.Figures) {
		t.Errorf("report.json does not come back: %v", err)
	}
	for _, f := range rep.Figures {
		if f.Min > f.Median || f.Median > f.Max || f.MedianLo != nil && (*f.MedianLo > f.Median || *f.MedianHi < f.Median) {
			t.Errorf("order broken: %+v", f)
		}
		for p, v := range f.Percentiles {
			if v < f.Median || v > f.Max {
				t.Errorf("%s %v outside median and max of %+v", p, v, f)
			}
		}
	}
}

// TestHostileNames: text of others stays text in every form.
func TestHostileNames(t *testing.T) {
	r := mustOpen(t, writeComparison(t, t.TempDir()))
	evil := "<script>alert(1)</script>|`*_[x](http://x)\x1b[31m\n=1+1"
	r.Manifest.Name, r.Manifest.Warnings = evil, []string{evil}
	r.Manifest.Cells[0].Store, r.Manifest.CommandLine, r.Manifest.SpecYAML = evil, []string{evil}, evil
	rep := mustReport(t, r)
	h, err := rep.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(h, []byte("<script>")) {
		t.Error("a script in the page")
	}
	md, text := rep.Markdown(), rep.Text()
	if strings.Contains(md, "<script>") || strings.Contains(md, "[x](") || strings.Contains(text+md, "\x1b") {
		t.Errorf("foreign text is markup:\n%s", md)
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "=1+1") {
			t.Errorf("line %d was broken by foreign text", i)
		}
	}
}

func TestWriteReportsAnew(t *testing.T) {
	dir := writeComparison(t, t.TempDir())
	for range 2 { // reports are no part of what results.Open checks
		if err := Write(mustOpen(t, dir), dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range results.ReportNames {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(b) < 1000 {
				t.Errorf("%s: %d bytes, %v", name, len(b), err)
			}
		}
	}
}

func TestReportTellsTheVerdict(t *testing.T) {
	r := mustOpen(t, writeComparison(t, t.TempDir()))
	for _, v := range []results.Verdict{results.Valid, results.Invalid, results.Inconclusive} {
		r.Manifest.Verdict = v
		rep := mustReport(t, r)
		for _, form := range []string{rep.Text(), rep.Markdown()} {
			if !strings.Contains(form, strings.ToUpper(string(v))) {
				t.Errorf("the report does not tell %s", v)
			}
		}
	}
}
