package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/refusal"
	"kbench/kafka/wire"
)

const (
	// Tries to forward again while there is no controller back off from
	// forwardMin to forwardMax.
	forwardMin = 20 * time.Millisecond
	forwardMax = 200 * time.Millisecond
)

// handleForwarded passes a client's request to the active controller inside an
// Envelope (KIP-590). While there is none, or it changes, it tries again until
// the request timeout is over, as Kafka's ForwardingManager does; a request
// that was under way when its connection broke may so be executed twice.
func (p *kraftPlane) handleForwarded(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	wire.Park(ctx)
	ctx, cancel := context.WithTimeout(ctx, p.b.cfg.RequestTimeout)
	defer cancel()
	var ch *channel
	select {
	case ch = <-p.forward:
	case <-ctx.Done():
		return p.refuseForward(r, errors.New("too many forwarded requests under way"))
	}
	defer func() { p.forward <- ch }()
	for wait := forwardMin; ; wait = min(2*wait, forwardMax) {
		moved := p.moved.next()
		resp, err := forwardOnce(ctx, ch, r)
		if err == nil {
			return resp, nil
		}
		var code kafka.ErrorCode
		if errors.As(err, &code) && code != kafka.NotController {
			return p.refuseForward(r, err)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-moved:
		case <-ctx.Done():
			t.Stop()
			return p.refuseForward(r, err)
		}
		t.Stop()
	}
}

// forwardOnce makes one try over one connection.
func forwardOnce(ctx context.Context, ch *channel, r *wire.Request) (kmsg.Response, error) {
	kresp, err := ch.request(ctx, func(v wire.Versions) (kmsg.Request, error) {
		if _, err := v.Pick(int16(kmsg.Envelope), 0, 0); err != nil {
			return nil, err
		}
		return wire.WrapRequest(r, r.CorrelationID), nil
	})
	if err != nil {
		return nil, err
	}
	return wire.UnwrapResponse(r.Body, kresp.(*kmsg.EnvelopeResponse))
}

// refuseForward answers a request that did not reach the controller.
func (p *kraftPlane) refuseForward(r *wire.Request, err error) (kmsg.Response, error) {
	code := kafka.RequestTimedOut
	errors.As(err, &code)
	return refusal.Of(r.Body, code, fmt.Sprintf("not forwarded to the controller: %v", err)), nil
}
