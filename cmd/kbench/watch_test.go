package main

import (
	"os"
	"testing"

	"kbench/harness/spec"
)

// What is no terminal gets no redrawn lines, whatever the environment says.
func TestLiveTerminalNeedsATerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	if liveTerminal(w, func(string) string { return "" }) != nil {
		t.Error("a pipe is taken for a terminal")
	}
}

// On a terminal, TERM=dumb and CI mean plain lines, and NO_COLOR no colours.
func TestLiveTerminalHeedsTheEnvironment(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo terminal here: %v", err)
	}
	defer func() { _ = f.Close() }()
	for _, c := range []struct {
		key, value   string
		live, colour bool
	}{
		{"", "", true, true},
		{"NO_COLOR", "1", true, false},
		{"NO_COLOR", "", true, true},
		{"TERM", "dumb", false, false},
		{"CI", "true", false, false},
		{"CI", "", true, true},
	} {
		got := liveTerminal(f, func(key string) string {
			if key == c.key {
				return c.value
			}
			return ""
		})
		if (got != nil) != c.live || got != nil && got.Colour != c.colour {
			t.Errorf("%s=%s: %+v", c.key, c.value, got)
		}
		if got == nil {
			continue
		}
		if columns, rows := got.Size(); columns != 80 || rows != 1 {
			t.Errorf("a terminal without a size is %d by %d", columns, rows)
		}
	}
}

// The plan that a run is watched with is the one that --dry-run prints.
func TestPlanIsTheEstimate(t *testing.T) {
	s, err := spec.Default(spec.Override{Origin: "test", Path: "repeats", Value: "2"})
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(s)
	if want := estimate(s, s.Cells()); plan.Total != want || plan.Name != s.Name {
		t.Errorf("%s takes %v, want %v", plan.Name, plan.Total, want)
	}
	if plan.Cell(s.Cells()[0].ID) <= 0 || plan.Cell("no such cell") != 0 {
		t.Error("a cell has no estimate, or one that is not there has")
	}
}
