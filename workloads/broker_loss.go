package workloads

import (
	"context"
	"errors"
	"fmt"

	"kbench/internal/trace"
	"kbench/kafka"
)

// loseBrokers runs the trials of a workload that takes brokers away.
func (r *run) loseBrokers(ctx context.Context, fault Fault) error {
	if len(r.Cluster.Brokers()) < 2 {
		return errors.New("needs at least 2 brokers: with one, nothing can move")
	}
	for i, victim := range r.victims() {
		if err := r.trial(func() error { return r.loseBroker(ctx, i+1, victim, fault) }); err != nil {
			return fmt.Errorf("trial %d: %w", i+1, err)
		}
	}
	return nil
}

// loss is one trial that takes one broker away.
type loss struct {
	*trialRun
	victim kafka.BrokerID
	fault  Fault
	others []Node // live brokers but the victim
	led    int
	sample []kafka.TopicPartition // sorted
	move   *movement
	watch  *probes
	client *produceProbe
	exit   <-chan exit // that the fault bit; nil where nothing tells
}

// loseBroker runs one trial: gate, probes, fault, recovery, restore. Its error
// ends the workload; what is wrong with the trial alone is in its record.
func (r *run) loseBroker(ctx context.Context, n int, victim kafka.BrokerID, fault Fault) error {
	t := &loss{trialRun: r.newTrial(n), victim: victim, fault: fault}
	defer func() { t.record(ctx) }()
	t.phase(PhaseGate)
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy before the fault: %v", err)
		return err
	}
	if err := t.choose(ctx); err != nil {
		t.invalid("%v", err)
		return err
	}
	if t.led == 0 {
		t.invalid("broker %d led no partition that can move", t.victim)
		return nil
	}
	if t.warmUp(ctx) {
		if err := t.inject(ctx, t.victim, t.fault); err != nil {
			t.stopProbes()
			return err
		}
		t.client.begin(t.out.StartNs)
		t.measure(ctx)
	} else {
		t.stopProbes()
		return ctx.Err()
	}
	return t.restore(ctx)
}

// choose makes sure that the victim is not the active controller, whose loss
// is another event, and finds what it leads.
func (t *loss) choose(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.p.TrialTimeout)
	defer cancel()
	var err error
	if t.victim, t.others, err = t.notController(ctx, t.victim); err != nil {
		return err
	}
	p := newPeer(t.others[0])
	defer p.close()
	m, err := sweep(ctx, p)
	if err != nil {
		return err
	}
	led, stuck := ledBy(t.own(m), t.victim)
	t.led = len(led)
	t.sample = samplePartitions(led, t.p.ProbePartitions, t.Seed, uint64(t.out.N))
	t.count("partitions.led", int64(len(led)))
	t.count("partitions.stuck", int64(stuck))
	t.count("partitions.probed", int64(len(t.sample)))
	t.move = newMovement(t.victim, led, t.sample, t.others)
	return nil
}

// warmUp starts the probes and reports whether all of them work.
func (t *loss) warmUp(ctx context.Context) bool {
	t.phase("probe")
	t.watch = startMetadataProbes(ctx, t.others, t.p.ProbeRate, t.move.topics, t.move.observe)
	t.client = startProduce(ctx, t.Cluster.Brokers(), t.sample, t.move.leader, t.p.ProbeRate)
	if err := t.watch.warm(ctx, t.gate()); err != nil {
		t.invalid("before the fault: %v", err)
		return false
	}
	if err := t.client.awaitAcks(ctx, t.gate(), 0); err != nil {
		t.invalid("before the fault: %v", err)
		return false
	}
	return true
}

