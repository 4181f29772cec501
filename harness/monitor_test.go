package harness

import (
	"math"
	"testing"
	"time"

	"kbench/harness/spec"
	"kbench/results"
	"kbench/workloads"
)

func watchedCell() (*monitor, *[]Progress) {
	var got []Progress
	m := newMonitor(newProgress(spec.Cell{ID: "zk.base", Target: spec.ZK}, 2, 4), func(p Progress) { got = append(got, p) })
	return m, &got
}

func last(got *[]Progress) Progress { return (*got)[len(*got)-1] }

func TestMonitorFollowsFaults(t *testing.T) {
	m, got := watchedCell()
	m.controller(Controller{ID: 101, Epoch: 3})
	m.fault(1, workloads.FaultPause)
	if p := last(got); p.Controller.ID != 101 || len(p.Faults) != 1 || p.Faults[0].Node != 1 {
		t.Errorf("after a broker's pause: %+v", p)
	}
	m.fault(101, workloads.FaultKill)
	if p := last(got); p.Controller != (Controller{Epoch: -1}) || len(p.Faults) != 2 {
		t.Errorf("a killed controller is still active: %+v", p)
	}
	before := last(got)
	m.fault(1, workloads.FaultResume)
	m.fault(101, workloads.FaultStart)
	if p := last(got); len(p.Faults) != 0 {
		t.Errorf("undone faults stay: %+v", p.Faults)
	}
	if len(before.Faults) != 2 || before.Faults[0].Node != 1 {
		t.Error("an update changes what was handed out before")
	}
}

func TestMonitorSumsUpTheHeadline(t *testing.T) {
	m, got := watchedCell()
	m.workload("controlled-shutdown")
	if p := last(got); p.Headline.Metric != "controlled-shutdown.moved" || p.Headline.N != 0 {
		t.Errorf("before the first value: %+v", p.Headline)
	}
	for i := 1; i <= 300; i++ {
		m.trial(workloads.Trial{Workload: "controlled-shutdown", N: i, Valid: true, Values: []workloads.Value{
			{Metric: "controlled-shutdown", Phase: "moved", V: float64(i) * float64(time.Millisecond)},
			{Metric: "controlled-shutdown", Phase: "exit", V: float64(time.Hour)},
		}})
		h := last(got).Headline
		if i < 299 != math.IsNaN(h.P99) {
			t.Fatalf("p99 of %d values is %v", i, h.P99)
		}
	}
	m.trial(workloads.Trial{Workload: "controlled-shutdown", N: 301, Reason: "because", Values: []workloads.Value{
		{Metric: "controlled-shutdown", Phase: "moved", V: 9e12},
	}})
	p := last(got)
	if p.Valid != 300 || p.Invalid != 1 || p.Trial == nil || p.Trial.N != 301 {
		t.Errorf("%d valid, %d invalid, trial %+v", p.Valid, p.Invalid, p.Trial)
	}
	h := p.Headline
	if h.N != 300 || h.Max != 300e6 || math.Abs(h.P50-150e6) > 0.2e6 || math.Abs(h.P99-297e6) > 0.4e6 {
		t.Errorf("%+v", h)
	}
	m.phase("verify")
	if last(got).Trial != nil {
		t.Error("a later update tells of the trial again")
	}
	m.workload("propagation")
	m.value("propagation.last", 5e6)
	m.trial(workloads.Trial{Workload: "propagation", N: 1, Valid: true})
	if h := last(got).Headline; h.Metric != "propagation.last" || h.N != 1 {
		t.Errorf("the next workload: %+v", h)
	}
}

func TestHeadlineOfARate(t *testing.T) {
	h := newHeadline("create-topics")
	h.add("creation.rate", 1234.5)
	h.add("creation.rate", math.NaN())
	if s := h.sum(); s.P50 > s.Max {
		t.Errorf("the median %v is over the maximum %v", s.P50, s.Max)
	}
	if s := h.sum(); s.Unit != results.PerSecond || s.N != 1 || math.Abs(s.P50-1234.5) > 2 {
		t.Errorf("%+v", s)
	}
	none := newHeadline("no-such-kind")
	none.add("creation.rate", 1)
	if s := none.sum(); s.N != 0 {
		t.Errorf("%+v", s)
	}
}

func TestNobodyWatches(t *testing.T) {
	var m *monitor
	m.phase("up")
	m.value("propagation.last", 1)
	if m.known().Epoch != -1 {
		t.Error("an epoch from nowhere")
	}
}
