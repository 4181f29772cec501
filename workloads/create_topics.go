package workloads

import (
	"context"
	"fmt"
)

var createTopics = Workload{
	Kind:   "create-topics",
	Doc:    "create partitions through CreateTopics and measure the rate",
	Clock:  "from the first intended CreateTopics until every live broker serves every partition; the result is partitions per second",
	Params: []Param{trialsParam("1"), partitionsParam, perTopicParam, replicationParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		for n := 1; n <= r.p.Trials; n++ {
			if err := r.createTrial(ctx, n); err != nil {
				return fmt.Errorf("trial %d: %w", n, err)
			}
		}
		return nil
	},
}

// createTrial creates partitions beside those that are there. Requests follow
// each other without a pause: each is due when the one before is answered.
func (r *run) createTrial(ctx context.Context, n int) error {
	t := r.newTrial(n)
	defer func() { t.record(ctx) }()
	t.phase(PhaseGate)
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy before: %v", err)
		return err
	}
	bound, cancel := context.WithTimeoutCause(ctx, r.p.TrialTimeout, fmt.Errorf("not within %v", r.p.TrialTimeout))
	defer cancel()
	c, err := populate(bound, r.Cluster, r.admin, PopulateConfig{
		Prefix: r.topicPrefix(), Partitions: r.p.Partitions,
		PartitionsPerTopic: r.p.PartitionsPerTopic, Replication: r.p.Replication,
	}, r.Recorder, func(done, total int) { r.progress(n, "create", done, total) })
	t.out.StartNs = c.startNs
	t.ended(c.servedNs)
	t.count("partitions", int64(r.p.Partitions))
	t.count("topics", int64(c.topics))
	t.count("requests", int64(c.requests))
	t.count("retries", int64(c.retries))
	if err != nil {
		t.invalid("%v", err)
		return err
	}
	t.value(MetricCreation, PhaseRate, float64(r.p.Partitions)/(float64(c.servedNs-c.startNs)/1e9))
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy after: %v", err)
		return err
	}
	return nil
}
