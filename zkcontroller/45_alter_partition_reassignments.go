package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleAlterReassignments(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.AlterPartitionAssignmentsRequest)
	in := machine.AlterReassignments{}
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			in.Changes = append(in.Changes, machine.Reassign{
				Partition: kafka.TopicPartition{Topic: req.Topics[i].Topic, Partition: p.Partition},
				Replicas:  brokerIDs(p.Replicas), Cancel: p.Replicas == nil,
			})
		}
	}
	body := c.call(ctx, millis(req.TimeoutMillis), func(id machine.CallID) machine.Input {
		in.Call = id
		return in
	})
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	reply, ok := body.(machine.AlterReassignmentsReply)
	if !ok {
		reply.Code = kafka.RequestTimedOut
	}
	if reply.Code != kafka.None {
		resp.ErrorCode, resp.ErrorMessage = int16(reply.Code), text(refusalText(reply.Code))
		return resp, nil
	}
	next := 0
	for i := range req.Topics {
		t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		t.Topic = req.Topics[i].Topic
		for _, p := range req.Topics[i].Partitions {
			rp := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.ErrorMessage = p.Partition, int16(reply.Results[next].Code), text(reply.Results[next].Text)
			t.Partitions = append(t.Partitions, rp)
			next++
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp, nil
}

// refusalText explains the code of a request that failed as a whole.
func refusalText(code kafka.ErrorCode) string {
	switch code {
	case kafka.NotController:
		return "This is not the correct controller for this cluster."
	case kafka.RequestTimedOut:
		return "The request timed out."
	}
	return ""
}
