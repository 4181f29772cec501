package report

import (
	"testing"

	"kbench/results"
)

// Of several faults under way at once each ends by its own events.
func TestFaultsThatOverlap(t *testing.T) {
	tl := &timeline{}
	begin := func(how string, ns int64) {
		tl.faults = append(tl.faults, faultWindow{workload: "propagation", trial: 1, how: how, fromNs: ns})
	}
	end := func(kind, detail string, ns int64) {
		tl.undone(results.Event{Kind: kind, Workload: "propagation", Trial: 1, MonoNs: ns, Data: map[string]any{"detail": detail}})
	}
	begin("delay of 10ms on broker-1", 1)
	begin("kill on controller", 2)
	end("healed", "end of delay of 10ms on broker-1", 3)
	end("restored", "end of delay of 10ms on broker-1", 4)
	end("healed", "end of kill on controller", 5)
	if w := tl.faults[0]; w.healedNs != 3 || w.toNs != 4 {
		t.Errorf("the first: %+v", w)
	}
	if w := tl.faults[1]; w.healedNs != 5 || w.toNs != 0 {
		t.Errorf("the second: %+v", w)
	}
	begin("kill", 6)
	end("healed", "start", 7) // a trial's own fault: its events do not name it
	if w := tl.faults[2]; w.healedNs != 7 {
		t.Errorf("the last: %+v", w)
	}
}
