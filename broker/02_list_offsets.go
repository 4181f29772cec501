package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/replica"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// The timestamps of ListOffsets that ask for an end of the log.
const (
	latestTimestamp        = -1
	earliestTimestamp      = -2
	earliestLocalTimestamp = -4
)

// handleListOffsets gives the ends of logs led here. A search by timestamp
// finds nothing, since no record is kept.
func (b *Broker) handleListOffsets(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.ListOffsetsRequest)
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	img := b.Image()
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for j := range t.Partitions {
			p := &t.Partitions[j]
			part := kmsg.NewListOffsetsResponseTopicPartition()
			part.Partition, part.Timestamp, part.Offset, part.LeaderEpoch = p.Partition, -1, -1, -1
			o, code := b.replicas.Offsets(replica.PartitionRef{Topic: t.Topic, Partition: p.Partition}, kafka.LeaderEpoch(p.CurrentLeaderEpoch))
			if code == kafka.UnknownTopicOrPartition && findPartition(img, t.Topic, kafka.UUID{}, p.Partition) != nil {
				code = kafka.NotLeaderOrFollower
			}
			part.ErrorCode = int16(code)
			if code == kafka.None {
				part.LeaderEpoch = int32(o.LeaderEpoch)
				switch p.Timestamp {
				case latestTimestamp:
					part.Offset = int64(o.HighWatermark)
				case earliestTimestamp, earliestLocalTimestamp:
					part.Offset = int64(o.Start)
				}
			}
			rt.Partitions = append(rt.Partitions, part)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}
