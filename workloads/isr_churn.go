package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
)

var isrChurn = Workload{
	Kind:   "isr-churn",
	Doc:    "pause a broker and let it run on: every ISR that it is in shrinks, and each is expanded by an AlterPartition of its leader",
	Clock:  "shrunk: from SIGSTOP until every other live broker serves every ISR without the broker; expanded: from SIGCONT until every live broker serves every ISR with it. A broker that is paused for longer than its session is fenced by the controller; one that is paused for longer than broker.replicaLagMax alone is taken out by the leaders",
	Params: []Param{trialsParam("3"), awayParam.says("how long the broker is paused at least"), timeoutParam},
	run: func(ctx context.Context, r *run) error {
		victims := r.victims()
		return r.eachTrial(ctx, func(ctx context.Context, t *trialRun) error { return t.churn(ctx, victims[t.out.N-1]) })
	},
	hurts:   true,
	refuses: needsTwoReplicas,
}

// churn is one trial: a broker is paused until all ISRs are without it, and
// runs on.
func (t *trialRun) churn(ctx context.Context, victim kafka.BrokerID) error {
	victim, others, err := t.notController(ctx, victim)
	if err != nil {
		return err
	}
	all, err := hostedBy(ctx, others[0], victim)
	if err != nil {
		return err
	}
	if len(all.partitions) == 0 {
		return fmt.Errorf("broker %d hosts no partition", victim)
	}
	t.count("partitions", int64(len(all.partitions)))
	if err := t.inject(ctx, victim, FaultPause); err != nil {
		return err
	}
	t.phase("shrink")
	shrunkNs, serr := all.awaitISR(ctx, others, victim, false)
	if serr == nil {
		t.value(MetricISR, PhaseShrunk, float64(shrunkNs-t.out.StartNs))
		serr = pause(ctx, time.Duration(t.out.StartNs+int64(t.p.Away)-trace.Now()))
	}
	// Whatever came of it, the broker does not stay paused.
	onNs, err := t.Cluster.Inject(context.WithoutCancel(ctx), victim, FaultResume)
	if err := errors.Join(serr, err); err != nil {
		return err
	}
	t.event(EventHealed, t.out.N, victim, onNs, "%s", FaultResume)
	t.phase("expand")
	expandedNs, err := all.awaitISR(ctx, liveBrokers(t.Cluster), victim, true)
	if err != nil {
		return err
	}
	t.value(MetricISR, PhaseExpanded, float64(expandedNs-onNs))
	t.ended(expandedNs)
	t.event(EventRestored, t.out.N, victim, expandedNs, "every ISR holds it again")
	t.countFencing(ctx, victim)
	if err := t.healthy(ctx); err != nil {
		return err
	}
	return t.rebalance(ctx)
}

// countFencing tells whether the controller took the broker for dead.
func (t *trialRun) countFencing(ctx context.Context, victim kafka.BrokerID) {
	fenced := func(events []trace.Event) bool { _, ok := firstOf(events, victim, trace.BrokerFenced); return ok }
	events, err := t.Cluster.Events(ctx)
	if err != nil || len(events) == 0 {
		return // nodes without traces
	}
	n := int64(0)
	if fenced(eventsSince(events, t.out.StartNs)) {
		n = 1
	}
	t.count("fenced", n)
}

// notController gives a broker to hurt, another than the active controller, and
// the live ones beside it.
func (t *trialRun) notController(ctx context.Context, victim kafka.BrokerID) (kafka.BrokerID, []Node, error) {
	active, err := t.Cluster.ActiveController(ctx)
	if err != nil {
		return victim, nil, err
	}
	t.active(t.out.N, active.ID)
	brokers := t.Cluster.Brokers()
	if victim == active.ID {
		victim = StandIn(victim, brokerIDs(t.Cluster))
		t.note(victim, "broker %d is the active controller, broker %d takes its place", active.ID, victim)
	}
	var others []Node
	for _, b := range brokers {
		if b.ID != victim && b.Live {
			others = append(others, b)
		}
	}
	if len(others) == 0 {
		return victim, nil, errors.New("no live broker beside the victim")
	}
	return victim, others, nil
}