// measure waits for the recovery and takes its values.
func (t *loss) measure(ctx context.Context) {
	t.phase("recover")
	switch {
	case t.fault == FaultPause:
	case t.fault.Severs():
		t.exit = t.awaitSevered(ctx, t.victim)
	default:
		t.exit = t.awaitExit(ctx, t.victim)
	}
	wait, cancel := context.WithTimeoutCause(ctx, t.p.TrialTimeout, fmt.Errorf("not within %v", t.p.TrialTimeout))
	defer cancel()
	stragglers, err := t.move.complete(wait, t.others, func(left int) {})
	t.count("partitions.stragglers", int64(stragglers))
	moved := t.move.lastNs()
	if err != nil {
		t.takeExit(ctx) // a broker that runs on says more than what it leads
		t.invalid("%v", err)
	} else {
		t.value(t.metric(), PhaseMoved, float64(moved-t.out.StartNs))
		t.ended(moved)
		// A partition that is long out of reach is what is measured: the bound is
		// the trial's own.
		if err := t.client.awaitAcks(wait, t.p.TrialTimeout, max(moved, t.out.StartNs)); err != nil {
			t.invalid("after the fault: %v", err)
		}
	}
	if moved != 0 && moved <= t.out.StartNs {
		t.invalid("the fault did not bite: broker %d led nothing any more when it came", t.victim)
	}
	t.stopProbes() // reading traces is work that would delay them
	t.takeExit(ctx)
	t.takeEvents(ctx, moved)
}

func (t *loss) metric() string {
	if t.fault == FaultStop {
		return MetricControlledShutdown
	}
	return MetricBrokerRecovery
}

// takeExit checks that the fault bit: how the victim's process ended, or that
// the victim was seen to be cut off.
func (t *loss) takeExit(ctx context.Context) {
	if t.exit == nil {
		return
	}
	e := <-t.exit
	t.exit = nil
	switch {
	case e.err != nil && t.fault.Severs():
		t.invalid("the fault did not bite: broker %d: %v", t.victim, e.err)
	case t.fault.Severs():
		t.event(EventPhase, t.out.N, t.victim, e.seenNs, "seen to be cut off")
		return
	case e.err != nil:
		t.invalid("the fault did not bite: broker %d runs on: %v", t.victim, e.err)
	case t.fault == FaultStop && e.code != 0:
		t.invalid("broker %d exited with code %d, not by a controlled shutdown", t.victim, e.code)
	case t.fault == FaultStop:
		t.value(MetricControlledShutdown, PhaseExit, float64(e.seenNs-t.out.StartNs))
		t.ended(e.seenNs)
	}
	if ctx.Err() == nil && e.err == nil {
		t.event(EventPhase, t.out.N, t.victim, e.seenNs, "exited with code %d", e.code)
	}
}

// takeEvents takes the white-box phase: when the controller granted the
// shutdown, or declared the broker dead.
func (t *loss) takeEvents(ctx context.Context, moved int64) {
	kinds, phase := []trace.Kind{trace.BrokerFenced}, PhaseDetect
	if t.fault == FaultStop {
		kinds, phase = []trace.Kind{trace.ControllerShutdownGranted, trace.ShutdownGranted}, PhaseGranted
	}
	find := func(events []trace.Event) (int64, bool) { return firstOf(events, t.victim, kinds...) }
	events, traced := t.whiteBox(ctx, func(e []trace.Event) bool { _, ok := find(e); return ok })
	at, ok := find(events)
	if !ok {
		if traced {
			t.note(t.victim, "no trace tells the end of phase %s", phase)
		}
		return
	}
	t.value(t.metric(), phase, float64(at-t.out.StartNs))
	if phase == PhaseDetect && moved != 0 {
		t.value(t.metric(), PhaseRest, float64(max(0, moved-at)))
	}
	t.event(EventPhase, t.out.N, t.victim, at, "%s", phase)
	t.ended(at)
	// The controller's decision precedes what brokers serve; a black box that
	// saw the end before the white box its begin contradicts it.
	if period := int64(Constant{t.p.ProbeRate}.Period()); t.fault != FaultStop && moved != 0 && at > moved+period {
		t.note(t.victim, "traces and probes disagree: %s is %d ns after the last partition was seen moved", phase, at-moved)
	}
}

// stopProbes ends the probes and judges their generators. It may be called
// again.
func (t *loss) stopProbes() {
	if t.watch == nil {
		return
	}
	t.countGenerator()
	s, c := t.watch.stop(), t.client.stop()
	t.watch = nil
	t.judge("probe", s)
	t.judge("produce", c)
	if t.out.StartNs == 0 {
		return
	}
	t.takeOutages(t.client.outageBook)
}
