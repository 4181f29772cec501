package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/replica"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// handleOffsetForLeaderEpoch tells where an epoch ended. Logs without payload
// cannot differ in what they hold, only in how long they are, so every epoch
// up to the leader's ends at the log end; this broker keeps no history of
// epochs.
func (b *Broker) handleOffsetForLeaderEpoch(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.OffsetForLeaderEpochRequest)
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for j := range t.Partitions {
			p := &t.Partitions[j]
			part := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			part.Partition, part.LeaderEpoch, part.EndOffset = p.Partition, -1, -1
			o, code := b.replicas.Offsets(replica.PartitionRef{Topic: t.Topic, Partition: p.Partition}, kafka.LeaderEpoch(p.CurrentLeaderEpoch))
			part.ErrorCode = int16(code)
			if code == kafka.None && kafka.LeaderEpoch(p.LeaderEpoch) <= o.LeaderEpoch {
				part.LeaderEpoch, part.EndOffset = p.LeaderEpoch, int64(o.LogEnd)
			}
			rt.Partitions = append(rt.Partitions, part)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}
