package gate

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kbench/results"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

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
	if err != nil || string(got) != string(want) {
		t.Errorf("%s differs (%v); go test ./results/gate -rewrite, and read the difference:\n%s", path, err, got)
	}
}

// hostile is a report in which every name wants to be markup, XML or a command.
func hostile() *Report {
	v, bound, base, p := 120e6, 110e6, 100e6, 0.0004
	evil := "<i>&\"'|`%0A::error::\r\n,: ]]> \x00\x1b[31mé="
	r := &Report{
		Format: "kbench-gate", SchemaVersion: 1, Run: "20260101T020000Z-nightly", Name: "nightly " + evil,
		Started: time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC), SpecHash: "0123", EnvHash: "4567", Notes: []string{"note " + evil},
	}
	check := func(kind string, state State, message string) Check {
		return Check{
			Kind: kind, Cell: "zk." + evil, Workload: "controlled-shutdown", Metric: "controlled-shutdown.moved", Stat: results.StatMedian,
			Unit: results.Nanoseconds, Rule: "zk: controlled-shutdown.median < 110ms", State: state, Value: &v, Bound: &bound, Baseline: &base,
			Nights: 20, P: &p, Adjusted: &p, Message: message,
		}
	}
	none := check(KindThreshold, NoData, "no data: "+evil)
	none.Value, none.Bound, none.Baseline, none.P, none.Adjusted = nil, nil, nil, nil, nil
	elsewhere := check(KindHistory, Improved, "better")
	elsewhere.Metric = "unavailability.partition"
	r.Checks = []Check{check(KindThreshold, Passed, "fine"), check(KindThreshold, Missed, "120 ms"), check(KindHistory, Missed, "20 % worse"), elsewhere, check(KindHistory, NoBaseline, "2 of 5 nights"), none}
	r.conclude(Options{})
	return r
}

func TestForms(t *testing.T) {
	r := hostile()
	golden(t, "gate.txt", []byte(r.Text()))
	golden(t, "gate.md", []byte(r.Markdown()))
	junit, err := r.JUnit()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "junit.xml", junit)
	golden(t, "github.txt", r.GitHub())
	gitlab, err := r.GitLab()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "gitlab.json", gitlab)
}

func TestJUnitIsWellFormed(t *testing.T) {
	notValid := &Report{Name: "<nightly>", Run: "x", Verdict: Invalid, ExitCode: 3, Reasons: []string{"a & b", "c"}}
	for name, c := range map[string]struct {
		r                                *Report
		tests, failures, errors, skipped int
	}{
		"hostile":   {hostile(), 7, 2, 1, 1},
		"not valid": {notValid, 1, 0, 1, 0},
		"passed":    {&Report{Name: "n", Checks: []Check{{State: Passed}}}, 2, 0, 0, 0},
	} {
		b, err := c.r.JUnit()
		if err != nil {
			t.Fatal(err)
		}
		var s junitSuites
		if err := xml.Unmarshal(b, &s); err != nil {
			t.Errorf("%s: %v\n%s", name, err, b)
		}
		got := s.Suite
		if got.Tests != c.tests || got.Failures != c.failures || got.Errors != c.errors || got.Skipped != c.skipped || len(got.Cases) != c.tests {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A command is a line: no name may begin another one.
func TestGitHubCommandsAreLines(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(string(hostile().GitHub()), "\n"), "\n")
	if len(lines) != 5 {
		t.Errorf("%d commands for 5 checks that did not pass", len(lines))
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, "::") || l != results.OneLine(l) {
			t.Errorf("%q", l)
		}
	}
	alone := (&Report{Verdict: Unjudged, ExitCode: 3, Reasons: []string{"a", "b"}}).GitHub()
	if string(alone) != "::error title=kbench%3A no-baseline::a; b\n" {
		t.Errorf("%q", alone)
	}
}

func TestGitLabIsAList(t *testing.T) {
	var list []codeQuality
	b, err := hostile().GitLab()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &list); err != nil || len(list) != 4 {
		t.Fatalf("%v, %d entries", err, len(list))
	}
	prints := map[string]int{}
	for _, q := range list {
		if q.Location.Lines.Begin != 1 || q.Location.Path == "" {
			t.Errorf("%+v", q)
		}
		prints[q.Fingerprint]++
	}
	// A threshold in a cell, and history: each the same fault in every state.
	if len(prints) != 2 {
		t.Errorf("fingerprints %v", prints)
	}
	if b, err := (&Report{}).GitLab(); err != nil || strings.TrimSpace(string(b)) != "[]" {
		t.Errorf("%v, nothing wrong: %s", err, b)
	}
}
