package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// handleFindCoordinator says that there is none: this broker keeps neither
// groups nor transactions.
func (b *Broker) handleFindCoordinator(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.FindCoordinatorRequest)
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	text := "metadata-plane brokers keep neither groups nor transactions"
	resp.ErrorCode, resp.ErrorMessage, resp.NodeID, resp.Port = int16(kafka.CoordinatorNotAvailable), &text, -1, -1
	if req.Version < 4 {
		return resp, nil
	}
	for _, key := range req.CoordinatorKeys {
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.NodeID, c.Port = key, -1, -1
		c.ErrorCode, c.ErrorMessage = int16(kafka.CoordinatorNotAvailable), &text
		resp.Coordinators = append(resp.Coordinators, c)
	}
	return resp, nil
}
