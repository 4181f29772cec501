package workloads

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

const (
	// maxConfigTopics bounds the topics whose configuration changes in turn.
	maxConfigTopics = 64
	minISR          = "min.insync.replicas"
	maxBytes        = "max.message.bytes"
)

// configChanges changes min.insync.replicas of topics between 1 and 2, and with
// it max.message.bytes between all and nothing. Each topic has a partition with a
// single replica on every broker, so that a broker that applied the value 2
// refuses produces with acks=all to its partition, and one that applied the value
// 1 takes them: brokers of kbench by the first of the two, those of Kafka, which
// ask for no more replicas than there are (KIP-966), by the second. What
// DescribeConfigs answers tells less: in ZooKeeper mode a broker reads it from
// ZooKeeper at each question.
type configChanges struct {
	*trialRun
	topics []newTopic
	nodes  []Node // of each topic, node i leads partition i
	batch  []byte

	mu    sync.Mutex
	free  []configState
	inUse map[string]configState // by subject
	turn  int                    // of the brokers that are asked to change
}

// configState is a topic and the value that it has, or that it will have.
type configState struct {
	topic string
	value int
}

func (c *configChanges) prepare(ctx context.Context, n int) error {
	c.nodes, c.batch, c.inUse = liveBrokers(c.Cluster), smallBatch(trace.Now()/1e6), map[string]configState{}
	assign := make([][]kafka.BrokerID, len(c.nodes))
	for i, node := range c.nodes {
		assign[i] = []kafka.BrokerID{node.ID}
	}
	for i := range min(n+1, maxConfigTopics) {
		t := newTopic{numbered(c.topicPrefix()+"-config", i), int32(len(assign)), 1}
		if _, err := c.admin.createPlaced(ctx, t, assign, c.Recorder); err != nil {
			return fmt.Errorf("prepare configuration changes: %w", err)
		}
		c.topics = append(c.topics, t)
		c.free = append(c.free, configState{t.name, 1})
	}
	_, err := awaitAllServed(ctx, c.nodes, c.topics)
	return err
}

func (c *configChanges) next(n int64) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) == 0 {
		return "", false
	}
	s := c.free[0]
	c.free = c.free[1:]
	s.value = 3 - s.value
	subject := fmt.Sprintf("%s#%d", s.topic, n)
	c.inUse[subject] = s
	return subject, true
}

func (c *configChanges) state(subject string) configState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inUse[subject]
}

// send asks each live broker in turn: any of them takes the request, in
// ZooKeeper mode to write it itself.
func (c *configChanges) send(ctx context.Context, subject string) error {
	s := c.state(subject)
	_, err := c.admin.insistAt(ctx, "change "+minISR+" of "+s.topic, c.broker, func(ctx context.Context, addr string, _ bool) error {
		op := Operation{Kind: OpAlterConfig, Topic: s.topic, Config: minISR, Value: strconv.Itoa(s.value), SentNs: trace.Now()}
		resp, err := c.admin.send(ctx, addr, apiIncrementalAlterConfigs, configRequest(s))
		op.AckedNs = trace.Now()
		if err != nil {
			c.Recorder.Unanswered(op)
			return err
		}
		return c.keep(op, resp.(*kmsg.IncrementalAlterConfigsResponse).Resources)
	})
	return err
}

// keep adds the change to the history as it was answered.
func (c *configChanges) keep(op Operation, resources []kmsg.IncrementalAlterConfigsResponseResource) error {
	for _, r := range resources {
		if err := judged(r.ErrorCode, r.ErrorMessage); err != nil {
			if code := kafka.ErrorCode(r.ErrorCode); c.admin.unsure(code) {
				c.Recorder.Unanswered(op)
			} else {
				c.Recorder.Refused(op, code)
			}
			return err
		}
	}
	c.Recorder.Acked(op)
	return nil
}

func (c *configChanges) broker(context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	live := liveBrokers(c.Cluster)
	if len(live) == 0 {
		return "", errNoBroker
	}
	c.turn++
	return live[c.turn%len(live)].Addr, nil
}

func configRequest(s configState) *kmsg.IncrementalAlterConfigsRequest {
	size := "1048588" // Kafka's default
	if s.value == 2 {
		size = "1"
	}
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, s.topic
	for _, set := range [][2]string{{minISR, strconv.Itoa(s.value)}, {maxBytes, size}} {
		conf := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		conf.Name, conf.Op, conf.Value = set[0], kmsg.IncrementalAlterConfigOpSet, &set[1]
		res.Configs = append(res.Configs, conf)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, res)
	return req
}

// question produces to the partitions that the node leads.
func (c *configChanges) question(n Node, subjects []string, told func(string, bool, int64)) question {
	partition := int32(-1)
	for i := range c.nodes {
		if c.nodes[i].ID == n.ID {
			partition = int32(i)
		}
	}
	want := map[string]int{}
	var tps []kafka.TopicPartition
	for _, s := range subjects {
		st := c.state(s)
		want[s] = st.value
		tps = append(tps, kafka.TopicPartition{Topic: st.topic, Partition: partition})
	}
	req := produceRequest(tps, c.batch)
	req.Acks = -1
	return question{apiProduce, req, func(resp kmsg.Response, doneNs int64) {
		codes := map[string]kafka.ErrorCode{}
		for _, t := range resp.(*kmsg.ProduceResponse).Topics {
			for _, p := range t.Partitions {
				codes[t.Topic] = kafka.ErrorCode(p.ErrorCode)
			}
		}
		for _, s := range subjects {
			topic, _, _ := strings.Cut(s, "#")
			code, answered := codes[topic]
			refuses := code == kafka.NotEnoughReplicas || code == kafka.MessageTooLarge
			if answered && (refuses || code == kafka.None) { // anything else tells nothing
				told(s, refuses == (want[s] == 2), doneNs)
			}
		}
	}}
}

// over gives the topic back to be changed again.
func (c *configChanges) over(subject string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, c.inUse[subject])
	delete(c.inUse, subject)
}

func (c *configChanges) clean(ctx context.Context) error { return c.removeTopics(ctx, c.topics) }
