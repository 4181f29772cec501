package kraftcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// The endpoint types of DescribeCluster (KIP-919).
const (
	brokerEndpoints     = 1
	controllerEndpoints = 2
)

// serveDescribeCluster tells of the controllers; of brokers only brokers do.
func (c *Controller) serveDescribeCluster(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeClusterRequest)
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.ClusterID, resp.ControllerID = c.cfg.Raft.ClusterID, -1
	if r.Version < 1 || req.EndpointType != controllerEndpoints {
		code := kafka.UnsupportedEndpointType
		if r.Version < 1 || req.EndpointType == brokerEndpoints {
			code = kafka.MismatchedEndpointType
		}
		resp.ErrorCode, resp.ErrorMessage = int16(code), kmsg.StringPtr("This is a controller: ask a broker for brokers.")
		return resp, nil
	}
	resp.EndpointType = controllerEndpoints
	resp.ControllerID = int32(c.client.Leader().Leader)
	for _, member := range c.client.Quorum().Voters {
		e, ok := c.client.Endpoint(member.ID)
		if !ok {
			continue
		}
		b := kmsg.NewDescribeClusterResponseBroker()
		b.NodeID, b.Host, b.Port = int32(member.ID), e.Host, int32(e.Port)
		resp.Brokers = append(resp.Brokers, b)
	}
	return resp, nil
}
