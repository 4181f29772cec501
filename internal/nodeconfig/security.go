package nodeconfig

import (
	"maps"
	"slices"
	"strings"

	"kbench/kafka"
)

// The names of listeners where a configuration names no others.
const (
	DefaultListener    = "PLAINTEXT"  // of brokers
	ControllerListener = "CONTROLLER" // of the controllers of a KRaft quorum
	// ControlPlaneListener is what kbench calls that of Security.ControlPlane.
	ControlPlaneListener = "CONTROL"
)

// Security is how the listeners of a process are secured, how it shows itself at
// those of others, and who may do what. The zero value is plaintext without an
// authorizer.
type Security struct {
	InterBroker  string              `json:"interBroker,omitempty"`  // inter.broker.listener.name, that of each broker's host and port; PLAINTEXT
	ControlPlane string              `json:"controlPlane,omitempty"` // control.plane.listener.name (KIP-291), zk: one of each broker's further listeners
	Listeners    map[string]Listener `json:"listeners,omitempty"`    // by name; CONTROLLER is that of a KRaft quorum; those not named are PLAINTEXT
	TLS          TLS                 `json:"tls,omitzero"`           // of all listeners and connections with SSL
	SASL         SASL                `json:"sasl,omitzero"`          // by which the process shows itself
	Authorizer   bool                `json:"authorizer,omitempty"`   // authorizer.class.name: the ACLs of the metadata decide
	SuperUsers   []string            `json:"superUsers,omitempty"`   // super.users, as User:name; the nodes themselves belong to them
	AllowIfNoACL bool                `json:"allowIfNoAcl,omitempty"` // allow.everyone.if.no.acl.found
	TokenSecret  string              `json:"tokenSecret,omitempty"`  // delegation.token.secret.key, the same at all nodes; empty: no delegation tokens
}

// Listener is how one listener is secured.
type Listener struct {
	Protocol   string   `json:"protocol,omitempty"`   // listener.security.protocol.map: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
	Mechanisms []string `json:"mechanisms,omitempty"` // sasl.enabled.mechanisms: SCRAM-SHA-256, SCRAM-SHA-512, PLAIN; nodes use the first among themselves
	ClientAuth string   `json:"clientAuth,omitempty"` // ssl.client.auth: none, requested or required; none
}

// SecurityProtocol gives the listener's protocol, PLAINTEXT where it names none.
func (l Listener) SecurityProtocol() kafka.SecurityProtocol {
	p, _ := kafka.ParseSecurityProtocol(l.Protocol)
	return p
}

// TLS are PEM files, as ssl.keystore.type=PEM has them.
type TLS struct {
	Certificate string `json:"certificate,omitempty"` // ssl.keystore.certificate.chain
	Key         string `json:"key,omitempty"`         // ssl.keystore.key, not encrypted
	CA          string `json:"ca,omitempty"`          // ssl.truststore.certificates: whom the process trusts
}

// SASL is what JAAS has in Kafka.
type SASL struct {
	Username string            `json:"username,omitempty"` // with Password: who the process is to others
	Password string            `json:"password,omitempty"` //
	Users    map[string]string `json:"users,omitempty"`    // passwords that PLAIN takes beside the process' own, as user_NAME=
}

// ZooKeeperAccess is how a process shows itself to ZooKeeper.
type ZooKeeperAccess struct {
	Scheme   string `json:"scheme,omitempty"`   // sasl (DIGEST-MD5, as in Kafka's JAAS section Client) or digest; empty: none
	Username string `json:"username,omitempty"` //
	Password string `json:"password,omitempty"` //
	SetACL   bool   `json:"setAcl,omitempty"`   // zookeeper.set.acl: the znodes made belong to who made them
}

// BrokerListener is the name of the listener of each broker's host and port.
func (s *Security) BrokerListener() string {
	if s.InterBroker == "" {
		return DefaultListener
	}
	return s.InterBroker
}

// Secret reports whether the configuration holds passwords.
func (c *Config) Secret() bool {
	s := c.Security
	return s.SASL.Password != "" || len(s.SASL.Users) > 0 || s.TokenSecret != "" || c.ZooKeeper.Access.Password != ""
}

