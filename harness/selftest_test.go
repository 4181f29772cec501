package harness

import (
	"strings"
	"testing"
	"time"

	"kbench/harness/calibration"
	"kbench/kafka"
	"kbench/results"
	"kbench/workloads"
)

// What comes back without what was put in is wrong: other work on the machine
// cannot shorten anything. So is what is there in every try and was not put in.
func TestSelfTestFindsAClockThatLies(t *testing.T) {
	const d = 100 * time.Millisecond
	apply := func(d time.Duration) calibration.Delays { return calibration.Delays{Apply: d} }
	lies := func(where string, delays calibration.Delays) calibrationCase {
		return brief(delayed(d, where, delays, map[string]time.Duration{"acked": 0, "last": d}))
	}
	for _, tc := range []struct {
		c      calibrationCase
		column string
		why    string // "" where it must be right
	}{
		{lies("before brokers apply", apply(d)), "", ""},
		{lies("and a clock that stands", calibration.Delays{}), "propagation.last", "less than was put in"},
		{lies("and a clock that is ahead", apply(d-20*time.Millisecond)), "propagation.last", "less than was put in"},
		{lies("and a clock that is behind", apply(d+80*time.Millisecond)), "propagation.last", "more than was put in"},
		{brief(baseline), "", ""},
		{brief(baseline).with(apply(80 * time.Millisecond)), "propagation.first", "more than was put in"},
		{brief(baseline).with(calibration.Delays{Broker: map[kafka.BrokerID]time.Duration{3: d}}), divergedOn, "more than was put in"},
	} {
		t.Run(tc.c.name, func(t *testing.T) {
			o := SelfTestOptions{Out: t.TempDir()}
			base, err := calibrate(t.Context(), o, brief(baseline))
			if err != nil {
				t.Fatal(err)
			}
			bases := []measured{base}
			readings, err := o.tries(t.Context(), tc.c, &bases)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range readings {
				switch {
				case r.Standing == Busy:
					t.Logf("SKIPPED: this machine is too busy to measure: %+v", r)
				case tc.why == "" && r.Standing != Right:
					t.Errorf("%+v", r)
				case tc.why != "" && r.Column == tc.column && (r.Standing != Wrong || !strings.Contains(r.Why, tc.why)):
					t.Errorf("want %q: %+v", tc.why, r)
				}
			}
		})
	}
}

// brief is a case with a load that is short.
func brief(c calibrationCase) calibrationCase {
	c.params.Duration = 300 * time.Millisecond
	return c
}

// with is a case whose target has other delays than it tells of.
func (c calibrationCase) with(d calibration.Delays) calibrationCase {
	c.delays = d
	return c
}

// A delay on one broker is a divergence of that length on one broker.
func TestSelfTestReadsDivergence(t *testing.T) {
	read := map[string]bool{}
	for _, c := range calibrations {
		for _, e := range c.expect {
			if strings.Contains(c.name, "broker 2 alone") && (e.column == divergedFor && e.want == c.delays.Broker[2] || e.column == divergedOn && e.want == 1) {
				read[c.name+e.column] = true
			}
		}
	}
	if len(read) != 6 {
		t.Errorf("of three delays on one broker %v is read", read)
	}
}

