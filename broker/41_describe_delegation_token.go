package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/wire"
)

// handleDescribeDelegationToken gives the tokens of the owners named, or all.
func (b *Broker) handleDescribeDelegationToken(_ context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeDelegationTokenRequest)
	resp := req.ResponseKind().(*kmsg.DescribeDelegationTokenResponse)
	if code := b.tokensAllowed(r.Principal); code != kafka.None {
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	now := b.cfg.Now().UnixMilli()
	for t := range b.Image().Access().Tokens() {
		wanted := req.Owners == nil || slices.ContainsFunc(req.Owners, func(o kmsg.DescribeDelegationTokenRequestOwner) bool {
			return o.PrincipalType+":"+o.PrincipalName == t.Owner
		})
		if !wanted || admin.TokenExpired(t, now) {
			continue
		}
		d := kmsg.NewDescribeDelegationTokenResponseTokenDetail()
		d.PrincipalType, d.PrincipalName = admin.SplitPrincipal(t.Owner)
		d.TokenRequesterPrincipalType, d.TokenRequesterPrincipalName = admin.SplitPrincipal(t.Requester)
		d.IssueTimestamp, d.ExpiryTimestamp, d.MaxTimestamp = t.IssuedMs, t.ExpiresMs, t.MaxMs
		d.TokenID, d.HMAC = t.ID, b.tokenHMAC(t.ID)
		for _, x := range t.Renewers {
			w := kmsg.NewDescribeDelegationTokenResponseTokenDetailRenewer()
			w.PrincipalType, w.PrincipalName = admin.SplitPrincipal(x)
			d.Renewers = append(d.Renewers, w)
		}
		resp.TokenDetails = append(resp.TokenDetails, d)
	}
	return resp, nil
}