// checkSecurity reports the faults of what secures c.
func (c *Config) checkSecurity(fault faults) {
	s := &c.Security
	known := c.listeners()
	for _, name := range slices.Sorted(maps.Keys(s.Listeners)) {
		fault(!slices.Contains(known, name), "security.listeners.%s: the process has no such listener; it has %s", name, strings.Join(known, ", "))
		c.checkListener(name, s.Listeners[name], fault)
	}
	fault((s.TLS.Certificate == "") != (s.TLS.Key == ""), "security.tls: certificate and key belong together: give both as PEM files")
	fault((s.SASL.Username == "") != (s.SASL.Password == ""), "security.sasl: username and password belong together: give both")
	fault(!s.Authorizer && (len(s.SuperUsers) > 0 || s.AllowIfNoACL), "security.superUsers and allowIfNoAcl mean nothing without security.authorizer: set it to true")
	for i, u := range s.SuperUsers {
		kind, name, ok := strings.Cut(u, ":")
		fault(!ok || kind == "" || name == "", "security.superUsers[%d] is %q: write type:name, such as User:admin", i, u)
	}
	c.checkControlPlane(fault)
}

// listeners are the names that the process knows.
func (c *Config) listeners() []string {
	names := []string{}
	if c.Role == RoleBroker {
		names = append(names, c.Security.BrokerListener())
	}
	if c.Mode == ModeKRaft {
		names = append(names, ControllerListener)
	}
	for _, b := range c.Brokers {
		for _, e := range b.Listeners {
			if !slices.Contains(names, e.Name) {
				names = append(names, e.Name)
			}
		}
	}
	return names
}

var mechanisms = []string{"SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"}

func (c *Config) checkListener(name string, l Listener, fault faults) {
	at, s := "security.listeners."+name, &c.Security
	if _, ok := kafka.ParseSecurityProtocol(l.Protocol); !ok {
		fault(true, "%s.protocol is %q: use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", at, l.Protocol)
		return
	}
	p := l.SecurityProtocol()
	fault(p.SASL() && len(l.Mechanisms) == 0, "%s.mechanisms is empty: name one of %s", at, strings.Join(mechanisms, ", "))
	fault(!p.SASL() && len(l.Mechanisms) > 0, "%s.mechanisms: %s has no SASL; use SASL_SSL or leave them out", at, p)
	for _, m := range l.Mechanisms {
		fault(!slices.Contains(mechanisms, m), "%s.mechanisms holds %q: use %s", at, m, strings.Join(mechanisms, ", "))
	}
	// Every listener but one for clients alone is dialled by the process too.
	dials := name == s.BrokerListener() || name == ControllerListener || name == s.ControlPlane
	fault(p.SASL() && dials && s.SASL.Username == "", "security.sasl.username is empty: %s wants a name from nodes too", name)
	fault(p.TLS() && s.TLS.Certificate == "", "security.tls.certificate is empty: %s needs a certificate and its key", name)
	fault(p.TLS() && s.TLS.CA == "", "security.tls.ca is empty: name the certificates that the process trusts on %s", name)
	switch l.ClientAuth {
	case "", "none":
	case "requested", "required":
		fault(!p.TLS(), "%s.clientAuth: %s has no TLS; use SSL or SASL_SSL or leave it out", at, p)
	default:
		fault(true, "%s.clientAuth is %q: use none, requested or required", at, l.ClientAuth)
	}
}

func (c *Config) checkControlPlane(fault faults) {
	name := c.Security.ControlPlane
	if name == "" {
		return
	}
	fault(c.Mode == ModeKRaft, "security.controlPlane: a KRaft quorum has a listener of its own; leave it out")
	fault(name == c.Security.BrokerListener(), "security.controlPlane is the listener between brokers: give it a name of its own")
	for i, b := range c.Brokers {
		has := slices.ContainsFunc(b.Listeners, func(e BrokerEndpoint) bool { return e.Name == name })
		fault(!has, "security.controlPlane is %s, which brokers[%d].listeners does not have: add it with a port", name, i)
	}
}

// checkAccess reports the faults of how the process reaches ZooKeeper.
func (z *ZooKeeper) checkAccess(fault faults) {
	a := z.Access
	switch a.Scheme {
	case "":
		fault(a.Username != "" || a.Password != "", "zookeeper.access.scheme is empty: use sasl or digest with username and password")
		fault(a.SetACL && (z.TLS == nil || z.TLS.Certificate == ""), "zookeeper.access.setAcl: ZooKeeper must know whose the znodes are: give a scheme with username and password, or zookeeper.tls with a certificate")
	case "sasl", "digest":
		fault(a.Username == "" || a.Password == "", "zookeeper.access: scheme %s needs username and password", a.Scheme)
	default:
		fault(true, "zookeeper.access.scheme is %q: use sasl or digest", a.Scheme)
	}
	if t := z.TLS; t != nil {
		fault(t.CA == "", "zookeeper.tls.ca is empty: name the certificates that ZooKeeper's is trusted by")
		fault((t.Certificate == "") != (t.Key == ""), "zookeeper.tls: certificate and key belong together: give both as PEM files")
	}
}
