package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"kbench/harness/spec"
	"kbench/results"
	"kbench/workloads"
)

func newCellRun(t *testing.T) *cellRun {
	t.Helper()
	w, err := results.Create(t.TempDir(), "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Abandon() })
	return &cellRun{runner: &runner{w: w}, spec: spec.Cell{ID: "zk.base"}, rec: newRecorder(w, "zk.base", 1)}
}

func trial(valid bool) workloads.Trial {
	return workloads.Trial{Workload: "broker-failure", N: 1, Valid: valid, Reason: "because", Values: []workloads.Value{
		{Metric: workloads.MetricBrokerRecovery, Phase: workloads.PhaseMoved, V: 1e9},
	}}
}

func TestJudge(t *testing.T) {
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		err    error
		trials []bool
		check  *results.Check
		want   results.Verdict
		reason string
	}{
		"valid":        {trials: []bool{true}, check: &results.Check{OK: true}, want: results.Valid},
		"failed":       {trials: []bool{true}, err: errors.New("it broke"), want: results.Invalid, reason: "it broke"},
		"bad trial":    {trials: []bool{true, false}, want: results.Invalid, reason: "1 of 2 trials"},
		"lost a topic": {trials: []bool{true}, check: &results.Check{Name: "acknowledged"}, want: results.Invalid, reason: "acknowledged"},
		"no trial":     {want: results.Inconclusive, reason: "nothing was measured"},
		"interrupted":  {ctx: stopped, trials: []bool{true}, err: context.Canceled, want: results.Invalid, reason: "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			run := newCellRun(t)
			for _, valid := range c.trials {
				run.rec.Trial(trial(valid))
			}
			if c.check != nil {
				run.out.Checks = []results.Check{*c.check}
			}
			ctx := c.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			run.judge(ctx, c.err)
			if run.out.Verdict != c.want || !strings.Contains(strings.Join(run.out.Reasons, "\n"), c.reason) {
				t.Errorf("verdict %s, reasons %q", run.out.Verdict, run.out.Reasons)
			}
		})
	}
}

func TestUnknownMetricIsKeptAsAFault(t *testing.T) {
	run := newCellRun(t)
	run.rec.Trial(workloads.Trial{Valid: true, Values: []workloads.Value{{Metric: "nonsense", Phase: "x", V: 1}}})
	if _, _, _, err := run.rec.tally(); err == nil {
		t.Error("a metric that reports do not know was dropped in silence")
	}
}

func TestContrastsNameBothStores(t *testing.T) {
	s, err := spec.Default()
	if err != nil {
		t.Fatal(err)
	}
	var cells []results.Cell
	for _, c := range s.Cells() {
		cells = append(cells, results.Cell{ID: c.ID, Target: string(c.Target), Store: "store of " + string(c.Target)})
	}
	for _, row := range contrasts(s.Cells(), cells) {
		if len(row.Values) != 2 || row.Values["zk"] == row.Values["kraft"] {
			t.Errorf("row %q does not contrast: %v", row.What, row.Values)
		}
		if row.What == "metadata store" && row.Values["zk"] != "store of zk" {
			t.Errorf("store %q", row.Values["zk"])
		}
	}
}

func TestPollSaysWhatWasMissing(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("not within 20ms"))
	defer cancel()
	err := poll(ctx, "pigs fly", func(context.Context) error { return errors.New("no wings") })
	for _, want := range []string{"pigs fly", "not within 20ms", "no wings"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestValuesOfInvalidTrialsAreHeldBack(t *testing.T) {
	run := newCellRun(t)
	record := run.rec.Histogram(workloads.MetricUnavailability, workloads.PhasePartition)
	record(1e6)
	run.rec.Trial(trial(false))
	if len(run.rec.dists) != 0 {
		t.Error("a value of an invalid trial is in the histogram")
	}
	record(2e6)
	record(3e6)
	run.rec.Trial(trial(true))
	if n := run.rec.dists[phaseName{"unavailability", "partition"}].Count(); n != 2 {
		t.Errorf("the histogram has %d values, want the 2 of the valid trial", n)
	}
}

func TestASlippedTrialIsNoFault(t *testing.T) {
	run := newCellRun(t)
	slipped := trial(false)
	slipped.Slipped = true
	run.rec.Trial(slipped)
	run.rec.Trial(trial(true))
	run.judge(t.Context(), nil)
	if run.out.Verdict != results.Valid || len(run.out.Notes) != 1 || !strings.HasSuffix(run.out.Notes[0], ": 1 trial was run again, since the generator slipped") {
		t.Errorf("verdict %s, notes %q", run.out.Verdict, run.out.Notes)
	}
}

func TestRunsOfOneSecondDoNotShareAName(t *testing.T) {
	now := time.Now()
	if a, b := clusterName(now, 1, spec.ZK), clusterName(now, 1, spec.ZK); a == b {
		t.Errorf("both are %s", a)
	}
	if name := clusterName(now, 1, "kafka-kraft@4.1.0"); strings.Contains(name, "@") {
		t.Errorf("%s is no name for a network", name)
	}
}
