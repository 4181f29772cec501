package broker

import (
	"crypto/hmac"
	"crypto/sha512"
	"strings"
	"time"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// Kafka's defaults: delegation.token.max.lifetime.ms, the time to renew
// (delegation.token.expiry.time.ms) and how often the controller looks for those
// that expired (delegation.token.expiry.check.interval.ms).
const (
	tokenMaxLifetime = 7 * 24 * time.Hour
	tokenExpiry      = 24 * time.Hour
	tokenCheck       = time.Hour
)

const anonymous = "User:ANONYMOUS"

// tokenHMAC gives the secret of a delegation token, which is derived from its id
// and the cluster's key, so that no znode or record holds it.
func (b *Broker) tokenHMAC(id string) []byte {
	m := hmac.New(sha512.New, []byte(b.cfg.TokenSecret))
	m.Write([]byte(id))
	return m.Sum(nil)
}

// tokensAllowed says whether a principal may ask for anything about tokens.
func (b *Broker) tokensAllowed(principal string) kafka.ErrorCode {
	switch {
	case b.cfg.TokenSecret == "":
		return kafka.DelegationTokenAuthDisabled
	case principal == "" || principal == anonymous:
		return kafka.DelegationTokenRequestNotAllowed
	}
	return kafka.None
}

// tokenOf finds the token of a secret.
func (b *Broker) tokenOf(secret []byte) (*metadata.DelegationToken, bool) {
	for t := range b.Image().Access().Tokens() {
		if hmac.Equal(b.tokenHMAC(t.ID), secret) {
			return t, true
		}
	}
	return nil, false
}

func mayRenew(t *metadata.DelegationToken, principal string) bool {
	if t.Owner == principal {
		return true
	}
	for _, r := range t.Renewers {
		if r == principal {
			return true
		}
	}
	return false
}

func expired(t *metadata.DelegationToken, nowMs int64) bool {
	return t.MaxMs < nowMs || t.ExpiresMs < nowMs
}

// splitPrincipal gives type and name.
func splitPrincipal(p string) (kind, name string) {
	kind, name, _ = strings.Cut(p, ":")
	return kind, name
}
