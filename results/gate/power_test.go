package gate

import (
	"fmt"
	"strings"
	"testing"

	"kbench/results/history"
	"kbench/results/simulated"
)

// falseAlarms counts the nights of a stationary calendar that the gate fails.
// The history grows as a nightly job's does, failed nights too.
func falseAlarms(t *testing.T, c calendar, nights int) int {
	t.Helper()
	const before = 20
	cal := newCalendar(c, before+nights)
	log := cal.log(t, 0, before)
	failed := 0
	for night := before; night < before+nights; night++ {
		run := cal.run(t, night)
		r, err := Judge(run, log, Options{})
		if err != nil {
			t.Fatal(err)
		}
		switch r.ExitCode {
		case 1:
			failed++
		case 3:
			t.Fatalf("night %d: %v", night, r.Reasons)
		}
		add(t, log, run)
	}
	return failed
}

// A thousand nights on which nothing changes: at most 5 % fail. Outliers of
// five times are among trials, and among whole nights, which no gate can tell
// from a regression: they are most of what fails then.
func TestFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: hundreds of simulated runs, which share nothing")
	}
	trials := simulated.Noise{Sigma: 0.05, Outliers: 0.02, Factor: 5}
	for name, c := range map[string]struct {
		calendar
		most int
	}{
		"noise of nights and trials": {calendar{within: trials, nightly: simulated.Noise{Sigma: 0.05, AR: 0.3}}, 30},
		"outliers of whole nights":   {calendar{within: trials, nightly: simulated.Noise{Sigma: 0.05, AR: 0.3, Outliers: 0.02, Factor: 5}}, 50},
		"restless nights":            {calendar{within: trials, nightly: simulated.Noise{Sigma: 0.2, AR: 0.3}}, 30},
		"trials follow each other":   {calendar{within: simulated.Noise{Sigma: 0.1, AR: 0.3, Outliers: 0.02, Factor: 5}, nightly: simulated.Noise{Sigma: 0.02, AR: 0.3}}, 30},
		"six figures": {calendar{
			within: trials, nightly: simulated.Noise{Sigma: 0.05, AR: 0.3}, targets: []string{"zk", "kraft"},
			metrics: []string{"controlled-shutdown.moved", "recovery.broker.moved", "recovery.controller.first-admin"},
		}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.seed = 1
			if got := falseAlarms(t, c.calendar, 1000); got > c.most {
				t.Errorf("%d of 1000 nights fail, at most %d may", got, c.most)
			} else {
				t.Logf("%d of 1000 nights fail", got)
			}
		})
	}
}

// A regression of 10 % under 5 % of noise with ten trials is found in nine of
// ten nights.
func TestPower(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: hundreds of simulated runs, which share nothing")
	}
	for name, c := range map[string]struct {
		calendar
		rounds, least int
	}{
		"steady nights":     {calendar{within: simulated.Noise{Sigma: 0.05}}, 300, 270},
		"outlying trials":   {calendar{within: simulated.Noise{Sigma: 0.05, Outliers: 0.02, Factor: 5}}, 300, 270},
		"nights that vary":  {calendar{within: simulated.Noise{Sigma: 0.05}, nightly: simulated.Noise{Sigma: 0.01, AR: 0.3}}, 300, 270},
		"outlying nights":   {calendar{within: simulated.Noise{Sigma: 0.05}, nightly: simulated.Noise{Outliers: 0.02, Factor: 5}}, 300, 270},
		"among six figures": {calendar{within: simulated.Noise{Sigma: 0.05}, targets: []string{"zk", "kraft"}, metrics: []string{"controlled-shutdown.moved", "recovery.broker.moved", "recovery.controller.first-admin"}}, 100, 90},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := 0
			const nights = 21
			for seed := range uint64(c.rounds) {
				c.seed = seed + 1
				c.change = func(night int, metric string) float64 {
					if night == nights-1 && metric == "controlled-shutdown.moved" {
						return 1.1
					}
					return 1
				}
				if newCalendar(c.calendar, nights).judge(t, Options{}).ExitCode == 1 {
					found++
				}
			}
			if found < c.least {
				t.Errorf("found in %d of %d nights, at least %d must be", found, c.rounds, c.least)
			} else {
				t.Logf("found in %d of %d nights", found, c.rounds)
			}
		})
	}
}

// What is found shrinks with the noise of whole nights, which trials do not
// average out: a regression of 10 % in one of 16 figures, by how much nights
// differ. docs/method.md tells these shares.
func TestPowerByNightNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: hundreds of simulated runs, which share nothing")
	}
	const rounds, nights = 60, 21
	for _, c := range []struct {
		sigma       float64
		least, most int
	}{{0, 48, 60}, {0.01, 42, 57}, {0.02, 18, 36}, {0.03, 8, 24}} {
		t.Run(fmt.Sprintf("%v %%", c.sigma*100), func(t *testing.T) {
			t.Parallel()
			found := 0
			for seed := range uint64(rounds) {
				cal := newCalendar(calendar{
					within: simulated.Noise{Sigma: 0.05}, nightly: simulated.Noise{Sigma: c.sigma, AR: 0.3}, seed: seed + 1,
					targets: []string{"zk", "kraft", "kafka-zk", "kafka-kraft"},
					metrics: []string{"controlled-shutdown.moved", "recovery.broker.moved", "recovery.controller.first-admin", "creation.rate"},
				}, nights)
				cal.factors["zkcontrolled-shutdown.moved"][nights-1] *= 1.1
				r := cal.judge(t, Options{})
				for _, ch := range r.Checks {
					if ch.State == Missed && ch.Metric == "controlled-shutdown.moved" && strings.HasPrefix(ch.Cell, "zk.") {
						found++
					}
				}
			}
			t.Logf("found in %d of %d nights", found, rounds)
			if found < c.least || found > c.most {
				t.Errorf("found in %d of %d nights; documented are %d to %d", found, rounds, c.least, c.most)
			}
		})
	}
}

// A regression that nobody accepts stays one: it does not become the baseline
// while it is reported night after night. Accepted, it does.
func TestRegressionsDoNotBecomeUsual(t *testing.T) {
	c := newCalendar(calendar{
		within: simulated.Noise{Sigma: 0.03}, nightly: simulated.Noise{Sigma: 0.01}, seed: 3,
		change: func(night int, _ string) float64 {
			if night >= 20 {
				return 1.2
			}
			return 1
		},
	}, 60)
	log := c.log(t, 0, 59)
	tonight := c.run(t, 59)
	r, err := Judge(tonight, log, Options{})
	if err != nil || r.ExitCode != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	log.InsertAccept(history.AcceptNight(log.Nights[20], "", "", "more fsyncs, on purpose", "", log.Nights[20].At))
	if r, err = Judge(tonight, log, Options{}); err != nil || r.ExitCode != 0 || r.Checks[0].Nights != 20 {
		t.Errorf("%v, accepted: %+v", err, r)
	}
	few := log.Nights[57]
	log.InsertAccept(history.AcceptNight(few, "", "", "again", "", few.At))
	if r, err = Judge(tonight, log, Options{}); err != nil || r.Verdict != Unjudged || r.Checks[0].State != NoBaseline || r.Checks[0].Nights != 2 {
		t.Errorf("%v, two nights after an accepted change: %+v", err, r)
	}
}
