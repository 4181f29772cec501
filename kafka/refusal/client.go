package refusal

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// clientItems refuses the items of what producers and consumers ask, and
// reports whether body is such a request.
func (r refused) clientItems(body kmsg.Request, kresp kmsg.Response) bool {
	switch resp := kresp.(type) {
	case *kmsg.ProduceResponse:
		r.produce(body.(*kmsg.ProduceRequest), resp)
	case *kmsg.FetchResponse:
		r.fetch(body.(*kmsg.FetchRequest), resp)
	case *kmsg.ListOffsetsResponse:
		r.listOffsets(body.(*kmsg.ListOffsetsRequest), resp)
	case *kmsg.OffsetForLeaderEpochResponse:
		r.offsetForLeaderEpoch(body.(*kmsg.OffsetForLeaderEpochRequest), resp)
	case *kmsg.MetadataResponse:
		for _, t := range body.(*kmsg.MetadataRequest).Topics {
			item := kmsg.NewMetadataResponseTopic()
			item.Topic, item.TopicID, item.ErrorCode = t.Topic, t.TopicID, r.code
			if item.Topic == nil && resp.Version < 12 { // the name may not be null before
				item.Topic = new(string)
			}
			resp.Topics = append(resp.Topics, item)
		}
	case *kmsg.FindCoordinatorResponse:
		for _, key := range body.(*kmsg.FindCoordinatorRequest).CoordinatorKeys {
			item := kmsg.NewFindCoordinatorResponseCoordinator()
			item.Key, item.NodeID, item.Port, item.ErrorCode, item.ErrorMessage = key, -1, -1, r.code, r.text
			resp.Coordinators = append(resp.Coordinators, item)
		}
	default:
		return false
	}
	return true
}

func (r refused) produce(req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse) {
	for _, t := range req.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			item := kmsg.NewProduceResponseTopicPartition()
			item.Partition, item.ErrorCode, item.ErrorMessage = p.Partition, r.code, r.text
			item.BaseOffset = int64(kafka.NoOffset)
			topic.Partitions = append(topic.Partitions, item)
		}
		resp.Topics = append(resp.Topics, topic)
	}
}

func (r refused) fetch(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	for _, t := range req.Topics {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			item := kmsg.NewFetchResponseTopicPartition()
			item.Partition, item.ErrorCode, item.HighWatermark = p.Partition, r.code, int64(kafka.NoOffset)
			topic.Partitions = append(topic.Partitions, item)
		}
		resp.Topics = append(resp.Topics, topic)
	}
}

func (r refused) listOffsets(req *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	for _, t := range req.Topics {
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			item := kmsg.NewListOffsetsResponseTopicPartition()
			item.Partition, item.ErrorCode = p.Partition, r.code
			topic.Partitions = append(topic.Partitions, item)
		}
		resp.Topics = append(resp.Topics, topic)
	}
}

func (r refused) offsetForLeaderEpoch(req *kmsg.OffsetForLeaderEpochRequest, resp *kmsg.OffsetForLeaderEpochResponse) {
	for _, t := range req.Topics {
		topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			item := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			item.Partition, item.ErrorCode = p.Partition, r.code
			item.LeaderEpoch, item.EndOffset = int32(kafka.NoEpoch), int64(kafka.NoOffset)
			topic.Partitions = append(topic.Partitions, item)
		}
		resp.Topics = append(resp.Topics, topic)
	}
}
