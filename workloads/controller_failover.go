package workloads

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
)

var controllerFailover = Workload{
	Kind:   "controller-failover",
	Doc:    "kill, pause or resign the active controller, isolate it, or cut it off from the store or the other voters",
	Clock:  "from the fault; first-admin: an admin request of the open-loop stream that was due after the fault succeeds; detect, elect, load and push are white-box phases, each from the end of the one before",
	Params: []Param{howParam("kill", "pause", "resign", "isolate", "cut", "cut-in", "cut-out").says("how the fault is made; one that is paused wakes as a zombie when another has succeeded it"), trialsParam("3"), killsParam, probeRateParam, probePartitionsParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		for n := 1; n <= r.p.Trials; n++ {
			err := r.row(n, func(trial int, first, last bool) error { return r.failOver(ctx, trial, first, last) })
			if err != nil {
				return fmt.Errorf("trial %d: %w", n, err)
			}
		}
		return nil
	},
}

// failoverFaults is how each way of going is made. A controller resigns as
// Kafka has it resign: it is told to stop, gives its epoch up and exits. One
// that is isolated hears of nothing until the trial is over; one that is cut off
// from what it writes to is still reached by brokers and clients.
var failoverFaults = map[string]Fault{
	"kill": FaultKill, "pause": FaultPause, "resign": FaultStop,
	"isolate": FaultIsolate, "cut": FaultCut, "cut-in": FaultCutIn, "cut-out": FaultCutOut,
}

// failover is one trial that takes the active controller away.
type failover struct {
	*trialRun
	victim Node
	fault  Fault
	others []Node // live brokers but the victim
	stream *adminStream
	watch  *probes
	heirs  *succession // nil where traces tell
	// stopped: the stream has ended; what it holds stays.
	stopped bool

	mu    sync.Mutex
	names map[kafka.BrokerID]string // zk: the controller's address by each broker
	turn  int
}

// row loses controllers one after the other, each as soon as its predecessor was
// replaced: then the node lost before is on its way back. Each is a trial, and
// one whose generator slipped is run again in its place.
func (r *run) row(n int, lose func(trial int, first, last bool) error) error {
	for k := range r.p.Kills {
		err := r.trial(func() error { return lose((n-1)*r.p.Kills+k+1, k == 0, k == r.p.Kills-1) })
		if err != nil {
			return err
		}
	}
	return nil
}

// failOver is one trial. The first of a row begins with a healthy cluster, the
// last ends with one.
func (r *run) failOver(ctx context.Context, n int, first, last bool) error {
	t := &failover{trialRun: r.newTrial(n), fault: failoverFaults[r.p.How], names: map[kafka.BrokerID]string{}}
	defer func() { t.record(ctx) }()
	t.phase(PhaseGate)
	if first {
		if err := r.healthy(ctx); err != nil {
			t.invalid("not healthy before the fault: %v", err)
			return err
		}
	}
	if err := t.choose(ctx); err != nil {
		t.invalid("%v", err)
		return err
	}
	if !t.warmUp(ctx) {
		t.stopProbes()
		return ctx.Err()
	}
	if err := t.inject(ctx, t.victim.ID, t.fault); err != nil {
		t.stopProbes()
		return err
	}
	t.measure(ctx)
	if last {
		return t.bringBack(ctx, t.victim.ID, t.fault)
	}
	ns, err := t.undo(ctx, t.victim.ID, t.fault.Undo())
	if err != nil {
		t.invalid("node %d could not be brought back: %v", t.victim.ID, err)
		return err
	}
	t.event(EventHealed, t.out.N, t.victim.ID, ns, "%s", t.fault.Undo())
	return nil
}

func (t *failover) choose(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, t.p.TrialTimeout)
	defer cancel()
	if len(t.Cluster.Controllers()) < 2 {
		return fmt.Errorf("the cluster has %d controllers: none could succeed", len(t.Cluster.Controllers()))
	}
	if t.victim, err = t.Cluster.ActiveController(ctx); err != nil {
		return err
	}
	t.active(t.out.N, t.victim.ID)
	for _, b := range t.Cluster.Brokers() {
		if b.Live && b.ID != t.victim.ID {
			t.others = append(t.others, b)
		}
	}
	if len(t.others) == 0 {
		return fmt.Errorf("no live broker beside the controller %d", t.victim.ID)
	}
	return nil
}

