package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/wire"
)

// handleExpireDelegationToken ends a token, now or later.
func (p *zkPlane) handleExpireDelegationToken(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.ExpireDelegationTokenRequest)
	resp := req.ResponseKind().(*kmsg.ExpireDelegationTokenResponse)
	resp.ExpiryTimestamp = -1
	t, code := p.b.heldToken(r.Principal, req.HMAC)
	if code != kafka.None {
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	var err error
	if req.ExpiryPeriodMillis < 0 {
		resp.ExpiryTimestamp = p.b.cfg.Now().UnixMilli()
		err = p.removeToken(ctx, t.ID)
	} else {
		resp.ExpiryTimestamp, err = p.setExpiry(ctx, t, req.ExpiryPeriodMillis)
	}
	resp.ErrorCode, _ = answerOf(err)
	return resp, nil
}

func (p *zkPlane) removeToken(ctx context.Context, id string) error {
	s, err := p.live()
	if err != nil {
		return err
	}
	if err := s.RemoveToken(ctx, id); err != nil {
		return err
	}
	return p.loadToken(ctx, s, id)
}

// expireTokens removes the tokens that are over, which the broker of the active
// controller does.
func (p *zkPlane) expireTokens(ctx context.Context) error {
	if p.active.Load() != int32(p.b.cfg.ID) {
		return nil
	}
	now := p.b.cfg.Now().UnixMilli()
	for t := range p.b.Image().Access().Tokens() {
		if admin.TokenExpired(t, now) {
			if err := p.removeToken(ctx, t.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
