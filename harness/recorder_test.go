package harness

import (
	"testing"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/results"
	"kbench/workloads"
)

// What a trace tells of controllers, and each broker's own propagation, reach
// the run folder.
func TestRecorderKeepsControllersAndBrokersApart(t *testing.T) {
	out := t.TempDir()
	w, err := results.Create(out, "x", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	rec := newRecorder(w, "zk.base.partitions-1k", 1)
	rec.begin("propagation")
	rec.Histogram(workloads.MetricPropagation, workloads.PhaseLast)(3e6)
	for id := kafka.BrokerID(1); id <= 3; id++ {
		rec.Histogram(workloads.MetricPropagation, workloads.PhaseBroker(id))(int64(id) * 1e6)
	}
	rec.Trial(workloads.Trial{Workload: "propagation", N: 1, Valid: true})
	rec.end()
	rec.controllers("controller-1002", []trace.Event{
		{T: 1, Kind: trace.ControllerElected, Epoch: 7},
		{T: 2, Kind: trace.ControllerActive, Epoch: 7},
	})
	if _, _, _, err := rec.tally(); err != nil {
		t.Fatal(err)
	}
	dir, err := w.Commit(results.Manifest{Cells: []results.Cell{{ID: "zk.base.partitions-1k", Target: "zk"}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	intervals, err := r.Hlog("zk.base.partitions-1k", results.HlogFigure("propagation", "propagation", 1))
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, iv := range intervals {
		tags = append(tags, iv.Tag)
	}
	if len(tags) != 4 || tags[1] != "broker.1" || tags[3] != "broker.3" {
		t.Errorf("tags %q", tags)
	}
	figs, err := r.Figures()
	if err != nil || len(figs) != 1 || figs[0].Phase != "last" {
		t.Errorf("a broker's own propagation is no figure: %+v, %v", figs, err)
	}
	events, err := r.Events()
	if err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	if last.Kind != workloads.EventController || last.Node != "1002" || last.MonoNs != 2 || last.Data["epoch"] != 7.0 {
		t.Errorf("the last of %d events is %+v", len(events), last)
	}
}
