package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleElectLeaders(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.ElectLeadersRequest)
	in := machine.ElectLeaders{All: req.Topics == nil, Unclean: r.Version >= 1 && req.ElectionType == 1}
	resp := kmsg.NewPtrElectLeadersResponse()
	if r.Version >= 1 && (req.ElectionType < 0 || req.ElectionType > 1) {
		resp.ErrorCode = int16(kafka.InvalidRequest)
		return resp, nil
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			in.Partitions = append(in.Partitions, kafka.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	body := c.call(ctx, millis(req.TimeoutMillis), func(id machine.CallID) machine.Input {
		in.Call = id
		return in
	})
	reply, ok := body.(machine.ElectLeadersReply)
	if !ok {
		for _, tp := range in.Partitions {
			reply.Results = append(reply.Results, machine.ElectionResult{Partition: tp, Code: kafka.RequestTimedOut, Text: "The request timed out."})
		}
	}
	resp.ErrorCode = int16(reply.Code)
	for _, res := range reply.Results {
		if n := len(resp.Topics); n == 0 || resp.Topics[n-1].Topic != res.Partition.Topic {
			t := kmsg.NewElectLeadersResponseTopic()
			t.Topic = res.Partition.Topic
			resp.Topics = append(resp.Topics, t)
		}
		p := kmsg.NewElectLeadersResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = res.Partition.Partition, int16(res.Code), text(res.Text)
		t := &resp.Topics[len(resp.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return resp, nil
}
