package workloads

import (
	"strings"
	"testing"
	"time"

	"kbench/internal/nodeconfig"
)

// What was due while a fault was under way is not held against the cluster, but
// for that in the steps beside it, whatever became of it.
func TestLostOutsideTheWindows(t *testing.T) {
	const startNs, perStep = int64(1e9), 10
	for name, c := range map[string]struct {
		lost    [20]int // of perStep, by step
		windows []window
		due     int64
		invalid string // empty: valid
	}{
		"nothing":                {due: 200},
		"within the fault":       {lost: [20]int{4: 10, 5: 10, 6: 10, 7: 10}, windows: []window{{startNs + 4*curveStep + 5, startNs + 8*curveStep}}, due: 160},
		"two windows":            {lost: [20]int{4: 10, 9: 10}, windows: []window{{startNs + 4*curveStep, startNs + 5*curveStep}, {startNs + 9*curveStep, startNs + 10*curveStep}}, due: 180},
		"a tenth":                {lost: [20]int{1: 10, 2: 10}, due: 200},
		"more than a tenth":      {lost: [20]int{1: 10, 2: 10, 3: 1}, due: 200, invalid: "21 of 200 changes that were due outside the windows of faults"},
		"more, after the fault":  {lost: [20]int{4: 10, 10: 10, 11: 10}, windows: []window{{startNs + 4*curveStep, startNs + 5*curveStep}}, due: 190, invalid: "20 of 190 changes"},
		"the fault never healed": {lost: [20]int{4: 10, 10: 10, 11: 10}, windows: []window{{startNs + 4*curveStep, startNs + 1e15}}, due: 40},
	} {
		a := &availability{}
		a.begin(startNs)
		a.add(startNs-1, 5, false) // before it began
		for i, lost := range c.lost {
			at := startNs + int64(i)*curveStep + 7
			a.add(at, perStep-lost, true)
			a.add(at, lost, false)
		}
		if due, _ := a.outside(c.windows); due != c.due {
			t.Errorf("%s: %d were due outside, want %d", name, due, c.due)
		}
		tr := &trialRun{out: Trial{Valid: true}, windows: c.windows}
		tr.judgeLost("changes", a)
		if tr.out.Valid != (c.invalid == "") || !strings.Contains(tr.out.Reason, c.invalid) {
			t.Errorf("%s: valid %v, %q", name, tr.out.Valid, tr.out.Reason)
		}
	}
	few := &availability{}
	few.begin(startNs)
	few.add(startNs, 2, false)
	tr := &trialRun{out: Trial{Valid: true}}
	if tr.judgeLost("changes", few); !tr.out.Valid {
		t.Errorf("two operations decide: %s", tr.out.Reason)
	}
}

// Records that brokers refuse make a trial invalid, and are counted.
func TestInterferenceOfRefusedRecords(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t, nodeconfig.ModeKRaft, 3, 30)
	c.refuseOver = 200
	rec, err := runWorkload(t, c, "data-interference", Params{
		How: changeConfig, Rate: 10, Duration: 2 * time.Second, ProduceRate: 100, ProduceBytes: 500, Producer: producerPlain, ProbePartitions: 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	trial := rec.trials[len(rec.trials)-1]
	sent, failed := countOf(trial, "batch.sent"), countOf(trial, "batch.failed")
	if sent == 0 || failed != sent || countOf(trial, "batch.acked") != 0 || countOf(trial, "batch.open") != 0 {
		t.Errorf("%d sent, %d failed: %+v", sent, failed, trial.Counts)
	}
	if !trial.Slipped && !strings.Contains(trial.Reason, "batches of records that were due outside the windows of faults") {
		t.Errorf("valid %v: %s", trial.Valid, trial.Reason)
	}
}
