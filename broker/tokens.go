package broker

import (
	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// tokenHMAC gives the secret of a delegation token.
func (b *Broker) tokenHMAC(id string) []byte { return admin.TokenHMAC(b.cfg.TokenSecret, id) }

// tokensAllowed says whether a principal may ask for anything about tokens.
func (b *Broker) tokensAllowed(principal string) kafka.ErrorCode {
	return admin.TokensAllowed(b.cfg.TokenSecret, principal)
}

// tokenOf finds the token of a secret.
func (b *Broker) tokenOf(secret []byte) (*metadata.DelegationToken, bool) {
	return admin.TokenOf(b.Image().Access(), b.cfg.TokenSecret, secret)
}