// warmUp starts the admin stream and reports whether a request of it succeeded.
func (t *failover) warmUp(ctx context.Context) bool {
	t.phase("probe")
	if err := t.follow(ctx); err != nil {
		t.invalid("before the fault: %v", err)
		return false
	}
	if t.zk() {
		t.watch = startMetadataProbes(ctx, t.others, t.p.ProbeRate, func(Node) []string { return []string{} }, t.named)
		if err := t.watch.warm(ctx, t.gate()); err != nil {
			t.invalid("before the fault: %v", err)
			return false
		}
	}
	t.stream = &adminStream{
		admin: t.admin, rec: t.Recorder, replication: t.replication(), target: t.target,
		name: func(n int) string { return numbered(t.topicPrefix(), n) },
	}
	t.stream.start(ctx, t.p.ProbeRate)
	err := await(ctx, t.gate(), "an admin request to succeed", func() bool { _, ok := t.stream.firstAck(0, 0); return ok })
	if err != nil {
		t.invalid("before the fault: %v (last: %v)", err, t.stream.last())
		return false
	}
	if t.heirs != nil {
		if err := await(ctx, t.gate(), "brokers to tell of the controller", t.heirs.started); err != nil {
			t.invalid("before the fault: %v", err)
			return false
		}
	}
	return true
}

func (t *failover) zk() bool { return t.Cluster.Mode() == nodeconfig.ModeZK }

// named hears which controller a broker names.
func (t *failover) named(id kafka.BrokerID, m *kmsg.MetadataResponse, doneNs int64) {
	addr, ok := controllerAddr(m)
	if !ok {
		return
	}
	if t.heirs != nil {
		t.heirs.told(addr != t.victim.Addr, doneNs)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names[id] = addr
}

// target gives where an admin request goes now. zk: the controller, and the
// new one as soon as any broker names it. kraft: each live broker in turn.
func (t *failover) target() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.zk() {
		t.turn++
		return t.others[t.turn%len(t.others)].Addr, true
	}
	old := false
	for _, b := range t.others {
		switch addr := t.names[b.ID]; addr {
		case "":
		case t.victim.Addr:
			old = true
		default:
			return addr, true
		}
	}
	return t.victim.Addr, old
}

// measure waits until the cluster works again and takes its values.
func (t *failover) measure(ctx context.Context) {
	t.phase("recover")
	dueNs, doneNs := max(t.gone(ctx), t.out.StartNs), int64(0)
	if t.heirs != nil {
		heirNs, err := t.succeeded(ctx)
		if err != nil {
			t.invalid("the fault did not bite: controller %d: %v", t.victim.ID, err)
			t.stopProbes()
			return
		}
		t.event(EventPhase, t.out.N, 0, heirNs, "a broker tells of another controller")
		dueNs, doneNs = t.out.StartNs, heirNs
	}
	var first acks
	err := await(ctx, t.p.TrialTimeout, "an admin request due after the fault to succeed", func() (ok bool) {
		first, ok = t.stream.firstAck(dueNs, doneNs)
		return ok
	})
	if err != nil {
		t.invalid("%v (last: %v)", err, t.stream.last())
	}
	t.stopProbes() // reading traces is work that would delay them
	rec := t.recovery(ctx)
	if rec.elected != 0 {
		// The successor is known: what it acknowledged counts from its election
		// on, even where the old one had not quite gone.
		if a, ok := t.stream.firstAck(t.out.StartNs, rec.elected); ok {
			first = a
		}
	}
	if first.doneNs != 0 {
		t.value(MetricControllerRecovery, PhaseFirstAdmin, float64(first.doneNs-t.out.StartNs))
		t.ended(first.doneNs)
	}
	t.takeSteps(rec, first)
}

