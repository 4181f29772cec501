package broker

import (
	"context"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// noOperations is sent where authorized operations were not asked for.
const noOperations = math.MinInt32

// handleMetadata answers from the image of one moment.
func (b *Broker) handleMetadata(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.MetadataRequest)
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	img := b.Image()
	a := metadataAnswer{img: img, version: req.Version, live: make(map[kafka.BrokerID]*metadata.Broker, img.NumBrokers())}
	resp.AuthorizedOperations = noOperations
	resp.ControllerID = int32(b.plane.controllerID(img))
	if id := b.plane.clusterID(); id != "" {
		resp.ClusterID = &id
	}
	for reg := range img.Brokers() {
		if reg.Fenced {
			continue
		}
		if n, ok := nodeOf(reg, r.Listener); ok {
			rb := kmsg.NewMetadataResponseBroker()
			rb.NodeID, rb.Host, rb.Port, rb.Rack = n.id, n.host, n.port, n.rack
			resp.Brokers = append(resp.Brokers, rb)
			a.live[reg.ID] = reg
		}
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		resp.Topics = make([]kmsg.MetadataResponseTopic, 0, img.NumTopics())
		for t := range img.Topics() {
			resp.Topics = append(resp.Topics, a.topic(t))
		}
		return resp, nil
	}
	resp.Topics = make([]kmsg.MetadataResponseTopic, 0, len(req.Topics))
	for i := range req.Topics {
		resp.Topics = append(resp.Topics, a.asked(&req.Topics[i]))
	}
	return resp, nil
}

// metadataAnswer builds topics of one response.
type metadataAnswer struct {
	img     *metadata.Image
	version int16
	live    map[kafka.BrokerID]*metadata.Broker // brokers that clients of the listener can reach
	ids     []int32                             // the rest of a block that replica lists are cut from
}

// asked answers one topic that was asked for by name or id.
func (a *metadataAnswer) asked(want *kmsg.MetadataRequestTopic) kmsg.MetadataResponseTopic {
	no := kmsg.NewMetadataResponseTopic()
	no.AuthorizedOperations = noOperations
	id := kafka.UUID(want.TopicID)
	if want.Topic == nil || !id.IsZero() {
		if t, ok := a.img.TopicByID(id); ok {
			return a.topic(t)
		}
		no.TopicID, no.ErrorCode = want.TopicID, int16(kafka.UnknownTopicID)
		if a.version < 12 { // the name may not be null before
			no.Topic = new(string)
		}
		return no
	}
	name := *want.Topic
	if t, ok := a.img.Topic(name); ok {
		return a.topic(t)
	}
	no.Topic, no.ErrorCode = &name, int16(kafka.UnknownTopicOrPartition)
	if metadata.ValidateTopicName(name) != nil {
		no.ErrorCode = int16(kafka.InvalidTopicException)
	}
	return no
}

func (a *metadataAnswer) topic(t *metadata.Topic) kmsg.MetadataResponseTopic {
	name := t.Name()
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic, rt.TopicID, rt.AuthorizedOperations = &name, t.ID(), noOperations
	rt.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, t.Len())
	for p, state := range t.All() {
		rt.Partitions = append(rt.Partitions, a.partition(p, state))
	}
	return rt
}

func (a *metadataAnswer) partition(p int32, state *metadata.Partition) kmsg.MetadataResponseTopicPartition {
	rp := kmsg.NewMetadataResponseTopicPartition()
	rp.Partition, rp.Leader, rp.LeaderEpoch = p, int32(state.Leader), int32(state.LeaderEpoch)
	rp.Replicas, rp.ISR = a.list(state.Replicas), a.list(state.ISR)
	for i, id := range state.Replicas {
		reg := a.live[id]
		if reg == nil || i < len(state.Directories) && !reg.HasOnlineDirectory(state.Directories[i]) {
			rp.OfflineReplicas = append(rp.OfflineReplicas, int32(id))
		}
	}
	if state.Leader < 0 || !a.alive(state.Leader) {
		rp.ErrorCode, rp.Leader = int16(kafka.LeaderNotAvailable), int32(kafka.NoLeader)
	}
	return rp
}

func (a *metadataAnswer) alive(id kafka.BrokerID) bool {
	return a.live[id] != nil
}

// list copies broker ids into the wire's type, many lists from one block.
func (a *metadataAnswer) list(from []kafka.BrokerID) []int32 {
	if len(a.ids) < len(from) {
		a.ids = make([]int32, max(1024, len(from)))
	}
	out := a.ids[:len(from):len(from)]
	a.ids = a.ids[len(from):]
	for i, id := range from {
		out[i] = int32(id)
	}
	return out
}
