package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/harness/spec"
	"kbench/results"
)

// script says what becomes of each cluster that is built, by cell, repeat and
// attempt; valid where it says nothing.
type script map[string]results.Cell

var (
	broken = results.Cell{Verdict: results.Invalid, Reasons: []string{"a gate failed"}}
	lost   = results.Cell{
		Verdict: results.Invalid, Reasons: []string{"check failed: acknowledged"},
		Checks: []results.Check{{Name: "acknowledged", Looked: 1, Faults: []string{"topic a is missing"}}},
	}
	interrupted = results.Cell{Verdict: results.Invalid, Reasons: []string{"interrupted"}}
)

// rehearse runs units with fake clusters, each of which measures one value,
// and gives the run and the order in which clusters were built.
func rehearse(t *testing.T, o Options, s script) (*results.Run, []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := time.Date(2026, 11, 29, 17, 0, 0, 0, time.UTC)
	w, err := results.Create(t.TempDir(), "units", started)
	if err != nil {
		t.Fatal(err)
	}
	var built []string
	r := &runner{Options: o, w: w, started: started}
	r.runCell = func(_ context.Context, turn Turn, attempt, n, total int) results.Cell {
		name := fmt.Sprintf("%s.%d.%d", turn.Cell.ID, turn.Repeat, attempt)
		built = append(built, name)
		err := w.Sample(results.Sample{
			Cell: turn.Cell.ID, Workload: "controlled-shutdown", Repeat: turn.Repeat, Trial: attempt,
			Metric: "controlled-shutdown.moved", Value: float64(len(built)) * 1e6, Unit: results.Nanoseconds, Valid: true,
		})
		if err != nil {
			t.Error(err)
		}
		c, ok := s[name]
		if !ok {
			c.Verdict = results.Valid
		}
		if slices.Equal(c.Reasons, interrupted.Reasons) {
			cancel()
		}
		c.ID, c.Target, c.Variant, c.Started, c.Ended = turn.Cell.ID, "zk", turn.Cell.Variant, started, started
		return c
	}
	dir, err := w.Commit(results.Manifest{Name: "units", Started: started, Cells: r.units(ctx, results.Manifest{}, o.Units)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run, built
}

func cellNamed(id string) spec.Cell { return spec.Cell{ID: id, Variant: id, Target: spec.ZK} }

// pairs are the units of a warm-up and n pairs of a and b.
func pairs(n int) []Unit {
	var out []Unit
	for i := range n + 1 {
		why := ""
		if i == 0 {
			why = "warm-up"
		}
		out = append(out, Unit{{cellNamed("a"), i + 1, why}, {cellNamed("b"), i + 1, why}})
	}
	return out
}

func counted(run *results.Run) string {
	var out []string
	for _, s := range run.Samples {
		if s.Valid {
			out = append(out, fmt.Sprintf("%s.%d.%d", s.Cell, s.Repeat, s.Trial))
		}
	}
	return strings.Join(out, " ")
}

func TestUnits(t *testing.T) {
	alone := []Unit{{{Cell: cellNamed("a"), Repeat: 1}}, {{Cell: cellNamed("b"), Repeat: 1}}}
	for name, c := range map[string]struct {
		o       Options
		s       script
		built   string
		counted string
		verdict results.Verdict
		reasons string // of the first cell's attempts
	}{
		"valid": {
			Options{Units: alone, Retries: 2},
			nil,
			"a.1.1 b.1.1", "a.1.1 b.1.1", results.Valid, "",
		},
		"no retries": {
			Options{Units: alone},
			script{"a.1.1": broken},
			"a.1.1 b.1.1", "a.1.1 b.1.1", results.Invalid, "",
		},
		"mended": {
			Options{Units: alone, Retries: 2},
			script{"a.1.1": broken, "a.1.2": broken},
			"a.1.1 a.1.2 a.1.3 b.1.1", "a.1.3 b.1.1", results.Valid, "invalid, run again: a gate failed",
		},
		"used up": {
			Options{Units: alone, Retries: 1},
			script{"a.1.1": broken, "a.1.2": broken},
			"a.1.1 a.1.2 b.1.1", "a.1.2 b.1.1", results.Invalid, "invalid, run again: a gate failed",
		},
		"a finding is not tried away": {
			Options{Units: alone, Retries: 3},
			script{"a.1.1": lost},
			"a.1.1 b.1.1", "a.1.1 b.1.1", results.Invalid, "",
		},
		"an interrupt ends it": {
			Options{Units: alone, Retries: 3},
			script{"a.1.1": interrupted},
			"a.1.1", "a.1.1", results.Invalid, "",
		},
		"pairs": {
			Options{Units: pairs(2), Retries: 1, StopAtLoss: true},
			script{"a.1.1": broken},
			"a.1.1 a.2.1 b.2.1 a.3.1 b.3.1", "a.2.1 b.2.1 a.3.1 b.3.1", results.Valid, "warm-up",
		},
		"a pair is run again": {
			Options{Units: pairs(1), Retries: 1, StopAtLoss: true},
			script{"b.2.1": broken},
			"a.1.1 b.1.1 a.2.1 b.2.1 a.2.2 b.2.2", "a.2.2 b.2.2", results.Valid, "its pair was run again",
		},
		"a pair is lost": {
			Options{Units: pairs(3), Retries: 1, StopAtLoss: true},
			script{"b.2.1": broken, "a.2.2": broken},
			"a.1.1 b.1.1 a.2.1 b.2.1 a.2.2", "a.2.2", results.Invalid, "its pair was run again",
		},
		"a finding while warming up": {
			Options{Units: pairs(1)},
			script{"a.1.1": lost},
			"a.1.1 a.2.1 b.2.1", "a.2.1 b.2.1", results.Invalid, "warm-up",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run, built := rehearse(t, c.o, c.s)
			if got := strings.Join(built, " "); got != c.built {
				t.Errorf("built   %s\nwant    %s", got, c.built)
			}
			if got := counted(run); got != c.counted {
				t.Errorf("counted %s\nwant    %s", got, c.counted)
			}
			if run.Manifest.Verdict != c.verdict || len(run.Samples) != len(built) {
				t.Errorf("%s with %d samples, want %s with %d", run.Manifest.Verdict, len(run.Samples), c.verdict, len(built))
			}
			var kept []string
			attempts := 0
			for _, cell := range run.Manifest.Cells {
				attempts += len(cell.Attempts)
			}
			for _, a := range run.Manifest.Cells[0].Attempts {
				kept = append(kept, a.Dropped)
			}
			if attempts != len(built) || !strings.Contains(strings.Join(kept, "; "), c.reasons) {
				t.Errorf("%d attempts in the manifest, dropped for %q", attempts, kept)
			}
		})
	}
}

func TestWhoWatchesHearsOfUnits(t *testing.T) {
	var heard []string
	rehearse(t, Options{
		Units: pairs(2), Retries: 1,
		Say: func(line string) {
			if !strings.Contains(line, "new cluster") {
				heard = append(heard, line)
			}
		},
		Began: func(unit, attempt int) string { return fmt.Sprintf("began %d.%d", unit, attempt) },
		Ended: func(unit int, samples []results.Sample) string {
			return fmt.Sprintf("ended %d with %s and %s", unit, samples[0].Cell, samples[1].Cell)
		},
	}, script{"b.3.1": broken})
	want := "began 0.1, began 1.1, ended 1 with a and b, began 2.1, began 2.2, ended 2 with a and b"
	if got := strings.Join(heard, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestMatrixRepeatsTheWholeSweep(t *testing.T) {
	s, err := spec.Default(spec.Override{Origin: "--set", Path: "repeats", Value: "2"}, spec.Override{Origin: "--partitions", Path: "sweep.partitions", Value: "1k", List: true})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, u := range Matrix(s) {
		order = append(order, fmt.Sprintf("%s.%d", u[0].Cell.Target, u[0].Repeat))
	}
	if got := strings.Join(order, " "); got != "zk.1 kraft.1 zk.2 kraft.2" {
		t.Error(got)
	}
	if cells := matrixOf(Matrix(s)); len(cells) != 2 {
		t.Errorf("%d cells", len(cells))
	}
}

// TestUnitsEndWhereNothingIsKept: a folder that takes no more ends the run,
// whatever retries and units are left.
func TestUnitsEndWhereNothingIsKept(t *testing.T) {
	w, err := results.Create(t.TempDir(), "full", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var built, said []string
	r := &runner{w: w, Options: Options{
		Units: []Unit{{{Cell: cellNamed("a"), Repeat: 1}}, {{Cell: cellNamed("b"), Repeat: 1}}}, Retries: 2,
		Say: func(line string) { said = append(said, line) },
	}}
	r.runCell = func(_ context.Context, turn Turn, _, _, _ int) results.Cell {
		built = append(built, turn.Cell.ID)
		if err := w.Abandon(); err != nil {
			t.Error(err)
		}
		c := broken
		c.ID = turn.Cell.ID
		return c
	}
	cells := r.units(t.Context(), results.Manifest{}, r.Units)
	if !slices.Equal(built, []string{"a"}) || len(cells) != 1 || cells[0].Verdict != results.Invalid {
		t.Errorf("built %v, cells %+v", built, cells)
	}
	if len(said) == 0 || !strings.Contains(said[len(said)-1], "the run ends here") {
		t.Errorf("said %q", said)
	}
}
