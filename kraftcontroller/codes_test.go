package kraftcontroller

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// A controller tells of controllers alone (KIP-919).
func TestEndpointTypes(t *testing.T) {
	cl := newCluster(t, 1, nil)
	cl.active(-1)
	for _, c := range []struct {
		version int16
		kind    int8
		want    kafka.ErrorCode
	}{
		{0, 0, kafka.MismatchedEndpointType}, // which means brokers
		{1, brokerEndpoints, kafka.MismatchedEndpointType},
		{1, 3, kafka.UnsupportedEndpointType},
		{1, controllerEndpoints, kafka.None},
	} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version, req.EndpointType = c.version, c.kind
		if got := cl.request(req).(*kmsg.DescribeClusterResponse); kafka.ErrorCode(got.ErrorCode) != c.want || (len(got.Brokers) > 0) != (c.want == kafka.None) {
			t.Errorf("DescribeCluster version %d of endpoint type %d: %+v, want %v", c.version, c.kind, got, c.want)
		}
	}
}

// What is wrong with an envelope is said in its own error code, and the request in
// it is not looked at.
func TestEnvelopeIsRefused(t *testing.T) {
	cl := newCluster(t, 1, nil)
	cl.active(-1)
	wrapped := func(inner kmsg.Request) *kmsg.EnvelopeRequest {
		return wire.WrapRequest(&wire.Request{Principal: "User:ann", Body: inner}, 7)
	}
	nobody := wrapped(createTopics("a", 1, 1))
	nobody.RequestPrincipal = []byte{9}
	old := kmsg.NewPtrAddRaftVoterRequest()
	old.Version = 2
	for name, c := range map[string]struct {
		env  *kmsg.EnvelopeRequest
		want kafka.ErrorCode
	}{
		"of nobody":             {nobody, kafka.PrincipalDeserialization},
		"what brokers ask for":  {wrapped(kmsg.NewPtrAllocateProducerIDsRequest()), kafka.InvalidRequest},
		"an envelope":           {wrapped(wrapped(createTopics("a", 1, 1))), kafka.InvalidRequest},
		"a version of tomorrow": {wrapped(old), kafka.UnsupportedVersion},
	} {
		if got := cl.request(c.env).(*kmsg.EnvelopeResponse); kafka.ErrorCode(got.ErrorCode) != c.want || len(got.ResponseData) > 0 {
			t.Errorf("%s: %v, want %v", name, kafka.ErrorCode(got.ErrorCode), c.want)
		}
	}
}
