package kraftcontroller

import (
	"context"
	"errors"
	"fmt"

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
	if err == nil {
		err = forwardable(inner)
	}
	if err != nil {
		code := kafka.InvalidRequest
		errors.As(err, &code)
		c.log.Warn("envelope refused", "remote", r.Remote, "err", err)
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	standby := false
	handle := c.guard().Handler(func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
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

func forwardable(r *wire.Request) error {
	for _, d := range decided {
		if d.key != r.Key || !d.forwarded {
			continue
		}
		if r.Version < d.lowest || r.Version > d.highest {
			return fmt.Errorf("%s version %d, %d to %d are served: %w", kmsg.NameForKey(r.Key), r.Version, d.lowest, d.highest, kafka.UnsupportedVersion)
		}
		return nil
	}
	return fmt.Errorf("%s may not be forwarded: %w", kmsg.NameForKey(r.Key), kafka.InvalidRequest)
}
