package workloads

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

var reassignment = Workload{
	Kind:   "reassign",
	Doc:    "move one replica of many partitions to another broker through AlterPartitionReassignments",
	Clock:  "from the first intended AlterPartitionReassignments; acked: until the last is answered; served: until every live broker serves the new replicas of every partition, all of them in sync. The partitions are created before the clock starts; they are empty, so that no data is copied",
	Params: []Param{trialsParam("3"), partitionsParam.says("partitions that move"), perTopicParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.eachTrial(ctx, r.reassignTrial)
	},
	refuses: func(s Setup, _ Params) error {
		if s.Brokers < 2 {
			return errors.New("a cluster of one broker has no other to move a replica to; write brokers: 2 or more")
		}
		return nil
	},
}

func (r *run) reassignTrial(ctx context.Context, t *trialRun) error {
	brokers := liveBrokers(r.Cluster)
	// One broker stays free of each partition, so that a replica can move there.
	topics, replicas, err := t.populated(ctx, r.topicPrefix(), r.p.Partitions, r.p.PartitionsPerTopic, min(3, len(brokers)-1))
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(r.Seed, streamPlacement+uint64(t.out.N)<<8))
	for _, tp := range sortedPartitions(replicas) {
		replicas[tp] = moved(replicas[tp], brokers, rng)
	}
	t.phase("reassign")
	t.out.StartNs = trace.Now()
	requests, retries, err := t.admin.reassignAll(ctx, replicas)
	ackedNs := trace.Now()
	if err != nil {
		return err
	}
	servedNs, err := awaitTopics(ctx, brokers, topics, "serves the new replicas in sync", func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) bool {
		return sameSet(p.Replicas, rawIDs(replicas[tp])) && sameSet(p.ISR, p.Replicas) && p.Leader >= 0
	})
	if err != nil {
		return err
	}
	t.value(MetricReassignment, PhaseAcked, float64(ackedNs-t.out.StartNs))
	t.served(MetricReassignment, servedNs)
	t.count("partitions", int64(len(replicas)))
	t.count("requests", int64(requests))
	t.count("retries", int64(retries))
	return t.removeTopics(ctx, topics)
}

// moved gives replicas with the last one on a broker that had none.
func moved(replicas []kafka.BrokerID, brokers []Node, rng *rand.Rand) []kafka.BrokerID {
	var free []kafka.BrokerID
	for _, b := range brokers {
		if !slices.Contains(replicas, b.ID) {
			free = append(free, b.ID)
		}
	}
	out := slices.Clone(replicas)
	out[len(out)-1] = free[rng.IntN(len(free))]
	return out
}

func sameSet(a, b []int32) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
