package machine

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// wallMs is the time of day, in milliseconds since the epoch: that of tokens.
func (m *Machine) wallMs() int64 { return m.cfg.StartMs + m.now.Milliseconds() }

// tokensAllowed says whether the request's principal may ask about tokens now.
func (m *Machine) tokensAllowed(r Request) kafka.ErrorCode {
	if code := admin.TokensAllowed(m.cfg.TokenSecret, r.Principal); code != kafka.None {
		return code
	}
	if !m.version().HasDelegationTokens() {
		return kafka.UnsupportedVersion
	}
	return kafka.None
}

// createToken decides CreateDelegationToken (38, KIP-48), for who asks or for
// another owner (KIP-373).
func (m *Machine) createToken(r Request, req *kmsg.CreateDelegationTokenRequest) error {
	resp := req.ResponseKind().(*kmsg.CreateDelegationTokenResponse)
	t := metadata.DelegationToken{Owner: r.Principal, Requester: r.Principal}
	if req.OwnerPrincipalType != nil && req.OwnerPrincipalName != nil && *req.OwnerPrincipalName != "" {
		t.Owner = *req.OwnerPrincipalType + ":" + *req.OwnerPrincipalName
	}
	resp.PrincipalType, resp.PrincipalName = admin.SplitPrincipal(t.Owner)
	resp.TokenRequesterPrincipalType, resp.TokenRequesterPrincipalName = admin.SplitPrincipal(t.Requester)
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	code := m.tokensAllowed(r)
	for _, x := range req.Renewers {
		if x.PrincipalType != "User" && code == kafka.None {
			code = kafka.InvalidPrincipalType
		}
		t.Renewers = append(t.Renewers, x.PrincipalType+":"+x.PrincipalName)
	}
	if code != kafka.None {
		resp.ErrorCode = int16(code)
		_, err := m.carryOut(r, refuse(resp))
		return err
	}
	life := admin.TokenMaxLifetime.Milliseconds()
	if req.MaxLifetimeMillis > 0 {
		life = min(life, req.MaxLifetimeMillis)
	}
	t.ID, t.IssuedMs = m.newID().String(), m.wallMs()
	t.MaxMs = t.IssuedMs + life
	t.ExpiresMs = min(t.MaxMs, t.IssuedMs+admin.TokenExpiry.Milliseconds())
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = t.IssuedMs, t.ExpiresMs, t.MaxMs
	resp.TokenID, resp.HMAC = t.ID, admin.TokenHMAC(m.cfg.TokenSecret, t.ID)
	_, err := m.carryOut(r, atomicOf([]metadata.Record{t.Record()}, resp))
	return err
}

// heldToken finds the token of an HMAC that the request's principal may renew
// or end.
func (m *Machine) heldToken(r Request, mac []byte) (*metadata.DelegationToken, kafka.ErrorCode) {
	if code := m.tokensAllowed(r); code != kafka.None {
		return nil, code
	}
	t, ok := admin.TokenOf(m.image().Access(), m.cfg.TokenSecret, mac)
	switch {
	case !ok:
		return nil, kafka.DelegationTokenNotFound
	case !admin.MayRenew(t, r.Principal):
		return nil, kafka.DelegationTokenOwnerMismatch
	}
	return t, kafka.None
}

// renewToken decides RenewDelegationToken (39): the token expires later, never
// after its end.
func (m *Machine) renewToken(r Request, req *kmsg.RenewDelegationTokenRequest) error {
	resp := req.ResponseKind().(*kmsg.RenewDelegationTokenResponse)
	resp.ExpiryTimestamp = -1
	t, code := m.heldToken(r, req.HMAC)
	if code == kafka.None && admin.TokenExpired(t, m.wallMs()) {
		code = kafka.DelegationTokenExpired
	}
	if code != kafka.None {
		resp.ErrorCode = int16(code)
		_, err := m.carryOut(r, refuse(resp))
		return err
	}
	life := admin.TokenExpiry.Milliseconds()
	if req.RenewTimeMillis > 0 {
		life = min(life, req.RenewTimeMillis)
	}
	next := *t
	next.ExpiresMs = min(t.MaxMs, m.wallMs()+life)
	resp.ExpiryTimestamp = next.ExpiresMs
	_, err := m.carryOut(r, atomicOf([]metadata.Record{next.Record()}, resp))
	return err
}

// expireToken decides ExpireDelegationToken (40): the token ends now, where the
// period is negative, or after it. One that has expired can still be ended.
func (m *Machine) expireToken(r Request, req *kmsg.ExpireDelegationTokenRequest) error {
	resp := req.ResponseKind().(*kmsg.ExpireDelegationTokenResponse)
	resp.ExpiryTimestamp = -1
	t, code := m.heldToken(r, req.HMAC)
	if code == kafka.None && req.ExpiryPeriodMillis >= 0 && admin.TokenExpired(t, m.wallMs()) {
		code = kafka.DelegationTokenExpired
	}
	if code != kafka.None {
		resp.ErrorCode = int16(code)
		_, err := m.carryOut(r, refuse(resp))
		return err
	}
	var record metadata.Record = &metadata.RemoveDelegationTokenRecord{TokenID: t.ID}
	resp.ExpiryTimestamp = m.wallMs()
	if req.ExpiryPeriodMillis >= 0 {
		next := *t
		next.ExpiresMs = min(t.MaxMs, m.wallMs()+min(req.ExpiryPeriodMillis, admin.TokenMaxLifetime.Milliseconds()))
		resp.ExpiryTimestamp, record = next.ExpiresMs, next.Record()
	}
	_, err := m.carryOut(r, atomicOf([]metadata.Record{record}, resp))
	return err
}

// sweepTokens removes the tokens that are over.
func (m *Machine) sweepTokens() error {
	var records []metadata.Record
	for t := range m.image().Access().Tokens() {
		if admin.TokenExpired(t, m.wallMs()) {
			records = append(records, &metadata.RemoveDelegationTokenRecord{TokenID: t.ID})
		}
	}
	if len(records) == 0 {
		return nil
	}
	_, err := m.carryOut(Request{}, decision{records: slices.Values(records)})
	return err
}
