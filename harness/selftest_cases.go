package harness

import (
	"fmt"
	"sync"
	"time"

	"kbench/harness/calibration"
	"kbench/kafka"
	"kbench/workloads"
)

// calibrationCase is one measurement of a target with known delays.
type calibrationCase struct {
	name   string
	kind   string // of workload
	params workloads.Params
	delays calibration.Delays
	// Done to the target or to the generator itself a third into the load.
	stallTarget, stallGenerator time.Duration

	expect []expected
}

// expected is where something must come back.
type expected struct {
	column string
	want   time.Duration
	// quantile of a histogram; 0 for a phase that comes once a trial.
	quantile float64
	// count has the column be a count of the trial.
	count bool
	// number has it be a number of brokers, of which none is too many or too few.
	number bool
	// over adds what a target without delays shows in the column at best, which is
	// what probes and sockets take.
	over bool
	// period of the probes that see it.
	period time.Duration
	// burst is how much longer a machine that is busy may take to answer all at once
	// that waited. No generator shows it, and a clock that adds so much is found by
	// the other cases.
	burst time.Duration
}

const (
	spreadProbes  = 200 // per second
	spreadPeriod  = time.Second / spreadProbes
	adminPeriod   = time.Second / 100 // of the admin stream
	failoverProbe = 200
	stallProbes   = 5 // few: all that were due in the stall ask for a thousand topics each at its end
)

var spreadParams = workloads.Params{Rate: 50, Duration: 1500 * time.Millisecond, ProbeRate: spreadProbes, TrialTimeout: 30 * time.Second}

// smallestDelay is the least that is put in, and the bound of what the chain may
// show of a target without delays: the other readings are over that, and would
// hide what it adds to all of them. Two periods of the probes and a round trip
// are less.
const smallestDelay = 10 * time.Millisecond

// baseline is the target as it is.
var baseline = func() calibrationCase {
	c := calibrationCase{name: "no delay", kind: "propagation", params: spreadParams}
	for _, phase := range spreadColumns {
		c.expect = append(c.expect, expected{column: "propagation." + phase, quantile: 0.5, period: smallestDelay})
	}
	c.expect = append(c.expect, expected{column: divergedFor, quantile: 0.5, period: smallestDelay}, expected{column: divergedOn, number: true})
	return c
}()

// calibrations are all cases, in the order in which they are measured.
var calibrations = func() []calibrationCase {
	out := []calibrationCase{baseline}
	for _, d := range []time.Duration{smallestDelay, 50 * time.Millisecond, 200 * time.Millisecond} {
		out = append(out, delayed(d, "before the acknowledgement", calibration.Delays{Ack: d}, map[string]time.Duration{"acked": d, "last": 0}))
		out = append(out, delayed(d, "before brokers apply", calibration.Delays{Apply: d}, map[string]time.Duration{"acked": 0, "first": d, "median": d, "last": d}))
		one := delayed(d, "on broker 2 alone", calibration.Delays{Broker: map[kafka.BrokerID]time.Duration{2: d}},
			map[string]time.Duration{"acked": 0, "first": 0, "median": 0, "last": d, "broker.1": 0, "broker.2": d, "broker.3": 0})
		one.expect = append(one.expect, expected{column: divergedFor, want: d, quantile: 0.5, over: true, period: spreadPeriod}, expected{column: divergedOn, want: 1, number: true})
		out = append(out, one)
	}
	return append(out, generatorStall, targetStall, controllerKill, brokerStop)
}()

// spreadColumns orders what is read of a propagation.
var spreadColumns = []string{"acked", "first", "median", "last", "broker.1", "broker.2", "broker.3"}

// For how long, and on how many brokers, views of one partition disagreed.
const (
	divergedFor = "divergence.views"
	divergedOn  = "disagreement.brokers"
)

func delayed(d time.Duration, where string, delays calibration.Delays, columns map[string]time.Duration) calibrationCase {
	c := calibrationCase{name: fmt.Sprintf("%v %s", d, where), kind: "propagation", params: spreadParams, delays: delays}
	for _, phase := range spreadColumns {
		if want, ok := columns[phase]; ok {
			c.expect = append(c.expect, expected{column: "propagation." + phase, want: want, quantile: 0.5, over: true, period: spreadPeriod})
		}
	}
	return c
}

// generatorStall: what was due meanwhile is sent late, and that is told.
var generatorStall = calibrationCase{
	name: "500ms stall of the generator", kind: "propagation", params: spreadParams, stallGenerator: 500 * time.Millisecond,
	expect: []expected{{column: "change.maxSlipNs", want: 500 * time.Millisecond, count: true, period: time.Second / 50}},
}

// targetStall: a third of the operations is due while nothing is answered, one
// each millisecond, and each waits for what is left of the second. So of all
// latencies two thirds are short and the others lie evenly between 0 and 1 s:
// the q-quantile is 3q-2 seconds. A generator that waits for answers would show
// one slow operation.
var targetStall = calibrationCase{
	name: "1s stall of the target at 1,000 operations/s", kind: "propagation",
	params:      workloads.Params{Rate: 1000, Duration: 3 * time.Second, ProbeRate: stallProbes, ProbePartitions: 2000, TrialTimeout: 30 * time.Second},
	stallTarget: time.Second,
	expect: []expected{
		{column: "propagation.acked", quantile: 0.8, want: 400 * time.Millisecond, over: true, period: stallSlack, burst: stallBurst},
		{column: "propagation.acked", quantile: 0.9, want: 700 * time.Millisecond, over: true, period: stallSlack, burst: stallBurst},
		{column: "propagation.acked", quantile: 0.99, want: 970 * time.Millisecond, over: true, period: stallSlack, burst: stallBurst},
		{column: "propagation.last", quantile: 0.9, want: 700 * time.Millisecond, over: true, period: stallSlack + time.Second/stallProbes, burst: stallBurst},
	},
}

