package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleListReassignments(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.ListPartitionReassignmentsRequest)
	in := machine.ListReassignments{All: req.Topics == nil}
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			in.Partitions = append(in.Partitions, kafka.TopicPartition{Topic: req.Topics[i].Topic, Partition: p})
		}
	}
	body := c.call(ctx, millis(req.TimeoutMillis), func(id machine.CallID) machine.Input {
		in.Call = id
		return in
	})
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	reply, ok := body.(machine.ListReassignmentsReply)
	if !ok {
		reply.Code = kafka.RequestTimedOut
	}
	resp.ErrorCode, resp.ErrorMessage = int16(reply.Code), text(refusalText(reply.Code))
	for _, x := range reply.Partitions {
		if n := len(resp.Topics); n == 0 || resp.Topics[n-1].Topic != x.Partition.Topic {
			t := kmsg.NewListPartitionReassignmentsResponseTopic()
			t.Topic = x.Partition.Topic
			resp.Topics = append(resp.Topics, t)
		}
		p := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
		p.Partition = x.Partition.Partition
		p.Replicas, p.AddingReplicas, p.RemovingReplicas = rawIDs(x.Assignment.Replicas), rawIDs(x.Assignment.Adding), rawIDs(x.Assignment.Removing)
		t := &resp.Topics[len(resp.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return resp, nil
}