func TestStandingOfAReading(t *testing.T) {
	at := func(v time.Duration, valid bool) measured {
		return measured{trial: workloads.Trial{Valid: valid, Slipped: !valid, Reason: "the change generator slipped", Counts: []workloads.Count{{Name: "n", N: int64(v)}}}}
	}
	sampled := func(v, late float64) measured {
		return measured{
			run:   &results.Run{Samples: []results.Sample{{Metric: "a.n", Value: v, Valid: true}}},
			trial: workloads.Trial{Valid: true, Counts: []workloads.Count{{Name: "probe.maxSlipNs", N: int64(late)}}},
		}
	}
	stalled := func(ms time.Duration) measured { return acknowledged(t, ms*time.Millisecond) }
	for name, c := range map[string]struct {
		m    measured
		e    expected
		want Standing
	}{
		"exact":                      {at(100, true), expected{column: "n", want: 100, count: true, period: 5}, Right},
		"within the period":          {at(104, true), expected{column: "n", want: 100, count: true, period: 5}, Right},
		"within 5 %":                 {at(1040, true), expected{column: "n", want: 1000, count: true, period: 5}, Right},
		"late":                       {at(106, true), expected{column: "n", want: 100, count: true, period: 5}, Wrong},
		"early":                      {at(94, true), expected{column: "n", want: 100, count: true, period: 5}, Wrong},
		"before it began":            {at(-1, true), expected{column: "n", count: true, period: 5}, Wrong},
		"a column that is not there": {at(1, true), expected{column: "other", want: 1, count: true, period: 5}, Wrong},
		"an invalid trial":           {at(94, false), expected{column: "other.n", want: 100, quantile: 0}, Busy},
		"a trial that failed":        {measured{trial: workloads.Trial{Reason: "not healthy"}}, expected{column: "other.n", want: 100}, Wrong},
		"as late as a generator":     {sampled(110, 5), expected{column: "a.n", want: 100, period: 5}, Busy},
		"later than all generators":  {sampled(110, 4), expected{column: "a.n", want: 100, period: 5}, Wrong},
		"a burst":                    {stalled(499), targetStall.expect[0], Busy},
		"more than a burst":          {stalled(1000), targetStall.expect[0], Wrong},
		"less than the stall":        {stalled(340), targetStall.expect[0], Wrong},
		"one broker":                 {sampled(1.04, 0), expected{column: "a.n", want: 1, number: true}, Right},
		"two brokers":                {sampled(1.6, 1e9), expected{column: "a.n", want: 1, number: true}, Wrong},
		"no broker":                  {sampled(0.4, 1e9), expected{column: "a.n", want: 1, number: true}, Wrong},
	} {
		t.Run(name, func(t *testing.T) {
			if c.m.run == nil {
				c.m.run = &results.Run{}
			}
			if r := c.e.read(c.m, nil); r.Standing != c.want {
				t.Errorf("%+v", r)
			}
		})
	}
}

// acknowledged is a valid propagation of one change.
func acknowledged(t *testing.T, after time.Duration) measured {
	t.Helper()
	w, err := results.Create(t.TempDir(), "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	rec := newRecorder(w, calibrationCell, 1)
	rec.begin("propagation")
	rec.Histogram(workloads.MetricPropagation, workloads.PhaseAcked)(int64(after))
	trial := workloads.Trial{Workload: "propagation", N: 1, Valid: true}
	rec.Trial(trial)
	rec.end()
	now := time.Now()
	dir, err := w.Commit(results.Manifest{Name: "test", Started: now, Ended: now, Cells: []results.Cell{{ID: calibrationCell, Target: "calibration", Verdict: results.Valid, Started: now, Ended: now}}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return measured{run: run, kind: "propagation", trial: trial}
}

// Of several tries the nearest counts, but for one that is wrong in any case.
func TestNearestReading(t *testing.T) {
	right := Reading{Standing: Right, Want: 10, Got: 14, told: true}
	near := Reading{Standing: Busy, Want: 10, Got: 20, told: true}
	far := Reading{Standing: Wrong, Want: 10, Got: 90, told: true}
	untold := Reading{Standing: Busy, Want: 10, Got: 10}
	short := Reading{Standing: Wrong, Want: 10, Got: 1, told: true, final: true}
	for name, order := range map[string][]Reading{
		"a busy machine's": {right, near, far, untold}, "short": {short, right, near, far, untold},
	} {
		for i, r := range order {
			for j, other := range order {
				if i < j && (!r.nearer(other) || other.nearer(r)) {
					t.Errorf("%s: %+v against %+v", name, r, other)
				}
			}
		}
	}
}
