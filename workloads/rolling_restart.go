package workloads

import (
	"context"
	"fmt"

	"kbench/internal/trace"
	"kbench/kafka"
)

var rollingRestart = Workload{
	Kind:   "rolling-restart",
	Doc:    "stop and start every broker, one after the other, as operators do",
	Clock:  "total: from the first SIGTERM until the last broker is back, every partition in sync and every broker agreeing; broker: the same for each broker; lost: the time that a probed partition could not be produced to in all, mean over the partitions; unavailability of a partition: its first outage. Reports show the availability of each tenth of a second",
	Params: []Param{trialsParam("1").says("times that the whole cluster is restarted"), probeRateParam, probePartitionsParam, timeoutParam.says("bound of one broker's restart and of each health gate")},
	run: func(ctx context.Context, r *run) error {
		for n := 1; n <= r.p.Trials; n++ {
			if err := r.trial(func() error { return r.roll(ctx, n) }); err != nil {
				return fmt.Errorf("trial %d: %w", n, err)
			}
		}
		return nil
	},
	refuses: func(s Setup, p Params) error {
		if s.PerNode > 1 {
			return fmt.Errorf("%d brokers in one process cannot be restarted one by one; write brokersPerNode: 1", s.PerNode)
		}
		return needsTwoReplicas(s, p)
	},
	rolls: true,
}

// rollOrder is the order in which a trial restarts the brokers.
func rollOrder(seed uint64, brokers []kafka.BrokerID, trial int) []kafka.BrokerID {
	return Victims(seed+uint64(trial)<<16, brokers, len(brokers))
}

// roll restarts every broker once, in a seeded order, and waits after each
// until the cluster is whole, as an operator does.
func (r *run) roll(ctx context.Context, n int) error {
	t := r.newTrial(n)
	defer func() { t.record(ctx) }()
	t.phase(PhaseGate)
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy before: %v", err)
		return err
	}
	t.phase("probe")
	c, err := t.startClients(ctx)
	if err != nil {
		t.invalid("before the first restart: %v", err)
		return ctx.Err()
	}
	defer t.stopClients(c)
	ids := brokerIDs(r.Cluster)
	each := r.Recorder.Histogram(MetricRolling, PhaseBrokerRestart)
	for i, id := range rollOrder(r.Seed, ids, n) {
		t.progress(n, "restart", i, len(ids))
		startNs, err := t.restartOne(ctx, id)
		if err != nil {
			t.invalid("broker %d: %v", id, err)
			return fmt.Errorf("restart broker %d: %w", id, err)
		}
		if t.out.StartNs == 0 {
			t.out.StartNs = startNs
		}
		if i == 0 {
			c.client.begin(startNs)
		}
		each(trace.Now() - startNs)
	}
	t.ended(trace.Now())
	if err := c.client.awaitAcks(ctx, t.p.TrialTimeout, t.out.EndNs); err != nil {
		t.invalid("after the last restart: %v", err)
	}
	t.stopClients(c)
	t.takeOutages(c.client.outageBook)
	t.value(MetricRolling, PhaseTotal, float64(t.out.EndNs-t.out.StartNs))
	wanted, acked := c.client.curve.keep(t)
	t.count("produces", wanted)
	t.count("produces.failed", wanted-acked)
	t.value(MetricRolling, PhaseLost, float64(wanted-acked)/float64(len(c.sample))*float64(Constant{t.p.ProbeRate}.Period()))
	return t.rebalance(ctx)
}

// restartOne stops a broker as a service manager does, starts it and waits
// until the cluster is whole again. It gives when it was told to stop.
func (t *trialRun) restartOne(ctx context.Context, id kafka.BrokerID) (startNs int64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.p.TrialTimeout, fmt.Errorf("not within %v", t.p.TrialTimeout))
	defer cancel()
	startNs, err = t.Cluster.Inject(ctx, id, FaultStop)
	if err != nil {
		return startNs, err
	}
	t.event(EventFault, t.out.N, id, startNs, "%s", FaultStop)
	seenNs, code, err := t.Cluster.Exited(ctx, id)
	if err != nil {
		return startNs, fmt.Errorf("it runs on: %w", err)
	}
	if code != 0 {
		t.invalid("broker %d exited with code %d, not by a controlled shutdown", id, code)
	}
	t.event(EventPhase, t.out.N, id, seenNs, "exited with code %d", code)
	backNs, err := t.Cluster.Inject(ctx, id, FaultStart)
	if err != nil {
		return startNs, err
	}
	t.event(EventHealed, t.out.N, id, backNs, "%s", FaultStart)
	if err := t.Cluster.WaitHealthy(ctx); err != nil {
		return startNs, err
	}
	t.event(EventRestored, t.out.N, id, trace.Now(), "healthy again")
	return startNs, nil
}
