package workloads

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

var preferredElection = Workload{
	Kind:   "preferred-election",
	Doc:    "have the first replica of many partitions elected through ElectLeaders",
	Clock:  "from the first intended ElectLeaders; acked: until the last is answered; served: until every live broker names the first replica of every partition as its leader. The partitions are created, and led by another replica, before the clock starts",
	Params: []Param{trialsParam("3"), partitionsParam.says("partitions whose leader is elected"), perTopicParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.eachTrial(ctx, r.electTrial)
	},
	refuses: needsTwoReplicas,
}

func (r *run) electTrial(ctx context.Context, t *trialRun) error {
	t.phase(PhasePrepare)
	topics, first, err := t.misplace(ctx, r.topicPrefix(), r.p.Partitions, r.p.PartitionsPerTopic)
	if err != nil {
		return err
	}
	t.phase("elect")
	t.out.StartNs = trace.Now()
	requests := 0
	var ackedNs int64
	answered := make(chan error, 1)
	go func() {
		var err error
		for batch := range slices.Chunk(sortedPartitions(first), electBatch) {
			if _, err = t.admin.elect(ctx, batch, electAllWithin); err != nil {
				break
			}
			requests++
		}
		ackedNs = trace.Now()
		answered <- err
	}()
	// What brokers serve is waited for beside the answers: a controller may
	// answer late what it did at once.
	servedNs, err := awaitTopics(ctx, liveBrokers(r.Cluster), topics, "names the elected leaders", func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) bool {
		return kafka.BrokerID(p.Leader) == first[tp]
	})
	if aerr := <-answered; aerr != nil {
		return aerr
	}
	if err != nil {
		return err
	}
	t.value(MetricElection, PhaseAcked, float64(ackedNs-t.out.StartNs))
	t.served(MetricElection, servedNs)
	t.count("partitions", int64(len(first)))
	t.count("requests", int64(requests))
	return t.removeTopics(ctx, topics)
}