// stallSlack is 5 % of the stall: what all waiting operations take to be answered
// at its end, and where in the load it begins.
const stallSlack = time.Second / 20

// stallBurst is what a busy machine may take for the former: thousands of answers
// are written and read beside its other work.
const stallBurst = time.Second / 2

// controllerKill: the phases are the white box, the first admin request is the
// black box, and they agree.
var controllerKill = calibrationCase{
	name: "a controller is killed", kind: "controller-failover",
	params: workloads.Params{Trials: 1, ProbeRate: failoverProbe, TrialTimeout: 30 * time.Second},
	delays: calibration.Delays{Detect: 300 * time.Millisecond, Elect: 100 * time.Millisecond, Load: 60 * time.Millisecond, Push: 40 * time.Millisecond},
	expect: []expected{
		{column: "recovery.controller.detect", want: 300 * time.Millisecond, period: time.Millisecond},
		{column: "recovery.controller.elect", want: 100 * time.Millisecond, period: time.Millisecond},
		{column: "recovery.controller.load", want: 60 * time.Millisecond, period: time.Millisecond},
		{column: "recovery.controller.push", want: 40 * time.Millisecond, period: time.Millisecond},
		{column: "recovery.controller.first-admin", want: 500 * time.Millisecond, period: adminPeriod},
	},
}

// brokerStop: granted is what the controller says, moved what brokers serve 50 ms
// later, exit the process.
var brokerStop = calibrationCase{
	name: "a broker is told to stop", kind: "controlled-shutdown",
	params: workloads.Params{Trials: 1, ProbeRate: spreadProbes, TrialTimeout: 30 * time.Second},
	delays: calibration.Delays{Grant: 200 * time.Millisecond, Apply: 50 * time.Millisecond, Exit: 400 * time.Millisecond},
	expect: []expected{
		{column: "controlled-shutdown.granted", want: 200 * time.Millisecond, period: time.Millisecond},
		{column: "controlled-shutdown.moved", want: 250 * time.Millisecond, period: spreadPeriod},
		{column: "controlled-shutdown.exit", want: 400 * time.Millisecond, period: time.Millisecond},
	},
}

// disturb is the progress function of a case: it is called by the generator
// between two operations, so that to sleep in it is to stall the generator.
func (c calibrationCase) disturb(target *calibration.Target) func(workloads.Progress) {
	var once sync.Once
	return func(p workloads.Progress) {
		if p.Phase != "drive" || p.Total == 0 || p.Done < p.Total/3 {
			return
		}
		once.Do(func() {
			if c.stallTarget > 0 {
				target.Stall(c.stallTarget)
			}
			time.Sleep(c.stallGenerator)
		})
	}
}

// read judges one expectation by one try. What is more than was put in is wrong,
// until another try is nearer, but where a generator of the same trial was as
// late itself, or many answers came at once: then the machine was busy.
func (e expected) read(m measured, bases []measured) Reading {
	r := Reading{Column: e.column, Want: e.want, Tolerance: max(e.want/20, e.period), Number: e.number}
	var zero, late time.Duration
	var ok bool
	switch {
	case e.count:
		r.Got, ok = m.count(e.column)
	case e.number:
		r.Got, ok = m.number(e.column)
	case e.quantile > 0:
		r.Got, ok = m.quantile(e.column, e.quantile)
		late = max(m.lateness(), e.burst)
		if e.over {
			zero = least(bases, e.column)
		}
	default:
		r.Got, ok = m.sample(e.column)
		late = m.lateness()
	}
	raw := r.Got
	r.Got -= zero
	slipped := !m.trial.Valid && (!e.count || !ok) // what was tried again went without the stall
	r.told = ok && !m.failed() && !slipped
	switch excess := r.off() - r.Tolerance; {
	case m.failed():
		r.Standing, r.Why = Wrong, m.trial.Reason
	case slipped:
		r.Standing, r.Why = Busy, m.trial.Reason
	case !ok:
		r.Standing, r.Why, r.final = Wrong, "the run folder has no such column", true
	case !e.number && (raw < 0 || raw < r.Want-r.Tolerance):
		r.Standing, r.Why, r.final = Wrong, "less than was put in", true
	case excess <= 0:
		r.Standing = Right
	case excess <= late:
		r.Standing, r.Why = Busy, fmt.Sprintf("more than was put in, and this machine is busy: it was up to %v late by itself", late.Round(time.Millisecond/10))
	case r.Got > r.Want:
		r.Standing, r.Why = Wrong, fmt.Sprintf("more than was put in, in the nearest of %d tries", selfTestTries)
	default:
		r.Standing, r.Why = Wrong, "less than was put in over what a target without delays shows"
	}
	return r
}

// least is the median of a column that a target without delays showed, in the
// best of its measurements.
func least(bases []measured, column string) (least time.Duration) {
	found := false
	for _, b := range bases {
		if v, ok := b.quantile(column, 0.5); ok && (!found || v < least) {
			least, found = v, true
		}
	}
	return least
}
