package workloads

import (
	"slices"
	"sync"
)

// curveStep is the width of a bucket of an availability curve, in ns: an outage of
// a partition is a part of a second.
const curveStep = int64(100e6)

// maxCurve bounds the buckets of a curve: a day.
const maxCurve = int64(24*60*60e9) / curveStep

// availability counts, step by step of intended time, how many operations were due
// and how many were acknowledged. It is safe for concurrent use.
type availability struct {
	mu      sync.Mutex
	startNs int64
	due     []int64
	acked   []int64
}

// add counts n operations that were due at intendedNs.
func (a *availability) add(intendedNs int64, n int, acked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := (intendedNs - a.startNs) / curveStep
	if a.startNs == 0 || intendedNs < a.startNs || i >= maxCurve {
		return
	}
	for int64(len(a.due)) <= i {
		a.due, a.acked = append(a.due, 0), append(a.acked, 0)
	}
	a.due[i] += int64(n)
	if acked {
		a.acked[i] += int64(n)
	}
}

// begin starts the curve; what was due before does not count.
func (a *availability) begin(startNs int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.startNs = startNs
}

// outside sums the steps that no window touches.
func (a *availability) outside(windows []window) (due, acked int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.due {
		fromNs := a.startNs + int64(i)*curveStep
		if slices.ContainsFunc(windows, func(w window) bool { return w.fromNs < fromNs+curveStep && w.toNs > fromNs }) {
			continue
		}
		due, acked = due+a.due[i], acked+a.acked[i]
	}
	return due, acked
}

// keep writes the curve into the event log, an event a step, and gives the sums.
func (a *availability) keep(t *trialRun) (due, acked int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.due {
		t.Recorder.Event(Event{
			Ns: a.startNs + int64(i)*curveStep, Kind: EventAvailability, Workload: t.w.Kind, Trial: t.out.N,
			Counts: []Count{{"due", a.due[i]}, {"acked", a.acked[i]}, {"stepNs", curveStep}},
		})
		due, acked = due+a.due[i], acked+a.acked[i]
	}
	return due, acked
}
