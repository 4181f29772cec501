package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/ask"
)

// awaitTopics waits until every broker serves every partition of topics as has
// wants it, and gives the stamp at which the last of them was seen to. what
// says it in words. It asks for the topics, not for everything: what else the
// cluster holds must not count.
func awaitTopics(ctx context.Context, brokers []Node, topics []newTopic, what string, has func(kafka.TopicPartition, *kmsg.MetadataResponseTopicPartition) bool) (servedNs int64, err error) {
	return awaitBrokers(ctx, brokers, topics, what, func(batch []newTopic, m *kmsg.MetadataResponse) (left int) {
		left = wantedPartitions(batch)
		eachPartition(m, func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
			if has(tp, p) {
				left--
			}
		})
		return max(left, 0)
	})
}

// awaitAllServed waits until every broker serves every partition of topics with
// a leader.
func awaitAllServed(ctx context.Context, brokers []Node, topics []newTopic) (servedNs int64, err error) {
	return awaitTopics(ctx, brokers, topics, "serves a leader", func(_ kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) bool {
		return p.Leader >= 0
	})
}

// awaitGone waits until no broker serves any of the topics.
func awaitGone(ctx context.Context, brokers []Node, topics []newTopic) (goneNs int64, err error) {
	return awaitBrokers(ctx, brokers, topics, "serves none any more", func(_ []newTopic, m *kmsg.MetadataResponse) (left int) {
		for i := range m.Topics {
			if kafka.ErrorCode(m.Topics[i].ErrorCode) != kafka.UnknownTopicOrPartition {
				left += max(1, len(m.Topics[i].Partitions))
			}
		}
		return left
	})
}

// awaitBrokers asks every broker for topics until nothing is left to wait for.
func awaitBrokers(ctx context.Context, brokers []Node, topics []newTopic, what string, left func([]newTopic, *kmsg.MetadataResponse) int) (ns int64, err error) {
	errs := make([]error, len(brokers))
	seen := make([]int64, len(brokers))
	batches := batchesOf(topics)
	var wg sync.WaitGroup
	for i, b := range brokers {
		wg.Go(func() {
			p := newPeer(b)
			defer p.close()
			// The last batch comes last at a broker, so the others are there by
			// then and cost one look each.
			for _, batch := range slices.Backward(batches) {
				if err := awaitBatch(ctx, p, batch, left); err != nil {
					errs[i] = fmt.Errorf("wait until broker %d %s: %w", b.ID, what, err)
					return
				}
			}
			seen[i] = trace.Now()
		})
	}
	wg.Wait()
	for _, at := range seen {
		ns = max(ns, at)
	}
	return ns, errors.Join(errs...)
}

// awaitBatch asks one broker for the topics of a batch, with pauses that grow
// with what an answer costs.
func awaitBatch(ctx context.Context, p *peer, batch []newTopic, left func([]newTopic, *kmsg.MetadataResponse) int) error {
	names := make([]string, len(batch))
	for i, t := range batch {
		names[i] = t.name
	}
	for {
		start, missing := trace.Now(), wantedPartitions(batch)
		one, cancel := context.WithTimeout(ctx, sweepTimeout)
		resp, err := p.request(one, apiMetadata, ask.Topics(names))
		cancel()
		if err == nil {
			if missing = left(batch, resp.(*kmsg.MetadataResponse)); missing == 0 {
				return nil
			}
		}
		if pause(ctx, max(5*time.Millisecond, time.Duration(trace.Now()-start))) != nil {
			return fmt.Errorf("%d of %d partitions are left: %w", missing, wantedPartitions(batch), errors.Join(context.Cause(ctx), err))
		}
	}
}

// batchesOf cuts topics into batches that one request may hold.
func batchesOf(topics []newTopic) [][]newTopic {
	var out [][]newTopic
	var batch []newTopic
	records := 0
	for _, t := range topics {
		n := int(t.partitions) + 1
		if len(batch) > 0 && records+n > maxBatchRecords {
			out, batch, records = append(out, batch), nil, 0
		}
		batch = append(batch, t)
		records += n
	}
	if len(batch) > 0 {
		out = append(out, batch)
	}
	return out
}

func wantedPartitions(topics []newTopic) (n int) {
	for _, t := range topics {
		n += int(t.partitions)
	}
	return n
}
