package workloads

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
)

// deleteTopics deletes topics in one request, again where that is worth a try.
// A topic that is not there on a further try is one whose acknowledgement was
// lost; in KRaft mode so it may be on the first, as a creation.
func (a *admin) deleteTopics(ctx context.Context, topics []newTopic, rec Recorder) (retries int, err error) {
	left := slices.Clone(topics)
	return a.insist(ctx, fmt.Sprintf("delete %d topics", len(topics)), func(ctx context.Context, addr string, again bool) error {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TimeoutMillis = int32(createTimeout.Milliseconds())
		for _, t := range left {
			req.TopicNames = append(req.TopicNames, t.name)
		}
		sentNs := trace.Now()
		resp, err := a.send(ctx, addr, apiDeleteTopics, req)
		op := Operation{Kind: OpDeleteTopic, SentNs: sentNs, AckedNs: trace.Now()}
		if err != nil {
			for _, t := range left {
				op.Topic = t.name
				rec.Unanswered(op)
			}
			return err
		}
		for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
			if t.Topic == nil {
				return fmt.Errorf("delete topics: %w: a topic without a name in the answer", errRefused)
			}
			op.Topic = *t.Topic
			code := kafka.ErrorCode(t.ErrorCode)
			switch gone := code == kafka.UnknownTopicOrPartition && (again || a.cluster.Mode() == nodeconfig.ModeKRaft); {
			case code == kafka.None || gone:
				rec.Acked(op)
				left = slices.DeleteFunc(left, func(l newTopic) bool { return l.name == *t.Topic })
			default:
				if a.unsure(code) {
					rec.Unanswered(op)
				} else {
					rec.Refused(op, code)
				}
				err = fmt.Errorf("delete topic %s: %w", *t.Topic, judged(t.ErrorCode, t.ErrorMessage))
			}
		}
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("delete topics: no answer about %s", left[0].name)
		}
		return err
	})
}

// removeTopics deletes what a trial made for itself and waits until no broker
// serves it, bounded by the trial timeout.
func (t *trialRun) removeTopics(ctx context.Context, topics []newTopic) error {
	if len(topics) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	t.phase("remove")
	ctx, cancel := context.WithTimeoutCause(ctx, t.p.TrialTimeout, fmt.Errorf("not within %v", t.p.TrialTimeout))
	defer cancel()
	for _, batch := range batchesOf(topics) {
		if _, err := t.admin.deleteTopics(ctx, batch, t.Recorder); err != nil {
			return err
		}
	}
	_, err := awaitGone(ctx, liveBrokers(t.Cluster), topics)
	return err
}

// reassign gives partitions new replicas in one request.
func (a *admin) reassign(ctx context.Context, to map[kafka.TopicPartition][]kafka.BrokerID) (retries int, err error) {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis = int32(createTimeout.Milliseconds())
	for _, tp := range sortedPartitions(to) {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			rt.Topic = tp.Topic
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		rp.Partition, rp.Replicas = tp.Partition, rawIDs(to[tp])
		rt := &req.Topics[len(req.Topics)-1]
		rt.Partitions = append(rt.Partitions, rp)
	}
	return a.insist(ctx, fmt.Sprintf("reassign %d partitions", len(to)), func(ctx context.Context, addr string, _ bool) error {
		resp, err := a.send(ctx, addr, apiReassign, req)
		if err != nil {
			return err
		}
		r := resp.(*kmsg.AlterPartitionAssignmentsResponse)
		if err := judged(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				if err := judged(p.ErrorCode, p.ErrorMessage); err != nil {
					return fmt.Errorf("reassign %s-%d: %w", t.Topic, p.Partition, err)
				}
			}
		}
		return nil
	})
}

// reassignAll is reassign in as many requests as it takes.
func (a *admin) reassignAll(ctx context.Context, to map[kafka.TopicPartition][]kafka.BrokerID) (requests, retries int, err error) {
	for batch := range slices.Chunk(sortedPartitions(to), maxBatchRecords) {
		part := make(map[kafka.TopicPartition][]kafka.BrokerID, len(batch))
		for _, tp := range batch {
			part[tp] = to[tp]
		}
		n, err := a.reassign(ctx, part)
		retries += n
		if err != nil {
			return requests, retries, err
		}
		requests++
	}
	return requests, retries, nil
}

// elect has the first replica of partitions elected, in one request that the
// controller may take some time for. A partition that it leads already is no
// fault: controllers of Kafka 3.9 now and then never answer an election that
// they held, and answer the further try that it was not needed.
func (a *admin) elect(ctx context.Context, tps []kafka.TopicPartition, within time.Duration) (retries int, err error) {
	req := electRequest(tps)
	req.TimeoutMillis = int32(within.Milliseconds())
	return a.insist(ctx, fmt.Sprintf("elect the leaders of %d partitions", len(tps)), func(ctx context.Context, addr string, _ bool) error {
		one, cancel := context.WithTimeout(ctx, within+electGrace)
		defer cancel()
		resp, err := a.send(one, addr, apiElectLeaders, req)
		if err != nil {
			return err
		}
		r := resp.(*kmsg.ElectLeadersResponse)
		if err := judged(r.ErrorCode, nil); err != nil {
			return err
		}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				if kafka.ErrorCode(p.ErrorCode) == kafka.ElectionNotNeeded {
					continue
				}
				if err := judged(p.ErrorCode, p.ErrorMessage); err != nil {
					return fmt.Errorf("elect the leader of %s-%d: %w", t.Topic, p.Partition, err)
				}
			}
		}
		return nil
	})
}

