package results

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestNewRun compares a run in memory with the folder of the same values.
func TestNewRun(t *testing.T) {
	m := Manifest{
		Name: "in memory", Started: started, Bounds: []string{"recovery.controller.median < 4s"},
		Cells: []Cell{{ID: "zk.base", Target: "zk", Variant: "base", Partitions: 1000, Config: map[string]string{}, Verdict: Valid}},
	}
	var samples []Sample
	for i := 1; i <= 7; i++ {
		samples = append(samples, Sample{
			Cell: "zk.base", Workload: "controller-failover", Repeat: 1, Trial: i,
			Metric: "recovery.controller.first-admin", Value: float64(i) * 1e9, Unit: Nanoseconds, Valid: true,
		})
	}
	rec := NewRecorder(1)
	for i := range 100 {
		rec.Shard(0).Record(time.Duration(i+1) * time.Millisecond)
	}
	hlog := Hlog{"zk.base", HlogFigure("propagation", "propagation", 1), []Interval{{Tag: "last", Start: started, End: started, Dist: rec.Merged()}}}

	w, err := Create(t.TempDir(), m.Name, m.Started)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		if err := w.Sample(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Hlog(hlog.Cell, hlog.Name, hlog.Intervals); err != nil {
		t.Fatal(err)
	}
	path, err := w.Commit(m)
	if err != nil {
		t.Fatal(err)
	}
	written := mustOpen(t, path)
	held, err := NewRun(m, samples, hlog)
	if err != nil {
		t.Fatal(err)
	}
	want, err := written.Figures()
	if err != nil {
		t.Fatal(err)
	}
	got, err := held.Figures()
	if err != nil || !reflect.DeepEqual(got, want) || len(got) != 2 {
		t.Errorf("figures in memory %+v, of the folder %+v, %v", got, want, err)
	}
	a, b := held.Manifest, written.Manifest
	if a.ID != b.ID || a.Verdict != Valid || a.EnvHash != b.EnvHash || !reflect.DeepEqual(a.Thresholds, b.Thresholds) || len(a.Thresholds) != 1 {
		t.Errorf("manifest %+v, want %+v", a, b)
	}
	if _, err := held.Events(); err == nil {
		t.Error("events of a run without a folder")
	}
	for name, s := range map[string]Sample{
		"cell":  {Cell: "x", Metric: samples[0].Metric, Unit: Nanoseconds},
		"value": {Cell: "zk.base", Metric: samples[0].Metric, Unit: Nanoseconds, Value: -1},
	} {
		if _, err := NewRun(m, []Sample{s}); err == nil || !strings.Contains(err.Error(), "sample 1 of 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
