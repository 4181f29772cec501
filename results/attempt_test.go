package results

import (
	"testing"
	"time"
)

// writeAttempts writes one cell of two repeats; the first attempt of the
// second repeat is dropped.
func writeAttempts(t *testing.T) *Run {
	t.Helper()
	w, err := Create(t.TempDir(), "attempts", started)
	if err != nil {
		t.Fatal(err)
	}
	attempt := func(repeat int, value float64, valid bool) (from, to Mark) {
		from = w.Mark()
		if err := w.Sample(Sample{
			Cell: "zk.base", Workload: "controlled-shutdown", Repeat: repeat, Trial: 1, Metric: "controlled-shutdown.moved",
			Value: value, Unit: Nanoseconds, Valid: valid, Reason: map[bool]string{false: "own reason"}[valid], Subject: "=1",
		}); err != nil {
			t.Fatal(err)
		}
		d := NewRecorder(1)
		d.Shard(0).Record(time.Duration(value))
		if err := w.Hlog("zk.base", HlogFigure("propagation", "propagation", repeat), []Interval{{Tag: "last", Start: started, End: started, Dist: d.Merged()}}); err != nil {
			t.Fatal(err)
		}
		return from, w.Mark()
	}
	attempt(1, 1e6, true)
	from, to := attempt(2, 9e9, true)
	if got, err := w.Samples(from, to); err != nil || len(got) != 1 || got[0].Value != 9e9 {
		t.Fatalf("%v, %v", got, err)
	}
	if err := w.Drop(from, to, "dropped-1", "a leader was missing"); err != nil {
		t.Fatal(err)
	}
	attempt(2, 3e6, true)
	from, to = attempt(3, 9e9, false)
	if err := w.Drop(from, to, "dropped-1", "warm-up"); err != nil {
		t.Fatal(err)
	}
	dir, err := w.Commit(Manifest{Name: "attempts", Started: started, Cells: []Cell{{
		ID: "zk.base", Target: "zk", Variant: "base", Verdict: Valid, Attempts: []Attempt{
			{Repeat: 1, Number: 1, Verdict: Valid},
			{Repeat: 2, Number: 1, Verdict: Invalid, Dropped: "a leader was missing"},
			{Repeat: 2, Number: 2, Verdict: Valid},
			{Repeat: 3, Number: 1, Verdict: Valid, Dropped: "warm-up"},
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.VerifyFiles(); err != nil {
		t.Error(err)
	}
	return r
}

func TestDroppedAttemptsAreKeptAndNotCounted(t *testing.T) {
	r := writeAttempts(t)
	reasons := map[string]int{}
	for _, s := range r.Samples {
		reasons[s.Reason]++
		if s.Valid != (s.Reason == "") || s.Subject != "=1" {
			t.Errorf("%+v", s)
		}
	}
	if len(r.Samples) != 4 || reasons["a leader was missing"] != 1 || reasons["own reason"] != 1 {
		t.Errorf("%v of %d samples", reasons, len(r.Samples))
	}
	figs, err := r.Figures()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figs {
		// A repeat of which nothing was meant to count has no invalid trials.
		if want := map[bool]int64{false: 1}[f.Histogram]; f.N != 2 || f.Max > 3.01e6 || f.Invalid != want {
			t.Errorf("%s.%s counts what was dropped: %+v", f.Metric, f.Phase, f)
		}
	}
	if n := len(r.HlogNames()); len(figs) != 2 || n != 4 {
		t.Errorf("%d figures, %d histograms", len(figs), n)
	}
}
