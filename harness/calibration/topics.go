package calibration

import (
	"context"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

// topic is a topic of the target.
type topic struct {
	id         kafka.UUID
	partitions []partition
}

type partition struct {
	replicas []int32
	leaders  []since[leadership]
}

type leadership struct {
	leader kafka.BrokerID
	epoch  kafka.LeaderEpoch
}

// addLocked makes a topic that is true from a time on.
func (t *Target) addLocked(name string, partitions int, fromNs int64) kafka.UUID {
	n := len(t.topics) + 1
	made := &topic{id: kafka.UUID{byte(n), byte(n >> 8), byte(n >> 16), 9}}
	for p := range partitions {
		var replicas []int32
		for i := range brokers {
			replicas = append(replicas, int32((p+i)%brokers+1))
		}
		made.partitions = append(made.partitions, partition{replicas, []since[leadership]{{fromNs, leadership{kafka.BrokerID(replicas[0]), 0}}}})
	}
	t.topics[name] = made
	return made.id
}

func (p *partition) lead(id kafka.BrokerID, ns int64) {
	last := p.leaders[len(p.leaders)-1].v
	p.leaders = append(p.leaders, since[leadership]{ns, leadership{id, last.epoch + 1}})
}

// moveLocked gives every leadership of a broker to another replica at ns.
func (t *Target) moveLocked(from kafka.BrokerID, ns int64) {
	for _, topic := range t.topics {
		for i := range topic.partitions {
			p := &topic.partitions[i]
			if p.leaders[len(p.leaders)-1].v.leader == from {
				to := slices.IndexFunc(p.replicas, func(id int32) bool { return kafka.BrokerID(id) != from })
				p.lead(kafka.BrokerID(p.replicas[to]), ns)
			}
		}
	}
}

// metadata answers what was true as long ago as the broker is behind.
func (t *Target) metadata(n *node, req *kmsg.MetadataRequest) kmsg.Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	then := trace.Now() - int64(t.cfg.Delays.Apply+t.cfg.Delays.Broker[n.id])
	resp := kmsg.NewPtrMetadataResponse()
	controller, _ := at(t.controller, trace.Now())
	resp.ControllerID = int32(controller)
	for _, other := range t.nodes {
		b := kmsg.NewMetadataResponseBroker()
		host, port, _ := net.SplitHostPort(other.addr)
		p, _ := strconv.Atoi(port)
		b.NodeID, b.Host, b.Port = int32(other.id), host, int32(p)
		resp.Brokers = append(resp.Brokers, b)
	}
	var names []string
	if req.Topics == nil {
		names = slices.Sorted(maps.Keys(t.topics))
	}
	for _, asked := range req.Topics {
		names = append(names, *asked.Topic)
	}
	for _, name := range names {
		resp.Topics = append(resp.Topics, t.describe(name, then))
	}
	return resp
}

func (t *Target) describe(name string, then int64) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic = &name
	known := t.topics[name]
	if known == nil {
		out.ErrorCode = int16(kafka.UnknownTopicOrPartition)
		return out
	}
	out.TopicID = known.id
	for i, p := range known.partitions {
		l, ok := at(p.leaders, then)
		if !ok {
			out.ErrorCode, out.Partitions = int16(kafka.UnknownTopicOrPartition), nil
			return out
		}
		part := kmsg.NewMetadataResponseTopicPartition()
		part.Partition, part.Leader, part.LeaderEpoch = int32(i), int32(l.leader), int32(l.epoch)
		part.Replicas, part.ISR = p.replicas, p.replicas
		out.Partitions = append(out.Partitions, part)
	}
	return out
}

// createTopics makes topics true at once and acknowledges them later. Without a
// controller it waits for one.
func (t *Target) createTopics(ctx context.Context, n *node, req *kmsg.CreateTopicsRequest) (kmsg.Response, error) {
	t.mu.Lock()
	active, _ := at(t.controller, trace.Now())
	from, live := t.servesFrom, false
	if c, err := t.find(active); err == nil {
		live = c.live
	}
	t.mu.Unlock()
	refused := t.zk() && (active != n.id || !live)
	if !refused {
		if err := waitUntil(ctx, from); err != nil {
			return nil, err
		}
	}
	resp := kmsg.NewPtrCreateTopicsResponse()
	t.mu.Lock()
	now := trace.Now()
	for _, asked := range req.Topics {
		out := kmsg.NewCreateTopicsResponseTopic()
		out.Topic = asked.Topic
		switch {
		case refused:
			out.ErrorCode = int16(kafka.NotController)
		case t.topics[asked.Topic] != nil:
			out.ErrorCode = int16(kafka.TopicAlreadyExists)
		default:
			out.TopicID = t.addLocked(asked.Topic, max(len(asked.ReplicaAssignment), int(asked.NumPartitions)), now)
		}
		resp.Topics = append(resp.Topics, out)
	}
	t.mu.Unlock()
	if !refused {
		if err := waitUntil(ctx, now+int64(t.cfg.Delays.Ack)); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

func (t *Target) electLeaders(req *kmsg.ElectLeadersRequest) kmsg.Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := trace.Now()
	for _, asked := range req.Topics {
		known := t.topics[asked.Topic]
		for _, p := range asked.Partitions {
			if known != nil && int(p) < len(known.partitions) {
				known.partitions[p].lead(kafka.BrokerID(known.partitions[p].replicas[0]), now)
			}
		}
	}
	return kmsg.NewPtrElectLeadersResponse()
}

// produce is acknowledged by whoever leads now.
func (t *Target) produce(n *node, req *kmsg.ProduceRequest) kmsg.Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := trace.Now()
	resp := kmsg.NewPtrProduceResponse()
	for _, asked := range req.Topics {
		out := kmsg.NewProduceResponseTopic()
		out.Topic = asked.Topic
		for _, p := range asked.Partitions {
			part := kmsg.NewProduceResponseTopicPartition()
			part.Partition = p.Partition
			known := t.topics[asked.Topic]
			if known == nil || int(p.Partition) >= len(known.partitions) {
				part.ErrorCode = int16(kafka.UnknownTopicOrPartition)
			} else if l, _ := at(known.partitions[p.Partition].leaders, now); l.leader != n.id {
				part.ErrorCode = int16(kafka.NotLeaderOrFollower)
			}
			out.Partitions = append(out.Partitions, part)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}
