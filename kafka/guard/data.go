package guard

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/access"
)

// showMetadata shows the topics that the client may DESCRIBE. Named ones that it may
// not are refused; of all topics the others are left out.
func showMetadata(c client, req *kmsg.MetadataRequest, next call) (kmsg.Response, error) {
	all := req.Topics == nil || req.Version == 0 && len(req.Topics) == 0
	kept, denied := split(req.Topics, func(t *kmsg.MetadataRequestTopic) bool {
		return c.mayTopic(access.Describe, deref(t.Topic), t.TopicID)
	})
	if len(denied) > 0 {
		// An empty list that is not nil asks for the brokers alone, but in
		// version 0 it asks for every topic: those are dropped below.
		req.Topics = append([]kmsg.MetadataRequestTopic{}, kept...)
	}
	kresp, err := next()
	resp, ok := kresp.(*kmsg.MetadataResponse)
	if !ok || err != nil {
		return kresp, err
	}
	if all || req.Version == 0 && len(kept) == 0 {
		resp.Topics = slices.DeleteFunc(slices.Clone(resp.Topics), func(t kmsg.MetadataResponseTopic) bool {
			return !c.mayTopic(access.Describe, deref(t.Topic), t.TopicID)
		})
	}
	for _, t := range denied {
		item := kmsg.NewMetadataResponseTopic()
		item.Topic, item.TopicID, item.ErrorCode = t.Topic, t.TopicID, refusedTopic
		resp.Topics = append(resp.Topics, item)
	}
	return resp, nil
}

// produce needs WRITE on each topic. Without acknowledgements there is nobody to
// tell: the refused part is dropped.
func produce(c client, req *kmsg.ProduceRequest, next call) (kmsg.Response, error) {
	kept, denied := split(req.Topics, func(t *kmsg.ProduceRequestTopic) bool {
		return c.mayTopic(access.Write, t.Topic, t.TopicID)
	})
	if len(denied) == 0 {
		return next()
	}
	req.Topics = kept
	kresp, err := rest(req, len(kept), next)
	resp, ok := kresp.(*kmsg.ProduceResponse)
	if !ok || err != nil || req.Acks == 0 {
		return nil, err
	}
	for _, t := range denied {
		item := kmsg.NewProduceResponseTopic()
		item.Topic, item.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			part := kmsg.NewProduceResponseTopicPartition()
			part.Partition, part.ErrorCode, part.BaseOffset = p.Partition, refusedTopic, -1
			item.Partitions = append(item.Partitions, part)
		}
		resp.Topics = append(resp.Topics, item)
	}
	return resp, nil
}

// fetch needs READ on each topic of a consumer, and CLUSTER_ACTION of a replica.
// A fetch session would remember what is left out of one request, so a refused
// fetch is refused whole.
func fetch(c client, req *kmsg.FetchRequest, next call) (kmsg.Response, error) {
	replica := req.ReplicaID >= 0 || req.ReplicaState.ID >= 0
	allowed := func(t *kmsg.FetchRequestTopic) bool {
		return c.mayTopic(access.Read, t.Topic, t.TopicID)
	}
	if replica {
		ok := c.mayCluster(access.ClusterAction)
		allowed = func(*kmsg.FetchRequestTopic) bool { return ok }
	}
	_, denied := split(req.Topics, allowed)
	if len(denied) == 0 {
		return next()
	}
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	for _, t := range req.Topics {
		item := kmsg.NewFetchResponseTopic()
		item.Topic, item.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			part := kmsg.NewFetchResponseTopicPartition()
			part.Partition, part.ErrorCode, part.HighWatermark = p.Partition, refusedTopic, -1
			item.Partitions = append(item.Partitions, part)
		}
		resp.Topics = append(resp.Topics, item)
	}
	return resp, nil
}

// listOffsets needs DESCRIBE on each topic.
func listOffsets(c client, req *kmsg.ListOffsetsRequest, next call) (kmsg.Response, error) {
	return partly(req, &req.Topics, func(t *kmsg.ListOffsetsRequestTopic) bool {
		return c.mayTopic(access.Describe, t.Topic, [16]byte{})
	}, next, func(resp *kmsg.ListOffsetsResponse, t kmsg.ListOffsetsRequestTopic) {
		item := kmsg.NewListOffsetsResponseTopic()
		item.Topic = t.Topic
		for _, p := range t.Partitions {
			part := kmsg.NewListOffsetsResponseTopicPartition()
			part.Partition, part.ErrorCode = p.Partition, refusedTopic
			item.Partitions = append(item.Partitions, part)
		}
		resp.Topics = append(resp.Topics, item)
	})
}

// offsetForLeaderEpoch needs DESCRIBE on each topic, or CLUSTER_ACTION.
func offsetForLeaderEpoch(c client, req *kmsg.OffsetForLeaderEpochRequest, next call) (kmsg.Response, error) {
	if c.mayCluster(access.ClusterAction) {
		return next()
	}
	return partly(req, &req.Topics, func(t *kmsg.OffsetForLeaderEpochRequestTopic) bool {
		return c.mayTopic(access.Describe, t.Topic, [16]byte{})
	}, next, func(resp *kmsg.OffsetForLeaderEpochResponse, t kmsg.OffsetForLeaderEpochRequestTopic) {
		item := kmsg.NewOffsetForLeaderEpochResponseTopic()
		item.Topic = t.Topic
		for _, p := range t.Partitions {
			part := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			part.Partition, part.ErrorCode = p.Partition, refusedTopic
			item.Partitions = append(item.Partitions, part)
		}
		resp.Topics = append(resp.Topics, item)
	})
}
