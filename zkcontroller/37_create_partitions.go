package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleCreatePartitions(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.CreatePartitionsRequest)
	in := machine.AdminCreatePartitions{ValidateOnly: req.ValidateOnly}
	names := make([]string, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		names[i] = t.Topic
		n := machine.MorePartitions{Name: t.Topic, Count: t.Count}
		if t.Assignment != nil {
			n.Assignment = make([][]kafka.BrokerID, 0, len(t.Assignment))
			for _, a := range t.Assignment {
				n.Assignment = append(n.Assignment, brokerIDs(a.Replicas))
			}
		}
		in.Topics = append(in.Topics, n)
	}
	reply := topicsReply(c.call(ctx, millis(req.TimeoutMillis), func(id machine.CallID) machine.Input {
		in.Call = id
		return in
	}), names)
	resp := kmsg.NewPtrCreatePartitionsResponse()
	for i := range reply.Topics {
		t := kmsg.NewCreatePartitionsResponseTopic()
		t.Topic = reply.Topics[i].Name
		t.ErrorCode, t.ErrorMessage = int16(reply.Topics[i].Code), text(reply.Topics[i].Text)
		resp.Topics = append(resp.Topics, t)
	}
	return resp, nil
}
