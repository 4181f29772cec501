package workloads

import (
	"context"

	"kbench/internal/trace"
)

var deleteTopics = Workload{
	Kind:   "delete-topics",
	Doc:    "delete partitions through DeleteTopics and measure the rate",
	Clock:  "from the first intended DeleteTopics until no live broker serves any of the topics; the result is partitions per second. The topics are created before the clock starts",
	Params: []Param{trialsParam("1"), partitionsParam.says("partitions to create, and then to delete"), perTopicParam, replicationParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.eachTrial(ctx, r.deleteTrial)
	},
}

// deleteTrial deletes topics beside those that are there. Requests follow each
// other without a pause: each is due when the one before is answered.
func (r *run) deleteTrial(ctx context.Context, t *trialRun) error {
	topics, _, err := t.populated(ctx, r.topicPrefix(), r.p.Partitions, r.p.PartitionsPerTopic, r.p.Replication)
	if err != nil {
		return err
	}
	t.phase("delete")
	t.out.StartNs = trace.Now()
	batches, retries := batchesOf(topics), 0
	for _, batch := range batches {
		n, err := t.admin.deleteTopics(ctx, batch, t.Recorder)
		retries += n
		if err != nil {
			return err
		}
	}
	goneNs, err := awaitGone(ctx, liveBrokers(r.Cluster), topics)
	if err != nil {
		return err
	}
	t.rate(MetricDeletion, r.p.Partitions, goneNs)
	t.count("partitions", int64(r.p.Partitions))
	t.count("topics", int64(len(topics)))
	t.count("requests", int64(len(batches)))
	t.count("retries", int64(retries))
	return nil
}
