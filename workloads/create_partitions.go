package workloads

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

var createPartitions = Workload{
	Kind:   "create-partitions",
	Doc:    "add partitions to topics through CreatePartitions and measure the rate",
	Clock:  "from the first intended CreatePartitions until every live broker serves every partition; the result is partitions per second. The topics are created, with one partition each, before the clock starts",
	Params: []Param{trialsParam("1"), partitionsParam.says("partitions to add"), perTopicParam.says("partitions added to each topic"), replicationParam, timeoutParam},
	run: func(ctx context.Context, r *run) error {
		return r.eachTrial(ctx, r.enlargeTrial)
	},
}

// enlargeTrial makes topics of one partition and enlarges them. Requests follow
// each other without a pause.
func (r *run) enlargeTrial(ctx context.Context, t *trialRun) error {
	n := (r.p.Partitions + r.p.PartitionsPerTopic - 1) / r.p.PartitionsPerTopic
	topics, _, err := t.populated(ctx, r.topicPrefix(), n, 1, r.p.Replication)
	if err != nil {
		return err
	}
	left := r.p.Partitions
	for i := range topics {
		more := min(left, r.p.PartitionsPerTopic)
		left -= more
		topics[i].partitions += int32(more)
	}
	t.phase("enlarge")
	t.out.StartNs = trace.Now()
	batches, retries := batchesOf(topics), 0
	for _, batch := range batches {
		n, err := t.admin.enlarge(ctx, batch, t.Recorder)
		retries += n
		if err != nil {
			return err
		}
	}
	servedNs, err := awaitAllServed(ctx, liveBrokers(r.Cluster), topics)
	if err != nil {
		return err
	}
	t.rate(MetricEnlargement, r.p.Partitions, servedNs)
	t.count("partitions", int64(r.p.Partitions))
	t.count("topics", int64(len(topics)))
	t.count("requests", int64(len(batches)))
	t.count("retries", int64(retries))
	return t.removeTopics(ctx, topics)
}

// enlarge brings topics of one partition to their number of partitions in one
// request. INVALID_PARTITIONS on a further try means that a topic has them: the
// acknowledgement was lost.
func (a *admin) enlarge(ctx context.Context, topics []newTopic, rec Recorder) (retries int, err error) {
	byName := map[string]newTopic{}
	for _, t := range topics {
		byName[t.name] = t
	}
	return a.insist(ctx, fmt.Sprintf("enlarge %d topics", len(topics)), func(ctx context.Context, addr string, again bool) error {
		req, err := a.enlargeRequest(topics)
		if err != nil {
			return err
		}
		sentNs := trace.Now()
		resp, err := a.send(ctx, addr, apiCreatePartitions, req)
		ackedNs := trace.Now()
		if err != nil {
			for _, t := range topics {
				rec.Unanswered(t.enlargement(sentNs, ackedNs))
			}
			return err
		}
		for _, rt := range resp.(*kmsg.CreatePartitionsResponse).Topics {
			op := byName[rt.Topic].enlargement(sentNs, ackedNs)
			switch code := kafka.ErrorCode(rt.ErrorCode); {
			case code == kafka.None || again && code == kafka.InvalidPartitions:
				rec.Acked(op)
			default:
				if a.unsure(code) {
					rec.Unanswered(op)
				} else {
					rec.Refused(op, code)
				}
				err = fmt.Errorf("enlarge topic %s: %w", rt.Topic, judged(rt.ErrorCode, rt.ErrorMessage))
			}
		}
		return err
	})
}

func (t newTopic) enlargement(sentNs, ackedNs int64) Operation {
	return Operation{Kind: OpCreatePartitions, Topic: t.name, Partitions: t.partitions, SentNs: sentNs, AckedNs: ackedNs}
}

// enlargeRequest places the new partitions as a topic of that size is placed.
func (a *admin) enlargeRequest(topics []newTopic) (*kmsg.CreatePartitionsRequest, error) {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(createTimeout.Milliseconds())
	for _, t := range topics {
		replicas, err := place(a.cluster, t)
		if err != nil {
			return nil, err
		}
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = t.name, t.partitions
		for _, r := range replicas[1:] { // one is there
			ra := kmsg.NewCreatePartitionsRequestTopicAssignment()
			ra.Replicas = rawIDs(r)
			rt.Assignment = append(rt.Assignment, ra)
		}
		req.Topics = append(req.Topics, rt)
	}
	return req, nil
}
