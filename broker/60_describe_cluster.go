package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// handleDescribeCluster lists the brokers (KIP-700).
func (b *Broker) handleDescribeCluster(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeClusterRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterAuthorizedOperations, resp.ControllerID = noOperations, -1
	if req.Version >= 1 && req.EndpointType != 1 {
		text := "this is a broker: endpoint type 1"
		resp.ErrorCode, resp.ErrorMessage = int16(kafka.MismatchedEndpointType), &text
		return resp, nil
	}
	img := b.Image()
	resp.ClusterID = b.plane.clusterID()
	resp.ControllerID = int32(b.plane.controllerID(img))
	for reg := range img.Brokers() {
		if reg.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		if n, ok := nodeOf(reg, r.Listener); ok {
			rb := kmsg.NewDescribeClusterResponseBroker()
			rb.NodeID, rb.Host, rb.Port, rb.Rack, rb.IsFenced = n.id, n.host, n.port, n.rack, reg.Fenced
			resp.Brokers = append(resp.Brokers, rb)
		}
	}
	return resp, nil
}
