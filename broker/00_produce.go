package broker

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/batch"
	"kbench/broker/replica"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// maxProduceWait bounds how long a produce waits for its ISR whatever timeout
// it asks for.
const maxProduceWait = 5 * time.Minute

// handleProduce counts records, gives them offsets and drops them. With
// acks=-1 the answer waits until the ISR has the offsets.
func (b *Broker) handleProduce(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.ProduceRequest)
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	var wait *replica.Acks
	if req.Acks == -1 {
		wait = replica.NewAcks()
	}
	var waiting [][2]int // topic and partition of the accepted batches
	img := b.Image()
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		minISR := 1
		if wait != nil {
			minISR = b.minISR(ctx, img, t.Topic, t.TopicID)
		}
		for j := range t.Partitions {
			part := b.produce(img, req.Acks, t, &t.Partitions[j], minISR, wait)
			if part.ErrorCode == 0 {
				waiting = append(waiting, [2]int{i, j})
			}
			rt.Partitions = append(rt.Partitions, part)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if wait != nil {
		b.awaitAcks(ctx, wait, time.Duration(req.TimeoutMillis)*time.Millisecond)
		for n, code := range b.replicas.Finish(wait) {
			part := &resp.Topics[waiting[n][0]].Partitions[waiting[n][1]]
			part.ErrorCode = int16(code)
		}
	}
	if req.Acks == 0 {
		return nil, b.acksZeroFailure(resp)
	}
	if req.Version >= 10 { // kmsg would write the tags at any version
		b.addLeaders(img, r.Listener, resp)
	} else {
		forgetLeaders(resp)
	}
	return resp, nil
}

// produce appends one batch and gives its part of the response.
func (b *Broker) produce(img *metadata.Image, acks int16, t *kmsg.ProduceRequestTopic, p *kmsg.ProduceRequestTopicPartition, minISR int, wait *replica.Acks) kmsg.ProduceResponseTopicPartition {
	part := kmsg.NewProduceResponseTopicPartition()
	part.Partition, part.BaseOffset, part.LogAppendTime, part.LogStartOffset = p.Partition, -1, -1, -1
	if acks < -1 || acks > 1 {
		part.ErrorCode = int16(kafka.InvalidRequiredAcks)
		return part
	}
	h, err := batch.ReadProduced(p.Records)
	if err != nil {
		code := kafka.CorruptMessage
		errors.As(err, &code)
		text := err.Error()
		part.ErrorCode, part.ErrorMessage = int16(code), &text
		return part
	}
	a := b.replicas.Append(b.now(), replica.Append{
		Topic: t.Topic, TopicID: t.TopicID, Partition: p.Partition, Batch: h, MinISR: minISR, Wait: wait,
	})
	part.ErrorCode, part.BaseOffset = int16(a.Code), int64(a.Base)
	switch a.Code {
	case kafka.None:
		part.LogStartOffset = 0
	case kafka.NotLeaderOrFollower:
		part.CurrentLeader.LeaderID, part.CurrentLeader.LeaderEpoch = int32(a.Leader), int32(a.LeaderEpoch)
	case kafka.UnknownTopicOrPartition, kafka.UnknownTopicID:
		// Not a replica here, but it may be elsewhere: then the client came to
		// the wrong broker.
		if known := findPartition(img, t.Topic, t.TopicID, p.Partition); known != nil {
			part.ErrorCode = int16(kafka.NotLeaderOrFollower)
			part.CurrentLeader.LeaderID, part.CurrentLeader.LeaderEpoch = int32(known.Leader), int32(known.LeaderEpoch)
		}
	}
	return part
}

func findPartition(img *metadata.Image, name string, id kafka.UUID, p int32) *metadata.Partition {
	t, ok := img.Topic(name)
	if !id.IsZero() {
		t, ok = img.TopicByID(id)
	}
	if !ok {
		return nil
	}
	known, _ := t.Partition(p)
	return known
}

// minISR is min.insync.replicas of a topic.
func (b *Broker) minISR(ctx context.Context, img *metadata.Image, name string, id kafka.UUID) int {
	t, ok := img.Topic(name)
	if !id.IsZero() {
		t, ok = img.TopicByID(id)
	}
	if !ok {
		return b.cfg.MinISR
	}
	if n, err := strconv.Atoi(b.plane.topicConfig(ctx, t.Name())["min.insync.replicas"]); err == nil && n > 0 {
		return n
	}
	return b.cfg.MinISR
}

func (b *Broker) awaitAcks(ctx context.Context, wait *replica.Acks, timeout time.Duration) {
	done := b.replicas.Seal(wait)
	select {
	case <-done: // most produces find a caught-up ISR of one
		return
	default:
	}
	wire.Park(ctx)
	t := time.NewTimer(min(max(timeout, 0), maxProduceWait))
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-ctx.Done():
	}
}

// acksZeroFailure closes the connection of a client that wants no answer where
// it must learn of a failure, as Kafka does.
func (b *Broker) acksZeroFailure(resp *kmsg.ProduceResponse) error {
	for i := range resp.Topics {
		for _, p := range resp.Topics[i].Partitions {
			if err := kafka.ErrorCode(p.ErrorCode).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// addLeaders names the leaders that the response points to (KIP-951).
func (b *Broker) addLeaders(img *metadata.Image, listener string, resp *kmsg.ProduceResponse) {
	var seen []int32
	for i := range resp.Topics {
		for _, p := range resp.Topics[i].Partitions {
			node, ok := newLeader(img, listener, p.CurrentLeader.LeaderID, &seen)
			if !ok {
				continue
			}
			n := kmsg.NewProduceResponseBroker()
			n.NodeID, n.Host, n.Port, n.Rack = node.id, node.host, node.port, node.rack
			resp.Brokers = append(resp.Brokers, n)
		}
	}
}

// forgetLeaders takes out what versions before 10 do not have.
func forgetLeaders(resp *kmsg.ProduceResponse) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			resp.Topics[i].Partitions[j].CurrentLeader = kmsg.NewProduceResponseTopicPartitionCurrentLeader()
		}
	}
}

// node is a broker as clients see it.
type node struct {
	id   int32
	host string
	port int32
	rack *string
}

// nodeOf gives a broker as it is reached by a listener.
func nodeOf(reg *metadata.Broker, listener string) (node, bool) {
	e, ok := reg.Endpoint(listener)
	if !ok {
		if listener != "" || len(reg.Endpoints) == 0 {
			return node{}, false
		}
		e = reg.Endpoints[0]
	}
	n := node{id: int32(reg.ID), host: e.Host, port: int32(e.Port)}
	if reg.Rack != "" {
		n.rack = &reg.Rack
	}
	return n, true
}

// newLeader gives the node of a leader that is not in seen yet, and adds it.
func newLeader(img *metadata.Image, listener string, leader int32, seen *[]int32) (node, bool) {
	if leader < 0 {
		return node{}, false
	}
	for _, s := range *seen {
		if s == leader {
			return node{}, false
		}
	}
	*seen = append(*seen, leader)
	reg, ok := img.Broker(kafka.BrokerID(leader))
	if !ok {
		return node{}, false
	}
	return nodeOf(reg, listener)
}
