package admin

import (
	"crypto/hmac"
	"crypto/sha512"
	"slices"
	"strings"
	"time"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/metadata"
)

// Kafka's defaults for delegation tokens (KIP-48): delegation.token.max.lifetime.ms,
// the time to renew (delegation.token.expiry.time.ms), and how often those that
// expired are looked for (delegation.token.expiry.check.interval.ms).
const (
	TokenMaxLifetime = 7 * 24 * time.Hour
	TokenExpiry      = 24 * time.Hour
	TokenCheck       = time.Hour
)

// TokenHMAC gives the secret of a delegation token, which is derived from its
// id and the cluster's key, so that no znode or record holds it.
func TokenHMAC(secret, id string) []byte {
	m := hmac.New(sha512.New, []byte(secret))
	m.Write([]byte(id))
	return m.Sum(nil)
}

// TokensAllowed says whether a principal may ask for anything about tokens; an
// empty secret is that of a cluster without them.
func TokensAllowed(secret, principal string) kafka.ErrorCode {
	switch {
	case secret == "":
		return kafka.DelegationTokenAuthDisabled
	case principal == "" || principal == access.Anonymous:
		return kafka.DelegationTokenRequestNotAllowed
	}
	return kafka.None
}

// TokenOf finds the token of an HMAC.
func TokenOf(held *metadata.Access, secret string, mac []byte) (*metadata.DelegationToken, bool) {
	for t := range held.Tokens() {
		if hmac.Equal(TokenHMAC(secret, t.ID), mac) {
			return t, true
		}
	}
	return nil, false
}

// MayRenew reports whether a principal may renew or end a token: its owner and
// its renewers may.
func MayRenew(t *metadata.DelegationToken, principal string) bool {
	return t.Owner == principal || slices.Contains(t.Renewers, principal)
}

// TokenExpired reports whether a token is over at a time in milliseconds.
func TokenExpired(t *metadata.DelegationToken, nowMs int64) bool {
	return t.MaxMs < nowMs || t.ExpiresMs < nowMs
}

// SplitPrincipal gives type and name of a principal.
func SplitPrincipal(p string) (kind, name string) {
	kind, name, _ = strings.Cut(p, ":")
	return kind, name
}
