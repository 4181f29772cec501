package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// handleRenewDelegationToken moves a token's expiry, never past its end.
func (p *zkPlane) handleRenewDelegationToken(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.RenewDelegationTokenRequest)
	resp := req.ResponseKind().(*kmsg.RenewDelegationTokenResponse)
	resp.ExpiryTimestamp = -1
	t, code := p.b.heldToken(r.Principal, req.HMAC)
	if code != kafka.None {
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	life := req.RenewTimeMillis
	if life < 0 {
		life = admin.TokenExpiry.Milliseconds()
	}
	var err error
	resp.ExpiryTimestamp, err = p.setExpiry(ctx, t, life)
	resp.ErrorCode, _ = answerOf(err)
	return resp, nil
}

// heldToken finds the token of a secret that the principal may renew or end.
func (b *Broker) heldToken(principal string, secret []byte) (*metadata.DelegationToken, kafka.ErrorCode) {
	if code := b.tokensAllowed(principal); code != kafka.None {
		return nil, code
	}
	t, ok := b.tokenOf(secret)
	switch {
	case !ok:
		return nil, kafka.DelegationTokenNotFound
	case !admin.MayRenew(t, principal):
		return nil, kafka.DelegationTokenOwnerMismatch
	case admin.TokenExpired(t, b.cfg.Now().UnixMilli()):
		return nil, kafka.DelegationTokenExpired
	}
	return t, kafka.None
}

// setExpiry gives a token a new expiry, lifeMs from now.
func (p *zkPlane) setExpiry(ctx context.Context, t *metadata.DelegationToken, lifeMs int64) (int64, error) {
	s, err := p.live()
	if err != nil {
		return -1, err
	}
	next := zk.Token{
		ID: t.ID, Owner: t.Owner, Requester: t.Requester, Renewers: t.Renewers, IssuedMs: t.IssuedMs, MaxMs: t.MaxMs,
		ExpiresMs: min(t.MaxMs, p.b.cfg.Now().UnixMilli()+lifeMs),
	}
	return next.ExpiresMs, p.writeToken(ctx, s, next)
}
