package workloads

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
)

const (
	// maxBatchRecords bounds one CreateTopics: Kafka's KRaft controller takes
	// 10,000 records an operation, one a partition and one a topic. Half of it
	// keeps requests well below every timeout. A single topic may be larger.
	maxBatchRecords = 5000
	maxTopicRecords = 9000
	// juteMaxBuffer is ZooKeeper's default bound of one packet, such as the
	// list of all topics.
	juteMaxBuffer = 1<<20 - 1
	// createTimeout bounds one CreateTopics, at the node and here.
	createTimeout = time.Minute
)

// PopulateConfig says what Populate creates.
type PopulateConfig struct {
	Prefix             string // of the topics' names, which go on with a six-digit number
	Partitions         int    // in all; the last topic may be smaller than the others
	PartitionsPerTopic int    // 1 to 9000
	Replication        int    // at most the brokers there are
}

// creation is what a population cost.
type creation struct {
	topics, requests, retries int
	startNs                   int64 // the first request's intended time
	servedNs                  int64 // every live broker serves every partition
}

// Populate brings a cluster to a number of partitions through CreateTopics and
// waits until every live broker serves them all. Batches stay below 10,000
// metadata records and below jute.maxbuffer on both targets. Acknowledged
// topics go to rec's history; progress, which may be nil, hears of the
// partitions acknowledged so far.
func Populate(ctx context.Context, c Cluster, cfg PopulateConfig, rec Recorder, progress func(done, total int)) error {
	a := newAdmin(c)
	defer a.close()
	_, err := populate(ctx, c, a, cfg, rec, progress)
	return err
}

func populate(ctx context.Context, c Cluster, a *admin, cfg PopulateConfig, rec Recorder, progress func(done, total int)) (creation, error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	batches, err := planBatches(cfg, len(c.Brokers()), c.Mode())
	if err != nil {
		return creation{}, err
	}
	out := creation{startNs: trace.Now()}
	done := 0
	for _, batch := range batches {
		retries, err := a.create(ctx, batch, rec)
		out.retries += retries
		if err != nil {
			return out, fmt.Errorf("after %d of %d partitions: %w", done, cfg.Partitions, err)
		}
		out.requests++
		out.topics += len(batch)
		for _, t := range batch {
			done += int(t.partitions)
		}
		progress(done, cfg.Partitions)
	}
	out.servedNs, err = awaitAllServed(ctx, liveBrokers(c), slices.Concat(batches...))
	return out, err
}

// planBatches names the topics and cuts them into requests.
func planBatches(cfg PopulateConfig, brokers int, mode nodeconfig.Mode) ([][]newTopic, error) {
	switch {
	case cfg.Partitions < 1:
		return nil, fmt.Errorf("%d partitions: create at least 1", cfg.Partitions)
	case cfg.PartitionsPerTopic < 1 || cfg.PartitionsPerTopic > maxTopicRecords:
		return nil, fmt.Errorf("%d partitions a topic: 1 to %d fit into one request", cfg.PartitionsPerTopic, maxTopicRecords)
	case cfg.Replication < 1 || cfg.Replication > brokers:
		return nil, fmt.Errorf("replication %d: the cluster has %d brokers", cfg.Replication, brokers)
	}
	topics := (cfg.Partitions + cfg.PartitionsPerTopic - 1) / cfg.PartitionsPerTopic
	// ZooKeeper lists all topics in one packet: a length and a name each.
	if list := topics * (4 + len(numbered(cfg.Prefix, topics))); mode == nodeconfig.ModeZK && list > juteMaxBuffer {
		return nil, fmt.Errorf("%d topics: their list exceeds ZooKeeper's jute.maxbuffer; put more than %d partitions into a topic", topics, cfg.PartitionsPerTopic)
	}
	var all []newTopic
	left := cfg.Partitions
	for i := range topics {
		n := min(left, cfg.PartitionsPerTopic)
		left -= n
		all = append(all, newTopic{name: numbered(cfg.Prefix, i), partitions: int32(n), replication: int16(cfg.Replication)})
	}
	return batchesOf(all), nil
}

func numbered(prefix string, i int) string { return fmt.Sprintf("%s-%06d", prefix, i) }

// create creates topics, again where the cluster was not ready or the answer
// was lost, and adds what was acknowledged to the history. A topic that exists
// on a further try is one whose acknowledgement was lost. In KRaft mode it may
// exist on the first: the broker that forwards a request sends it once more
// where its connection to the controller broke.
func (a *admin) create(ctx context.Context, topics []newTopic, rec Recorder) (retries int, err error) {
	return a.insist(ctx, fmt.Sprintf("create %d topics", len(topics)), func(ctx context.Context, addr string, again bool) error {
		req, err := a.createRequest(topics, createTimeout)
		if err != nil {
			return err
		}
		topics, err = a.createOnce(ctx, addr, topics, req, again, rec)
		return err
	})
}

// createPlaced creates one topic with the replicas that are given.
func (a *admin) createPlaced(ctx context.Context, t newTopic, replicas [][]kafka.BrokerID, rec Recorder) (retries int, err error) {
	return a.insist(ctx, "create topic "+t.name, func(ctx context.Context, addr string, again bool) error {
		req := createRequestOf(createTimeout)
		req.Topics = append(req.Topics, placedTopic(t, replicas))
		_, err := a.createOnce(ctx, addr, []newTopic{t}, req, again, rec)
		return err
	})
}

// createOnce gives the topics that need another try, and why.
func (a *admin) createOnce(ctx context.Context, addr string, topics []newTopic, req *kmsg.CreateTopicsRequest, again bool, rec Recorder) (left []newTopic, err error) {
	sentNs := trace.Now()
	results, ackedNs, err := a.createAt(ctx, addr, topics, req)
	if err != nil {
		for _, t := range topics {
			rec.Unanswered(t.operation(kafka.UUID{}, sentNs, ackedNs))
		}
		return topics, err
	}
	for _, t := range topics {
		r := results[t.name]
		op := t.operation(r.id, sentNs, ackedNs)
		switch {
		case r.code == kafka.None || r.code == kafka.TopicAlreadyExists && (again || a.cluster.Mode() == nodeconfig.ModeKRaft):
			rec.Acked(op)
		case retriable(r.code):
			if a.unsure(r.code) {
				rec.Unanswered(op)
			}
			left = append(left, t)
			err = fmt.Errorf("create topic %s: %w (%s)", t.name, r.code, r.message)
		default:
			rec.Refused(op, r.code)
			return left, fmt.Errorf("create topic %s: %w: %w (%s)", t.name, errRefused, r.code, r.message)
		}
	}
	return left, err
}

func (t newTopic) operation(id kafka.UUID, sentNs, ackedNs int64) Operation {
	return Operation{Kind: OpCreateTopic, Topic: t.name, TopicID: id, Partitions: t.partitions, SentNs: sentNs, AckedNs: ackedNs}
}
