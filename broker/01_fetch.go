package broker

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/replica"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// maxFetchWait bounds a parked fetch whatever its client asks for.
const maxFetchWait = time.Minute

// handleFetch serves followers, in incremental sessions, and consumers,
// without sessions (KIP-227 lets a broker give none).
func (b *Broker) handleFetch(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.FetchRequest)
	follower, epoch := req.ReplicaID, kafka.NoBrokerEpoch
	if req.Version >= 15 {
		follower, epoch = req.ReplicaState.ID, kafka.BrokerEpoch(req.ReplicaState.Epoch)
	}
	wait := min(max(time.Duration(req.MaxWaitMillis)*time.Millisecond, 0), maxFetchWait)
	if follower >= 0 {
		return b.fetchAsLeader(ctx, kafka.BrokerID(follower), epoch, wait, req), nil
	}
	return b.fetchForConsumer(ctx, r, wait, req), nil
}

// fetchAsLeader answers a follower when there is something new for it, or its
// wait is over.
func (b *Broker) fetchAsLeader(ctx context.Context, follower kafka.BrokerID, epoch kafka.BrokerEpoch, wait time.Duration, req *kmsg.FetchRequest) *kmsg.FetchResponse {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	f := b.replicas.Fetch(b.now(), follower, epoch, req)
	if wait > 0 && !f.Ready() {
		wire.Park(ctx)
		t := time.NewTimer(wait)
		select {
		case <-f.Wake():
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
	f.Answer(b.now(), resp)
	return resp
}

// fetchForConsumer answers with batches without records up to the high
// watermark, so that consumers move on and see who leads.
func (b *Broker) fetchForConsumer(ctx context.Context, r *wire.Request, wait time.Duration, req *kmsg.FetchRequest) *kmsg.FetchResponse {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	if req.SessionID != 0 {
		resp.ErrorCode = int16(kafka.FetchSessionIDNotFound)
		return resp
	}
	refs := fetchRefs(req)
	watch := b.replicas.Watch(refs)
	defer b.replicas.Unwatch(watch)
	t := time.NewTimer(wait)
	defer t.Stop()
	for last := wait == 0 || req.MinBytes <= 0 || len(refs) == 0; ; {
		something := b.readAll(req, resp)
		if something || last {
			break
		}
		wire.Park(ctx)
		select {
		case <-watch.Ready:
		case <-t.C:
			last = true
		case <-ctx.Done():
			last = true
		}
	}
	if req.Version >= 16 { // kmsg would write the tag at any version
		b.addFetchLeaders(r.Listener, resp)
	}
	return resp
}

func fetchRefs(req *kmsg.FetchRequest) []replica.PartitionRef {
	var refs []replica.PartitionRef
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			refs = append(refs, replica.PartitionRef{Topic: t.Topic, TopicID: t.TopicID, Partition: t.Partitions[j].Partition})
		}
	}
	return refs
}

// readAll fills the response anew and reports whether it says something.
func (b *Broker) readAll(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) bool {
	something := false
	img := b.Image()
	resp.Topics = resp.Topics[:0]
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for j := range t.Partitions {
			p := &t.Partitions[j]
			part := kmsg.NewFetchResponseTopicPartition()
			ref := replica.PartitionRef{Topic: t.Topic, TopicID: t.TopicID, Partition: p.Partition}
			if b.replicas.Read(ref, kafka.LeaderEpoch(p.CurrentLeaderEpoch), kafka.Offset(p.FetchOffset), &part) {
				something = true
			}
			if code := kafka.ErrorCode(part.ErrorCode); code == kafka.UnknownTopicOrPartition || code == kafka.UnknownTopicID {
				if known := findPartition(img, t.Topic, t.TopicID, p.Partition); known != nil {
					part.ErrorCode = int16(kafka.NotLeaderOrFollower)
					part.CurrentLeader.LeaderID, part.CurrentLeader.LeaderEpoch = int32(known.Leader), int32(known.LeaderEpoch)
				}
			}
			rt.Partitions = append(rt.Partitions, part)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return something
}

func (b *Broker) addFetchLeaders(listener string, resp *kmsg.FetchResponse) {
	var seen []int32
	img := b.Image()
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			node, ok := newLeader(img, listener, resp.Topics[i].Partitions[j].CurrentLeader.LeaderID, &seen)
			if !ok {
				continue
			}
			n := kmsg.NewFetchResponseBroker()
			n.NodeID, n.Host, n.Port, n.Rack = node.id, node.host, node.port, node.rack
			resp.Brokers = append(resp.Brokers, n)
		}
	}
}
