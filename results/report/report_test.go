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

	"kbench/results"
)

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
		t.Errorf("%s differs; run with -rewrite and read the diff", path)
	}
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
	r := mustOpen(t, comparison(t, "kraft: recovery.controller.median < 4s", "zk partitions=10k: p99(propagation.last) < 1ms", "unavailability.p99.9 < 1s"))
	rep := mustReport(t, r)
	rep.Run.Files = nil // sizes and digests are another test's
	golden(t, "report.txt", []byte(rep.Text()))
	golden(t, "report.md", []byte(rep.Markdown()))
	c, err := rep.CSV()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.csv", c)
	j, err := rep.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(j, &back); err != nil || !reflect.DeepEqual(back.Figures, rep.Figures) || !reflect.DeepEqual(back.Comparisons, rep.Comparisons) {
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
	r := mustOpen(t, comparison(t))
	evil := "<script>alert(1)</script>|`*_[x](http://x)\x1b[31m\n=1+1"
	r.Manifest.Name, r.Manifest.Warnings = evil, []string{evil}
	r.Manifest.Cells[0].Store, r.Manifest.CommandLine, r.Manifest.SpecYAML = evil, []string{evil}, evil
	rep := mustReport(t, r)
	h, err := rep.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(h, []byte("<script>alert")) {
		t.Error("a script in the page")
	}
	csv, err := rep.CSV()
	if err != nil || bytes.Contains(csv, []byte("\n=1+1")) {
		t.Errorf("%v, a formula in the CSV:\n%s", err, csv)
	}
	md, text := rep.Markdown(), rep.Text()
	md, _, _ = strings.Cut(md, "<summary>How to reproduce") // code is in fences
	if strings.Contains(md, "<script>") || strings.Contains(md, "[x](") || strings.Contains(text+md, "\x1b") {
		t.Errorf("foreign text is markup:\n%.2000s", md)
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "=1+1") {
			t.Errorf("line %d was broken by foreign text", i)
		}
	}
}

func TestWriteReportsAnew(t *testing.T) {
	dir := comparison(t)
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
	r := mustOpen(t, comparison(t))
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