const (
	// electGrace is how much later than its time-out an election is waited for.
	electGrace = 2 * time.Second
	// electAllWithin and electOneWithin bound what a controller may take for
	// many elections and for one.
	electAllWithin = 30 * time.Second
	electOneWithin = 5 * time.Second
)

// electRequest asks for preferred leaders; tps is sorted.
func electRequest(tps []kafka.TopicPartition) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.TimeoutMillis = 30_000
	for _, tp := range tps {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			et := kmsg.NewElectLeadersRequestTopic()
			et.Topic = tp.Topic
			req.Topics = append(req.Topics, et)
		}
		et := &req.Topics[len(req.Topics)-1]
		et.Partitions = append(et.Partitions, tp.Partition)
	}
	return req
}

// misplace creates topics whose partitions are not led by their first replica:
// they are created with it second, and then their replicas are put in order. It
// gives each partition's first replica.
func (t *trialRun) misplace(ctx context.Context, prefix string, partitions, perTopic int) ([]newTopic, map[kafka.TopicPartition]kafka.BrokerID, error) {
	if len(liveBrokers(t.Cluster)) < 2 {
		return nil, nil, fmt.Errorf("needs at least 2 live brokers: with one, no other can lead")
	}
	topics, replicas, err := t.populated(ctx, prefix, partitions, perTopic, int(t.replication()))
	if err != nil {
		return topics, nil, err
	}
	first := make(map[kafka.TopicPartition]kafka.BrokerID, len(replicas))
	turn := replicas // whose replicas are put in another order
	for range maxMisplaceRounds {
		for tp, r := range turn {
			r[0], r[1] = r[1], r[0]
			first[tp] = r[0]
		}
		if _, _, err := t.admin.reassignAll(ctx, turn); err != nil {
			return topics, nil, err
		}
		// A leader may have moved meanwhile, where a broker lost its session: such
		// a partition gets another first replica.
		led, err := t.awaitOrder(ctx, topics, first)
		if err != nil || len(led) == 0 {
			return topics, first, err
		}
		turn = make(map[kafka.TopicPartition][]kafka.BrokerID, len(led))
		for _, tp := range led {
			turn[tp] = replicas[tp]
		}
	}
	return topics, nil, fmt.Errorf("%d partitions are led by their first replica although their replicas were put in another order %d times", len(turn), maxMisplaceRounds)
}

// maxMisplaceRounds bounds how often replicas are put in another order.
const maxMisplaceRounds = 5

// awaitOrder waits until every live broker serves the first replicas, and gives
// the partitions that these lead.
func (t *trialRun) awaitOrder(ctx context.Context, topics []newTopic, first map[kafka.TopicPartition]kafka.BrokerID) (led []kafka.TopicPartition, err error) {
	live := liveBrokers(t.Cluster)
	_, err = awaitTopics(ctx, live, topics, "serves the new order of replicas", func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) bool {
		return len(p.Replicas) > 0 && kafka.BrokerID(p.Replicas[0]) == first[tp] && p.Leader >= 0
	})
	if err != nil {
		return nil, err
	}
	_, err = awaitTopics(ctx, live[:1], topics, "is asked for leaders", func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) bool {
		if kafka.BrokerID(p.Leader) == first[tp] {
			led = append(led, tp)
		}
		return true
	})
	return led, err
}

// populated creates topics for a trial and gives the replicas of each
// partition. Every live broker serves them when it returns.
func (t *trialRun) populated(ctx context.Context, prefix string, partitions, perTopic, replication int) ([]newTopic, map[kafka.TopicPartition][]kafka.BrokerID, error) {
	cfg := PopulateConfig{Prefix: prefix, Partitions: partitions, PartitionsPerTopic: perTopic, Replication: replication}
	batches, err := planBatches(cfg, len(t.Cluster.Brokers()), t.Cluster.Mode())
	if err != nil {
		return nil, nil, err
	}
	topics := slices.Concat(batches...)
	replicas := make(map[kafka.TopicPartition][]kafka.BrokerID, partitions)
	for _, topic := range topics {
		placed, err := place(t.Cluster, topic)
		if err != nil {
			return nil, nil, err
		}
		for i, r := range placed {
			replicas[kafka.TopicPartition{Topic: topic.name, Partition: int32(i)}] = r
		}
	}
	_, err = populate(ctx, t.Cluster, t.admin, cfg, t.Recorder, func(done, total int) { t.progress(t.out.N, "create", done, total) })
	return topics, replicas, err
}

func sortedPartitions[V any](m map[kafka.TopicPartition]V) []kafka.TopicPartition {
	return slices.SortedFunc(maps.Keys(m), kafka.TopicPartition.Compare)
}
