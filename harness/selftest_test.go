package harness

import (
	"strings"
	"testing"
	"time"

	"kbench/harness/calibration"
	"kbench/results"
	"kbench/workloads"
)

// What comes back without what was put in is wrong: other work on the machine
// cannot shorten anything.
func TestSelfTestFindsAClockThatLies(t *testing.T) {
	honest := delayed(100*time.Millisecond, "before brokers apply", calibration.Delays{Apply: 100 * time.Millisecond}, map[string]time.Duration{"acked": 0, "last": 100 * time.Millisecond})
	honest.params.Duration = 500 * time.Millisecond
	lies := honest
	lies.name, lies.delays = "a delay that is not there", calibration.Delays{}
	swapped := honest
	swapped.name, swapped.delays = "a delay in another column", calibration.Delays{Ack: 100 * time.Millisecond}
	o := SelfTestOptions{Out: t.TempDir()}
	first := baseline
	first.params.Duration = 500 * time.Millisecond
	base, err := calibrate(t.Context(), o, first)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []calibrationCase{lies, swapped} {
		readings, err := o.tries(t.Context(), c, &base)
		if err != nil {
			t.Fatal(err)
		}
		switch r := readings[1]; {
		case r.Standing == Busy:
			t.Logf("SKIPPED: this machine is too busy to measure %s: %+v", c.name, r)
		case r.Standing != Wrong || !strings.Contains(r.Why, "less than was put in"):
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	readings, err := o.tries(t.Context(), honest, &base)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readings {
		if r.Standing == Wrong {
			t.Errorf("%+v", r)
		}
	}
}

func TestStandingOfAReading(t *testing.T) {
	at := func(v time.Duration, valid bool) measured {
		return measured{trial: workloads.Trial{Valid: valid, Slipped: !valid, Reason: "the change generator slipped", Counts: []workloads.Count{{Name: "n", N: int64(v)}}}}
	}
	for name, c := range map[string]struct {
		m    measured
		e    expected
		want Standing
	}{
		"exact":                      {at(100, true), expected{column: "n", want: 100, count: true, period: 5}, Right},
		"within the period":          {at(104, true), expected{column: "n", want: 100, count: true, period: 5}, Right},
		"within 5 %":                 {at(1040, true), expected{column: "n", want: 1000, count: true, period: 5}, Right},
		"late":                       {at(106, true), expected{column: "n", want: 100, count: true, period: 5}, Busy},
		"early":                      {at(94, true), expected{column: "n", want: 100, count: true, period: 5}, Wrong},
		"a column that is not there": {at(1, true), expected{column: "other", want: 1, count: true, period: 5}, Wrong},
		"an invalid trial":           {at(94, false), expected{column: "other.n", want: 100, quantile: 0}, Busy},
		"a trial that failed":        {measured{trial: workloads.Trial{Reason: "not healthy"}}, expected{column: "other.n", want: 100}, Wrong},
	} {
		t.Run(name, func(t *testing.T) {
			c.m.run = &results.Run{}
			if r := c.e.read(c.m, measured{}); r.Standing != c.want {
				t.Errorf("%+v", r)
			}
		})
	}
}
