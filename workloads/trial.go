package workloads

import (
	"context"
	"fmt"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
)

// gateTimeout bounds the warm-up of probes before a fault. A healthy cluster
// answers all of them in far less, but for JVMs that are cold on a busy machine.
const gateTimeout = time.Minute

// trialRun is one trial under way; the workload's goroutine owns it.
type trialRun struct {
	*run
	out     Trial
	windows []window // of the faults on its timeline, when they are over
}

func (r *run) newTrial(n int) *trialRun {
	r.tries++
	return &trialRun{run: r, out: Trial{Workload: r.w.Kind, How: r.p.How, N: n, Valid: true}}
}

// gate is how long the probes may take to work before a fault.
func (r *run) gate() time.Duration { return min(gateTimeout, r.p.TrialTimeout) }

// invalid marks the trial; the first reason stays.
func (t *trialRun) invalid(format string, args ...any) {
	if t.out.Valid {
		t.out.Valid, t.out.Reason = false, fmt.Sprintf(format, args...)
	}
}

// value keeps one measured phase.
func (t *trialRun) value(metric, phase string, v float64) {
	t.out.Values = append(t.out.Values, Value{metric, phase, v})
}

func (t *trialRun) count(name string, n int64) { t.out.Counts = append(t.out.Counts, Count{name, n}) }

// ended moves the trial's end on.
func (t *trialRun) ended(ns int64) { t.out.EndNs = max(t.out.EndNs, ns) }

// judge applies the rule for generators and keeps their counts.
func (t *trialRun) judge(name string, s slips) {
	t.out.Counts = append(t.out.Counts, s.counts(name)...)
	if s.slipped() {
		t.out.Slipped = t.out.Slipped || t.out.Valid
		t.invalid("the %s generator slipped: %d of %d operations were sent more than %v late; ask for less, by rate or probe.rate, or leave the machine to kbench", name, s.late, s.ops, maxSlip)
	}
}

// mostLost is how many operations in a hundred may be lost outside the windows of
// faults. A new leader costs those of some milliseconds, or of one time-out.
const mostLost = 10

// judgeLost applies the rule for operations that were not acknowledged, or not
// served, although no fault was under way when they were due: more than two and
// more than mostLost in a hundred make the trial invalid. What is open when the
// load ends counts.
func (t *trialRun) judgeLost(what string, c *availability) {
	due, acked := c.outside(t.windows)
	if lost := due - acked; lost > 2 && lost*100 > due*mostLost {
		t.invalid("%d of %d %s that were due outside the windows of faults were not acknowledged or not served, more than %d in 100", lost, due, what, mostLost)
	}
}

// record stores the trial. An interrupted one is invalid and keeps what it
// has.
func (t *trialRun) record(ctx context.Context) {
	if ctx.Err() != nil { // what came of it, a wait that failed, is no reason
		t.out.Valid, t.out.Reason = false, fmt.Sprintf("interrupted: %v", context.Cause(ctx))
	}
	if t.out.StartNs == 0 {
		t.out.StartNs = trace.Now()
	}
	t.ended(t.out.StartNs)
	t.out.Slipped = t.out.Slipped && ctx.Err() == nil
	t.slipped = t.out.Slipped
	t.Recorder.Trial(t.out)
}

func (t *trialRun) phase(name string) { t.progress(t.out.N, name, 0, 0) }

func (t *trialRun) note(node kafka.BrokerID, format string, args ...any) {
	t.event(EventNote, t.out.N, node, trace.Now(), format, args...)
}

// inject makes the fault and starts the trial's clock.
func (t *trialRun) inject(ctx context.Context, victim kafka.BrokerID, f Fault) error {
	t.phase("fault")
	ns, err := t.Cluster.Inject(ctx, victim, f)
	if err != nil {
		t.invalid("the fault could not be made: %v", err)
		return fmt.Errorf("%s node %d: %w", f, victim, err)
	}
	t.out.Victim, t.out.StartNs = victim, ns
	t.event(EventFault, t.out.N, victim, ns, "%s", f)
	return nil
}

// exit is how a process ended, or that it was seen to be cut off.
type exit struct {
	seenNs int64
	code   int
	err    error
}

// awaitExit waits for the victim's exit beside whatever else is waited for.
func (t *trialRun) awaitExit(ctx context.Context, victim kafka.BrokerID) <-chan exit {
	ch := make(chan exit, 1)
	go func() {
		ctx, cancel := context.WithTimeoutCause(ctx, t.p.TrialTimeout, fmt.Errorf("no exit within %v", t.p.TrialTimeout))
		defer cancel()
		var e exit
		e.seenNs, e.code, e.err = t.Cluster.Exited(ctx, victim)
		ch <- e
	}()
	return ch
}

// awaitSevered looks whether a fault of the network bit, beside whatever else is
// waited for.
func (t *trialRun) awaitSevered(ctx context.Context, victim kafka.BrokerID) <-chan exit {
	ch := make(chan exit, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, t.p.TrialTimeout)
		defer cancel()
		var e exit
		e.seenNs, e.err = t.Cluster.Severed(ctx, victim)
		ch <- e
	}()
	return ch
}

// whiteBox reads the nodes' traces until enough finds what it wants in the
// events since the fault, for a bounded time: a trace is written within
// moments. It gives what there was at the end; traced is false where nodes
// write no traces.
func (t *trialRun) whiteBox(ctx context.Context, enough func([]trace.Event) bool) (happened []trace.Event, traced bool) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		start := trace.Now()
		all, err := t.Cluster.Events(ctx)
		if err != nil {
			t.note(0, "traces could not be read: %v", err)
			return happened, traced
		}
		happened, traced = eventsSince(all, t.out.StartNs), len(all) > 0
		if !traced || enough(happened) {
			return happened, traced
		}
		if pause(ctx, max(50*time.Millisecond, time.Duration(trace.Now()-start))) != nil {
			return happened, traced
		}
	}
}

// eventsSince gives the events from ns on.
func eventsSince(events []trace.Event, ns int64) (out []trace.Event) {
	for _, e := range events {
		if e.T >= ns {
			out = append(out, e)
		}
	}
	return out
}

// await polls ok until it holds; what names the thing waited for.
func await(ctx context.Context, timeout time.Duration, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %v", timeout))
	defer cancel()
	for !ok() {
		if pause(ctx, time.Millisecond) != nil {
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}
