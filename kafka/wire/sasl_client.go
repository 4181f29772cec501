package wire

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"

	"kbench/kafka"
)

// maxSASLTokens bounds the exchange with a server that never ends it.
const maxSASLTokens = 16

// authenticate runs a mechanism's exchange on a fresh connection.
func (c *Conn) authenticate(ctx context.Context, m sasl.Mechanism) error {
	hello := kmsg.NewPtrSASLHandshakeRequest()
	hello.Version, hello.Mechanism = 1, m.Name()
	resp, err := c.Request(ctx, hello)
	if err != nil {
		return err
	}
	offered := resp.(*kmsg.SASLHandshakeResponse)
	if code := kafka.ErrorCode(offered.ErrorCode); code != kafka.None {
		return fmt.Errorf("%s to %s: %w; it offers %v", m.Name(), c.addr, code, offered.SupportedMechanisms)
	}
	session, token, err := m.Authenticate(ctx, c.addr)
	if err != nil {
		return fmt.Errorf("%s to %s: %w", m.Name(), c.addr, err)
	}
	for range maxSASLTokens {
		answer, err := c.exchange(ctx, token)
		if err != nil {
			return fmt.Errorf("%s to %s: %w", m.Name(), c.addr, err)
		}
		var done bool
		if done, token, err = session.Challenge(answer); err != nil {
			return fmt.Errorf("%s to %s: %w", m.Name(), c.addr, err)
		}
		if done {
			return nil
		}
	}
	return fmt.Errorf("%s to %s: no end after %d tokens", m.Name(), c.addr, maxSASLTokens)
}

// exchange sends one token and gives the server's.
func (c *Conn) exchange(ctx context.Context, token []byte) ([]byte, error) {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version, req.SASLAuthBytes = 1, token
	kresp, err := c.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.SASLAuthenticateResponse)
	if code := kafka.ErrorCode(resp.ErrorCode); code != kafka.None {
		if resp.ErrorMessage != nil {
			return nil, fmt.Errorf("%w: %s", code, *resp.ErrorMessage)
		}
		return nil, code
	}
	return resp.SASLAuthBytes, nil
}
