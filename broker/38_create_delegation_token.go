package broker

import (
	"context"
	"encoding/base64"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// handleCreateDelegationToken makes a token for who asks, or from version 3 on
// for another owner (KIP-373).
func (p *zkPlane) handleCreateDelegationToken(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.CreateDelegationTokenRequest)
	resp := req.ResponseKind().(*kmsg.CreateDelegationTokenResponse)
	owner := r.Principal
	if req.OwnerPrincipalType != nil && req.OwnerPrincipalName != nil && *req.OwnerPrincipalName != "" {
		owner = *req.OwnerPrincipalType + ":" + *req.OwnerPrincipalName
	}
	resp.PrincipalType, resp.PrincipalName = admin.SplitPrincipal(owner)
	resp.TokenRequesterPrincipalType, resp.TokenRequesterPrincipalName = admin.SplitPrincipal(r.Principal)
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	code := p.b.tokensAllowed(r.Principal)
	var renewers []string
	for _, x := range req.Renewers {
		if x.PrincipalType != "User" && code == kafka.None {
			code = kafka.InvalidPrincipalType
		}
		renewers = append(renewers, x.PrincipalType+":"+x.PrincipalName)
	}
	if code != kafka.None {
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	s, err := p.live()
	if err != nil {
		resp.ErrorCode, _ = answerOf(err)
		return resp, nil
	}
	id := randomUUID()
	now := p.b.cfg.Now().UnixMilli()
	life := admin.TokenMaxLifetime.Milliseconds()
	if req.MaxLifetimeMillis > 0 {
		life = min(life, req.MaxLifetimeMillis)
	}
	t := zk.Token{
		ID: base64.RawURLEncoding.EncodeToString(id[:]), Owner: owner, Requester: r.Principal, Renewers: renewers,
		IssuedMs: now, MaxMs: now + life, ExpiresMs: min(now+life, now+admin.TokenExpiry.Milliseconds()),
	}
	if err := p.writeToken(ctx, s, t); err != nil {
		resp.ErrorCode, _ = answerOf(err)
		return resp, nil
	}
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = t.IssuedMs, t.ExpiresMs, t.MaxMs
	resp.TokenID, resp.HMAC = t.ID, p.b.tokenHMAC(t.ID)
	return resp, nil
}

func (p *zkPlane) writeToken(ctx context.Context, s *zk.Session, t zk.Token) error {
	if err := s.WriteToken(ctx, t); err != nil {
		return err
	}
	return p.loadToken(ctx, s, t.ID)
}
