package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A cell's name may hold a slash, which no file name can; repeats are merged;
// raw material comes along and is no figure.
func TestEachHistogram(t *testing.T) {
	w, err := Create(t.TempDir(), "x", started)
	if err != nil {
		t.Fatal(err)
	}
	one := func(d time.Duration) *Distribution {
		r := NewRecorder(1)
		r.Shard(0).Record(d)
		return r.Merged()
	}
	cells := []Cell{{ID: "zk/ö.base", Verdict: Valid}, {ID: "zk", Verdict: Valid}}
	for i, c := range cells {
		for repeat := 1; repeat <= 2; repeat++ {
			d := one(time.Duration(i*10+repeat) * time.Millisecond)
			if err := w.Hlog(c.ID, HlogFigure("propagation", "propagation", repeat), []Interval{
				{Tag: "last", Start: started, End: started, Dist: d}, {Tag: "broker.2", Start: started, End: started, Dist: d},
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	path, err := w.Commit(Manifest{Cells: cells})
	if err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, path)
	var got []string
	err = r.EachHistogram(func(h Histogram) error {
		lo, _ := h.Dist.Min()
		hi, _ := h.Dist.Max()
		got = append(got, fmt.Sprint(h.Cell, " ", h.Workload, " ", h.Metric, " ", h.Tag, " ", h.Dist.Count(), " ", lo, " ", hi))
		return nil
	})
	want := []string{
		"zk/ö.base propagation propagation last 2 1ms 2ms", "zk/ö.base propagation propagation broker.2 2 1ms 2ms",
		"zk propagation propagation last 2 11ms 12ms", "zk propagation propagation broker.2 2 11ms 12ms",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
	got = nil
	err = r.EachRepeat(func(repeat int, h Histogram) error {
		hi, _ := h.Dist.Max()
		got = append(got, fmt.Sprint(h.Cell, " ", repeat, " ", h.Tag, " ", h.Dist.Count(), " ", hi))
		return nil
	})
	want = []string{
		"zk/ö.base 1 last 1 1ms", "zk/ö.base 1 broker.2 1 1ms", "zk/ö.base 2 last 1 2ms", "zk/ö.base 2 broker.2 1 2ms",
		"zk 1 last 1 11ms", "zk 1 broker.2 1 11ms", "zk 2 last 1 12ms", "zk 2 broker.2 1 12ms",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
	figs, err := r.Figures()
	if err != nil || len(figs) != 2 || figs[0].Cell != "zk/ö.base" || figs[0].N != 2 {
		t.Errorf("%+v, %v", figs, err)
	}
	if err := r.EachHistogram(func(Histogram) error { return errNoFolder }); err == nil {
		t.Error("the error of the caller is lost")
	}
	if err := r.EachRepeat(func(int, Histogram) error { return errNoFolder }); err == nil {
		t.Error("the error of the caller is lost")
	}
}
