package kraftcontroller

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raftclient"
)

// The endpoint types of DescribeCluster (KIP-919).
const (
	brokerEndpoints     = 1
	controllerEndpoints = 2
)

// serveDescribeCluster tells of the controllers that are registered, as Kafka's do,
// or of the voters where the metadata.version has no registrations; of brokers
// only brokers tell.
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
	add := func(id kafka.BrokerID, e kafka.Endpoint) {
		b := kmsg.NewDescribeClusterResponseBroker()
		b.NodeID, b.Host, b.Port = int32(id), e.Host, int32(e.Port)
		resp.Brokers = append(resp.Brokers, b)
	}
	for registered := range c.View().Image.Controllers() {
		if i := slices.IndexFunc(registered.Endpoints, func(e kafka.Endpoint) bool { return e.Listener == raftclient.ControllerListener }); i >= 0 {
			add(registered.ID, registered.Endpoints[i])
		}
	}
	if len(resp.Brokers) > 0 {
		return resp, nil
	}
	for _, member := range c.client.Quorum().Voters { // before 3.7-IV0 none is registered
		if e, ok := c.client.Endpoint(member.ID); ok {
			add(member.ID, e)
		}
	}
	return resp, nil
}
