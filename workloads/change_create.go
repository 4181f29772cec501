package workloads

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/ask"
)

// creations creates topics of one partition. A broker serves one when it names
// a leader.
type creations struct {
	*trialRun

	mu   sync.Mutex
	made []newTopic
}

func (c *creations) prepare(context.Context, int) error { return nil }

func (c *creations) next(n int64) (string, bool) {
	if n < 0 {
		return numbered(c.topicPrefix()+"-warm", 0), true
	}
	return numbered(c.topicPrefix(), int(n)), true
}

func (c *creations) send(ctx context.Context, topic string) error {
	t := newTopic{topic, 1, c.replication()}
	_, err := c.admin.create(ctx, []newTopic{t}, c.Recorder)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.made = append(c.made, t)
	}
	return err
}

func (c *creations) question(_ Node, topics []string, told func(string, bool, int64)) question {
	return question{apiMetadata, ask.Topics(topics), func(resp kmsg.Response, doneNs int64) {
		served := map[string]bool{}
		eachPartition(resp.(*kmsg.MetadataResponse), func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
			served[tp.Topic] = p.Leader >= 0
		})
		for _, t := range topics {
			told(t, served[t], doneNs)
		}
	}}
}

func (c *creations) over(string) {}

func (c *creations) clean(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removeTopics(ctx, c.made)
}