// gone checks that the fault bit and gives a time from which the old
// controller does nothing for anybody.
func (t *failover) gone(ctx context.Context) int64 {
	made := trace.Now() // the fault was there when Inject returned
	switch {
	case t.fault == FaultPause:
		return made
	case t.fault.Severs():
		e := <-t.awaitSevered(ctx, t.victim.ID)
		if e.err != nil {
			t.invalid("the fault did not bite: controller %d: %v", t.victim.ID, e.err)
			return made
		}
		t.event(EventPhase, t.out.N, t.victim.ID, e.seenNs, "seen to be cut off")
		return made
	}
	e := <-t.awaitExit(ctx, t.victim.ID)
	switch {
	case e.err != nil:
		t.invalid("the fault did not bite: controller %d runs on: %v", t.victim.ID, e.err)
		return trace.Now()
	case t.fault == FaultStop && e.code != 0:
		t.invalid("controller %d exited with code %d, not by resigning", t.victim.ID, e.code)
	}
	t.event(EventPhase, t.out.N, t.victim.ID, e.seenNs, "exited with code %d", e.code)
	return e.seenNs
}

func (t *failover) recovery(ctx context.Context) recovery {
	var ids []kafka.BrokerID
	for _, b := range t.others {
		ids = append(ids, b.ID)
	}
	read := func(events []trace.Event) recovery {
		if t.fault.Severs() { // what the old one noticed is no standby's detection
			events = withoutDetection(events, t.victim.ID)
		}
		return readRecovery(events, ids)
	}
	events, traced := t.whiteBox(ctx, func(e []trace.Event) bool { return read(e).whole() })
	rec := read(events)
	if traced && rec.elections == 0 {
		t.invalid("the fault did not bite: no trace tells of an election after it")
	}
	return rec
}

// takeSteps takes the white-box phases and the total.
func (t *failover) takeSteps(rec recovery, first acks) {
	if rec.elections == 0 {
		return // nodes without traces
	}
	t.count("elections", int64(rec.elections))
	t.count("epoch", rec.epoch)
	for _, s := range rec.steps(t.out.StartNs) {
		t.value(MetricControllerRecovery, s.phase, float64(s.ns))
		t.event(EventPhase, t.out.N, 0, s.endNs, "%s, epoch %d", s.phase, rec.epoch)
		t.ended(s.endNs)
	}
	if len(rec.unpushed) > 0 {
		t.note(0, "brokers %v did not tell epoch %d", rec.unpushed, rec.epoch)
	}
	if rec.active != 0 {
		t.event(EventPhase, t.out.N, 0, rec.active, "active, epoch %d", rec.epoch)
		t.ended(rec.active)
	}
	if !rec.whole() {
		t.note(0, "traces do not tell every phase: detected %d, elected %d, loaded %d, active %d, pushed %d",
			rec.detected, rec.elected, rec.loaded, rec.active, rec.pushed)
	}
	if rec.active != 0 && rec.pushed != 0 && first.doneNs != 0 {
		end := max(first.doneNs, rec.active, rec.pushed)
		t.value(MetricControllerRecovery, PhaseTotal, float64(end-t.out.StartNs))
		if rec.detected != 0 {
			t.value(MetricControllerRecovery, PhaseRest, float64(end-rec.detected))
		}
	}
	if first.doneNs != 0 && rec.elected > first.doneNs {
		t.note(0, "traces and probes disagree: an admin request succeeded %d ns before the election", rec.elected-first.doneNs)
	}
}

// stopProbes ends the stream and the probes and judges their generators.
func (t *failover) stopProbes() {
	if t.stream != nil && !t.stopped {
		t.stopped = true
		t.countGenerator()
		t.judge("admin", t.stream.stop())
		t.count("admin.acked", t.stream.acked())
		t.count("admin.failed", t.stream.failures)
		t.count("admin.givenUp", t.stream.given)
	}
	if t.watch != nil {
		t.judge("probe", t.watch.stop())
		t.watch = nil
	}
	if t.heirs != nil {
		t.heirs.stop()
	}
	t.admin.forget()
}
