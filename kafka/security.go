package kafka

import (
	"slices"
	"strconv"
)

// SecurityProtocol is Kafka's number for how a listener is secured
// (listener.security.protocol.map).
type SecurityProtocol int16

// The protocols: TLS or not, and SASL or not.
const (
	Plaintext     SecurityProtocol = 0
	SSL           SecurityProtocol = 1
	SASLPlaintext SecurityProtocol = 2
	SASLSSL       SecurityProtocol = 3
)

var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// String gives Kafka's name: SASL_SSL.
func (p SecurityProtocol) String() string {
	if p >= 0 && int(p) < len(securityProtocols) {
		return securityProtocols[p]
	}
	return strconv.Itoa(int(p))
}

// ParseSecurityProtocol reads Kafka's name of a protocol; ok is false for a name
// that is none.
func ParseSecurityProtocol(name string) (p SecurityProtocol, ok bool) {
	i := slices.Index(securityProtocols, name)
	return SecurityProtocol(max(i, 0)), i >= 0
}

// TLS reports whether connections are encrypted.
func (p SecurityProtocol) TLS() bool { return p == SSL || p == SASLSSL }

// SASL reports whether clients authenticate by SASL.
func (p SecurityProtocol) SASL() bool { return p == SASLPlaintext || p == SASLSSL }
