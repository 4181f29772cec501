package spec

import (
	"fmt"
	"slices"

	"kbench/kafka"
)

// Security is how the listeners of all brokers and controllers of a cluster are
// secured. Its zero value is plaintext, without ACLs.
type Security string

// What there is beside plaintext. With each of them ACLs are enforced.
const (
	SecurityTLS     Security = "tls"      // certificates on both sides
	SecuritySASL    Security = "sasl"     // passwords, by SCRAM
	SecuritySASLTLS Security = "sasl+tls" // passwords, by SCRAM, and certificates of nodes
)

// plaintext is how the zero value is written.
const plaintext = "plaintext"

// String is how a spec writes it.
func (s Security) String() string {
	if s == "" {
		return plaintext
	}
	return string(s)
}

// Protocol is Kafka's name for it.
func (s Security) Protocol() kafka.SecurityProtocol {
	switch s {
	case SecurityTLS:
		return kafka.SSL
	case SecuritySASL:
		return kafka.SASLPlaintext
	case SecuritySASLTLS:
		return kafka.SASLSSL
	}
	return kafka.Plaintext
}

// SecurityOf is how a cluster is secured whose clients speak a protocol.
func SecurityOf(p kafka.SecurityProtocol) Security {
	for _, s := range []Security{SecurityTLS, SecuritySASL, SecuritySASLTLS} {
		if s.Protocol() == p {
			return s
		}
	}
	return ""
}

// securedTargets are those whose nodes kbench can secure.
var securedTargets = []Target{ZK, KRaft, RaftPush}

// checkSecurity refuses targets that kbench cannot secure, where a variant is
// measured on them.
func (d *decoder) checkSecurity(c Config, v Variant, bad func(what, cure string, paths ...string)) {
	if c.Cluster.Security == "" {
		return
	}
	for _, t := range d.spec.Targets {
		pushed := t == RaftPush && c.Cluster.Security.Protocol().SASL()
		if slices.Contains(securedTargets, t.Kind()) && !pushed || v.Name != BaseVariant && !v.actsOn(t) {
			continue
		}
		why, cure := "kbench writes no stores of certificates and no JAAS files for nodes of real Kafka", "write `security: plaintext`, or measure zk and kraft"
		switch {
		case pushed:
			why, cure = "its voters know each other by certificates and have no passwords", "write `security: tls`, or measure zk and kraft"
		case t == AttachTarget:
			why, cure = "a cluster that is there is as secured as it is", "leave security out, and say how clients connect by attach.commandConfig, or --command-config FILE"
		}
		bad(fmt.Sprintf("%s with target %s: %s", c.Cluster.Security, t, why), cure, "cluster.security")
	}
}
