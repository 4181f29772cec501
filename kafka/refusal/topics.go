package refusal

import "github.com/twmb/franz-go/pkg/kmsg"

// topicItems refuses the items of what changes topics, and reports whether body
// is such a request.
func (r refused) topicItems(body kmsg.Request, kresp kmsg.Response) bool {
	switch resp := kresp.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range body.(*kmsg.CreateTopicsRequest).Topics {
			item := kmsg.NewCreateTopicsResponseTopic()
			item.Topic, item.ErrorCode, item.ErrorMessage = t.Topic, r.code, r.text
			item.NumPartitions, item.ReplicationFactor = -1, -1
			resp.Topics = append(resp.Topics, item)
		}
	case *kmsg.DeleteTopicsResponse:
		req := body.(*kmsg.DeleteTopicsRequest)
		for i := range req.TopicNames {
			resp.Topics = append(resp.Topics, r.deletion(&req.TopicNames[i], [16]byte{}))
		}
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, r.deletion(t.Topic, t.TopicID))
		}
	case *kmsg.CreatePartitionsResponse:
		for _, t := range body.(*kmsg.CreatePartitionsRequest).Topics {
			item := kmsg.NewCreatePartitionsResponseTopic()
			item.Topic, item.ErrorCode, item.ErrorMessage = t.Topic, r.code, r.text
			resp.Topics = append(resp.Topics, item)
		}
	case *kmsg.ElectLeadersResponse: // version 0 has no code at the top
		r.electLeaders(body.(*kmsg.ElectLeadersRequest), resp)
	default:
		return false
	}
	return true
}

func (r refused) deletion(name *string, id [16]byte) kmsg.DeleteTopicsResponseTopic {
	item := kmsg.NewDeleteTopicsResponseTopic()
	item.Topic, item.TopicID, item.ErrorCode, item.ErrorMessage = name, id, r.code, r.text
	return item
}

func (r refused) electLeaders(req *kmsg.ElectLeadersRequest, resp *kmsg.ElectLeadersResponse) {
	for _, t := range req.Topics {
		topic := kmsg.NewElectLeadersResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			item := kmsg.NewElectLeadersResponseTopicPartition()
			item.Partition, item.ErrorCode, item.ErrorMessage = p, r.code, r.text
			topic.Partitions = append(topic.Partitions, item)
		}
		resp.Topics = append(resp.Topics, topic)
	}
}
