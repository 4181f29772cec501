package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleControlledShutdown(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.ControlledShutdownRequest)
	epoch := kafka.NoBrokerEpoch
	if r.Version >= 2 {
		epoch = kafka.BrokerEpoch(req.BrokerEpoch)
	}
	body := c.call(ctx, maxCallTime, func(id machine.CallID) machine.Input {
		return machine.ControlledShutdown{Call: id, Broker: kafka.BrokerID(req.BrokerID), Epoch: epoch}
	})
	reply, ok := body.(machine.ControlledShutdownReply)
	if !ok {
		reply.Code = kafka.RequestTimedOut
	}
	resp := kmsg.NewPtrControlledShutdownResponse()
	resp.ErrorCode = int16(reply.Code)
	for _, tp := range reply.Remaining {
		p := kmsg.NewControlledShutdownResponsePartitionsRemaining()
		p.Topic, p.Partition = tp.Topic, tp.Partition
		resp.PartitionsRemaining = append(resp.PartitionsRemaining, p)
	}
	return resp, nil
}
