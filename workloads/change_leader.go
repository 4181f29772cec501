package workloads

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/ask"
)

const (
	// maxPrepared bounds the partitions that leader changes prepare: one for
	// each change.
	maxPrepared = 20_000
	// perPreparedTopic is how many of them a topic has: a probe asks for whole
	// topics.
	perPreparedTopic = 20
)

// leaderChanges elects the first replica of partitions that another replica
// leads. A broker serves one when it names the elected leader.
type leaderChanges struct {
	*trialRun
	topics []newTopic

	mu    sync.Mutex
	free  []kafka.TopicPartition
	named map[string]kafka.TopicPartition
	elect map[kafka.TopicPartition]kafka.BrokerID // the leader to come
}

func (c *leaderChanges) prepare(ctx context.Context, n int) error {
	if n++; n > maxPrepared { // one warms up
		return fmt.Errorf("%d leader changes: at most %d can be prepared; lower the rate or the duration", n-1, maxPrepared-1)
	}
	var err error
	c.topics, c.elect, err = c.misplace(ctx, c.topicPrefix()+"-leader", n, perPreparedTopic)
	if err != nil {
		return fmt.Errorf("prepare leader changes: %w", err)
	}
	c.free, c.named = sortedPartitions(c.elect), map[string]kafka.TopicPartition{}
	return nil
}

func (c *leaderChanges) next(int64) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) == 0 {
		return "", false
	}
	tp := c.free[0]
	c.free = c.free[1:]
	c.named[tp.String()] = tp
	return tp.String(), true
}

func (c *leaderChanges) partition(subject string) (kafka.TopicPartition, kafka.BrokerID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tp := c.named[subject]
	return tp, c.elect[tp]
}

func (c *leaderChanges) send(ctx context.Context, subject string) error {
	tp, _ := c.partition(subject)
	_, err := c.admin.elect(ctx, []kafka.TopicPartition{tp}, electOneWithin)
	return err
}

func (c *leaderChanges) question(_ Node, subjects []string, told func(string, bool, int64)) question {
	tps := make([]kafka.TopicPartition, len(subjects))
	for i, s := range subjects {
		tps[i], _ = c.partition(s)
	}
	return question{apiMetadata, ask.Topics(topicsOf(tps)), func(resp kmsg.Response, doneNs int64) {
		leaders := map[kafka.TopicPartition]kafka.BrokerID{}
		eachPartition(resp.(*kmsg.MetadataResponse), func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
			leaders[tp] = kafka.BrokerID(p.Leader)
		})
		for i, s := range subjects {
			_, want := c.partition(s)
			if leader, ok := leaders[tps[i]]; ok {
				told(s, leader == want, doneNs)
			}
		}
	}}
}

// over does nothing: an election leaves nothing to elect.
func (c *leaderChanges) over(string) {}

func (c *leaderChanges) clean(ctx context.Context) error { return c.removeTopics(ctx, c.topics) }
