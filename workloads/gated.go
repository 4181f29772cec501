package workloads

import (
	"context"
	"fmt"
)

// eachTrial runs the trials of a workload one after the other, each between two
// health gates. An error of try makes its trial invalid and ends the workload:
// the cluster is not what the next trial needs.
func (r *run) eachTrial(ctx context.Context, try func(context.Context, *trialRun) error) error {
	for n := 1; n <= r.p.Trials; n++ {
		if err := r.trial(func() error { return r.gated(ctx, n, try) }); err != nil {
			return fmt.Errorf("trial %d: %w", n, err)
		}
	}
	return nil
}

func (r *run) gated(ctx context.Context, n int, try func(context.Context, *trialRun) error) error {
	t := r.newTrial(n)
	defer func() { t.record(ctx) }()
	t.phase(PhaseGate)
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy before: %v", err)
		return err
	}
	bound, cancel := context.WithTimeoutCause(ctx, r.p.TrialTimeout, fmt.Errorf("not within %v", r.p.TrialTimeout))
	defer cancel()
	if err := try(bound, t); err != nil {
		t.invalid("%v", err)
		return err
	}
	t.phase(PhaseGate)
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy after: %v", err)
		return err
	}
	return nil
}

// served takes the end of what every broker serves from ns on.
func (t *trialRun) served(metric string, ns int64) {
	t.ended(ns)
	t.value(metric, PhaseServed, float64(ns-t.out.StartNs))
}

// rate takes how many partitions a second changed until every broker served it.
func (t *trialRun) rate(metric string, partitions int, servedNs int64) {
	t.ended(servedNs)
	t.value(metric, PhaseRate, float64(partitions)/(float64(servedNs-t.out.StartNs)/1e9))
}
