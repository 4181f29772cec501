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

// However many values a trial has, they take no more memory, and all are counted,
// those out of range too.
func TestRecordingTakesNoMemory(t *testing.T) {
	run := newCellRun(t)
	record := run.rec.Histogram(workloads.MetricPropagation, workloads.PhaseLast)
	n := int64(0)
	if per := testing.AllocsPerRun(10_000, func() { n++; record(n * 1e6) }); per != 0 {
		t.Errorf("%v allocations for each value", per)
	}
	record(10)
	record(int64(2 * time.Hour))
	run.rec.Trial(workloads.Trial{Workload: "propagation", N: 1, Valid: true})
	record(1e6) // of the next trial, which has slipped
	run.rec.Trial(workloads.Trial{Workload: "propagation", N: 2, Slipped: true})
	record(5e6)
	run.rec.Trial(workloads.Trial{Workload: "propagation", N: 3, Valid: true})
	d := run.rec.dists[phaseName{workloads.MetricPropagation, workloads.PhaseLast}]
	below, above := d.OutOfRange()
	if d.Count() != n+3 || below != 1 || above != 1 {
		t.Errorf("%d values of %d, %d below and %d above the range", d.Count(), n+3, below, above)
	}
}

// A history that is too long is judged by its first operations: a topic that was
// changed later is left out of them, since what became of it is not known.
func TestLongHistory(t *testing.T) {
	run := newCellRun(t)
	run.rec.most = 3
	for _, op := range []workloads.Operation{
		{Kind: workloads.OpCreateTopic, Topic: "a"},
		{Kind: workloads.OpCreateTopic, Topic: "b"},
		{Kind: workloads.OpAlterConfig, Topic: "b"},
		{Kind: workloads.OpDeleteTopic, Topic: "b"},
		{Kind: workloads.OpCreateTopic, Topic: "c"},
		{Kind: workloads.OpDeleteTopic, Topic: "c"},
	} {
		run.rec.Acked(op)
	}
	if told, left := run.rec.history(); len(told) != 1 || told[0].Topic != "a" || left != 5 {
		t.Errorf("%d left out of the history, which is %+v", left, told)
	}
}
