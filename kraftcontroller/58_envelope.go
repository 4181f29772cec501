package kraftcontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// serveEnvelope answers a request that a broker forwards for a client. What is
// wrong with the envelope, and NOT_CONTROLLER, is said in the envelope's own
// error code, since the forwarder acts on it; the rest is the client's.
func (c *Controller) serveEnvelope(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	resp := kmsg.NewPtrEnvelopeResponse()
	inner, err := wire.UnwrapRequest(r, r.Body.(*kmsg.EnvelopeRequest))
	var asQuorum wire.Handler
	if err == nil {
		asQuorum, err = c.forwardable(inner)
	}
	if err != nil {
		code := kafka.InvalidRequest
		errors.As(err, &code)
		c.log.Warn("envelope refused", "remote", r.Remote, "err", err)
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	standby := false
	handle := c.guard.Handler(func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
		if asQuorum != nil {
			return asQuorum(ctx, r)
		}
		a, err := c.ask(ctx, r)
		standby = a.notController
		return a.body, err
	})
	body, err := handle(ctx, inner)
	if err != nil || body == nil {
		return nil, err
	}
	if standby {
		resp.ErrorCode = int16(kafka.NotController)
		return resp, nil
	}
	return wire.WrapResponse(inner, body), nil
}

// ofQuorum are the requests to the quorum that a broker may forward: whoever
// does not lead says so in their own answer.
var ofQuorum = []int16{
	int16(kmsg.DescribeQuorum),
	80, // AddRaftVoter
	81, // RemoveRaftVoter
}

// forwardable gives the handler of a request to the quorum, nil for one that the
// machine decides, and an error for one that may not come in an envelope.
func (c *Controller) forwardable(r *wire.Request) (wire.Handler, error) {
	served := func(lowest, highest int16) error {
		if r.Version >= lowest && r.Version <= highest {
			return nil
		}
		return fmt.Errorf("%s version %d, %d to %d are served: %w", kmsg.NameForKey(r.Key), r.Version, lowest, highest, kafka.UnsupportedVersion)
	}
	for _, d := range decided {
		if d.key == r.Key && d.forwarded {
			return nil, served(d.lowest, d.highest)
		}
	}
	for _, a := range c.client.APIs() {
		if a.Key == r.Key && slices.Contains(ofQuorum, r.Key) {
			return a.Handle, served(a.MinVersion, a.MaxVersion)
		}
	}
	return nil, fmt.Errorf("%s may not be forwarded: %w", kmsg.NameForKey(r.Key), kafka.InvalidRequest)
}
