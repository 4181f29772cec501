package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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
	// createAttempts bounds the tries of one batch.
	createAttempts = 10
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
	out.servedNs, err = awaitAllServed(ctx, liveBrokers(c), cfg.Prefix, batches)
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
	var batches [][]newTopic
	var batch []newTopic
	records, left := 0, cfg.Partitions
	for i := range topics {
		n := min(left, cfg.PartitionsPerTopic)
		left -= n
		if len(batch) > 0 && records+n+1 > maxBatchRecords {
			batches, batch, records = append(batches, batch), nil, 0
		}
		batch = append(batch, newTopic{name: numbered(cfg.Prefix, i), partitions: int32(n), replication: int16(cfg.Replication)})
		records += n + 1
	}
	return append(batches, batch), nil
}

func numbered(prefix string, i int) string { return fmt.Sprintf("%s-%06d", prefix, i) }

// create creates topics, again where the cluster was not ready or the answer
// was lost, and adds what was acknowledged to the history. A topic that exists
// on a further try is one whose acknowledgement was lost. In KRaft mode it may
// exist on the first: the broker that forwards a request sends it once more
// where its connection to the controller broke.
func (a *admin) create(ctx context.Context, topics []newTopic, rec Recorder) (retries int, err error) {
	for try := range createAttempts {
		if try > 0 {
			retries++
			if err := pause(ctx, min(time.Duration(try)*100*time.Millisecond, 2*time.Second)); err != nil {
				return retries, err
			}
		}
		var left []newTopic
		if left, err = a.createOnce(ctx, topics, try > 0, rec); len(left) == 0 && err == nil {
			return retries, nil
		}
		if ctx.Err() != nil || errors.Is(err, errRefused) {
			return retries, err
		}
		a.forget()
		topics = left
	}
	return retries, fmt.Errorf("create %d topics, %d tries: %w", len(topics), createAttempts, err)
}

// errRefused is an answer that another try will not change.
var errRefused = errors.New("refused")

// createOnce gives the topics that need another try, and why.
func (a *admin) createOnce(ctx context.Context, topics []newTopic, again bool, rec Recorder) (left []newTopic, err error) {
	one, cancel := context.WithTimeout(ctx, createTimeout+5*time.Second)
	defer cancel()
	addr, err := a.target(one)
	if err != nil {
		return topics, err
	}
	sentNs := trace.Now()
	results, ackedNs, err := a.createAt(one, addr, topics, createTimeout)
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
			if r.code != kafka.NotController { // the others may be answers to what goes on
				rec.Unanswered(op)
			}
			left = append(left, t)
			err = fmt.Errorf("create topic %s: %w (%s)", t.name, r.code, r.message)
		default:
			return left, fmt.Errorf("create topic %s: %w: %w (%s)", t.name, errRefused, r.code, r.message)
		}
	}
	return left, err
}

func (t newTopic) operation(id kafka.UUID, sentNs, ackedNs int64) Operation {
	return Operation{Kind: OpCreateTopic, Topic: t.name, TopicID: id, Partitions: t.partitions, SentNs: sentNs, AckedNs: ackedNs}
}

// retriable tells codes of a cluster that is not ready from refusals.
func retriable(c kafka.ErrorCode) bool {
	switch c {
	case kafka.NotController, kafka.RequestTimedOut, kafka.NetworkException, kafka.BrokerNotAvailable,
		kafka.LeaderNotAvailable, kafka.InvalidReplicaAssignment, kafka.UnknownServerError:
		// INVALID_REPLICA_ASSIGNMENT too: brokers may be registering still.
		return true
	}
	return false
}

// awaitAllServed waits until every broker serves every partition with a leader
// and gives the stamp at which the last of them was seen to. It asks for the
// topics that were created, not for everything: what else the cluster holds
// must not count.
func awaitAllServed(ctx context.Context, brokers []Node, prefix string, batches [][]newTopic) (servedNs int64, err error) {
	errs := make([]error, len(brokers))
	seen := make([]int64, len(brokers))
	var wg sync.WaitGroup
	for i, b := range brokers {
		wg.Go(func() {
			p := newPeer(b.Addr)
			defer p.close()
			// The last batch comes last at a broker, so the others are there by
			// then and cost one look each.
			for _, batch := range slices.Backward(batches) {
				if errs[i] = awaitServed(ctx, b.ID, p, prefix, batch); errs[i] != nil {
					return
				}
			}
			seen[i] = trace.Now()
		})
	}
	wg.Wait()
	for _, ns := range seen {
		servedNs = max(servedNs, ns)
	}
	return servedNs, errors.Join(errs...)
}

// awaitServed waits until one broker serves every partition of a batch.
func awaitServed(ctx context.Context, id kafka.BrokerID, p *peer, prefix string, batch []newTopic) error {
	names := make([]string, 0, len(batch))
	want := 0
	for _, t := range batch {
		names = append(names, t.name)
		want += int(t.partitions)
	}
	for {
		start := trace.Now()
		served, err := countServed(ctx, p, topicsRequest(names), prefix)
		if err == nil && served >= want {
			return nil
		}
		if perr := pause(ctx, max(5*time.Millisecond, time.Duration(trace.Now()-start))); perr != nil {
			return fmt.Errorf("wait until broker %d serves %d partitions, %d seen: %w", id, want, served, errors.Join(context.Cause(ctx), err))
		}
	}
}

// countServed counts the partitions with a leader of topics with a prefix.
func countServed(ctx context.Context, p *peer, req *kmsg.MetadataRequest, prefix string) (served int, err error) {
	one, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	resp, err := p.request(one, apiMetadata, req)
	if err != nil {
		return 0, err
	}
	eachPartition(resp.(*kmsg.MetadataResponse), func(tp kafka.TopicPartition, part *kmsg.MetadataResponseTopicPartition) {
		if part.Leader >= 0 && len(tp.Topic) == len(prefix)+7 && tp.Topic[:len(prefix)] == prefix {
			served++
		}
	})
	return served, nil
}
