package workloads

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

var heapSize = Workload{
	Kind:   "memory",
	Doc:    "have the process of the active controller collect its garbage and tell what is live on its heap",
	Clock:  "none: the result is bytes, in all and for each partition that the cluster has by then. The process has what a Go program or a JVM needs without any partition too, and a broker where it holds one: ask at many partitions. The cluster is at rest before and after it; list it before workloads that make the cluster larger",
	Params: []Param{trialsParam("1").says("times that the heap is looked at"), timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.eachTrial(ctx, func(ctx context.Context, t *trialRun) error { return t.weigh(ctx) })
	},
}

// weigh is one trial.
func (t *trialRun) weigh(ctx context.Context) error {
	active, err := t.Cluster.ActiveController(ctx)
	if err != nil {
		return err
	}
	t.active(t.out.N, active.ID)
	partitions, err := t.partitionsServed(ctx)
	if err != nil {
		return err
	}
	t.phase("collect")
	t.out.StartNs = trace.Now()
	bytes, err := t.Cluster.LiveHeap(ctx, active.ID)
	if err != nil {
		return err
	}
	t.ended(trace.Now())
	t.value(MetricMemory, PhaseHeap, float64(bytes))
	t.value(MetricMemory, PhasePerPartition, float64(bytes)/float64(partitions))
	t.count("partitions", partitions)
	if now, err := t.Cluster.ActiveController(ctx); err != nil {
		return err
	} else if now.ID != active.ID {
		t.invalid("controller %d is active now: the collection of garbage cost controller %d its leadership", now.ID, active.ID)
	}
	return t.healthy(ctx)
}

// partitionsServed counts the partitions of the cluster.
func (t *trialRun) partitionsServed(ctx context.Context) (n int64, err error) {
	live := liveBrokers(t.Cluster)
	if len(live) == 0 {
		return 0, errors.New("no live broker tells the partitions")
	}
	p := newPeer(live[0])
	defer p.close()
	m, err := sweep(ctx, p)
	if err != nil {
		return 0, err
	}
	eachPartition(m, func(kafka.TopicPartition, *kmsg.MetadataResponseTopicPartition) { n++ })
	if n == 0 {
		return 0, errors.New("the cluster has no partition")
	}
	return n, nil
}
