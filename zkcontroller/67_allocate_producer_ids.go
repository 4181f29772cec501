package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleAllocateProducerIDs(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.AllocateProducerIDsRequest)
	body := c.call(ctx, maxCallTime, func(id machine.CallID) machine.Input {
		return machine.AllocateProducerIDs{Call: id, Broker: kafka.BrokerID(req.BrokerID), Epoch: kafka.BrokerEpoch(req.BrokerEpoch)}
	})
	reply, ok := body.(machine.AllocateProducerIDsReply)
	if !ok {
		reply.Code = kafka.RequestTimedOut
	}
	resp := kmsg.NewPtrAllocateProducerIDsResponse()
	resp.ErrorCode, resp.ProducerIDStart, resp.ProducerIDLen = int16(reply.Code), reply.First, reply.Count
	return resp, nil
}
