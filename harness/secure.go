package harness

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"path"

	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/authority"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/wire"
)

// Who is who in a secured cluster. Nodes know the user by their configuration,
// so that a broker that has no metadata yet knows it as well as any other; with
// users of the metadata each start would have a while in which clients are
// refused.
const (
	saslUser = "kbench"      // nodes and kbench's clients
	nodeCN   = "kbench-node" // common name of nodes' certificates
	clientCN = "kbench"      // and of that of kbench's clients
)

// scramMechanism is what all log in by.
const scramMechanism = access.ScramSHA512

// secrets secure one cluster and are forgotten with it. The keys of nodes are in
// their own directories; those of the authority and of clients are in memory
// alone.
type secrets struct {
	protocol kafka.SecurityProtocol
	ca       *authority.CA // nil without TLS
	password string
}

// newSecrets is nil for plaintext.
func newSecrets(kind spec.Security) (*secrets, error) {
	s := &secrets{protocol: kind.Protocol(), password: rand.Text()}
	if s.protocol == kafka.Plaintext {
		return nil, nil
	}
	var err error
	if s.protocol.TLS() {
		s.ca, err = authority.Unwritten()
	}
	return s, err
}

// secure makes the members of a cluster, and the clients that are to reach it,
// as secure as the cell wants it. Plaintext has no identity.
func (run *cellRun) secure(ctx context.Context, members []member) (*wire.Identity, error) {
	s, err := newSecrets(run.spec.Config.Cluster.Security)
	if err != nil || s == nil {
		return nil, err
	}
	run.out.Notes = append(run.out.Notes, "security "+securityOf(run.spec))
	for i := range members {
		if err := s.secure(ctx, run.provider, &members[i].cfg); err != nil {
			return nil, fmt.Errorf("secure %s: %w", members[i].cfg.Name, err)
		}
	}
	return s.clients()
}

// secure gives a node its listeners' protocol, its keys and its name.
func (s *secrets) secure(ctx context.Context, p provider.Provider, cfg *nodeconfig.Config) error {
	listener, supers := nodeconfig.Listener{Protocol: s.protocol.String()}, []string{"User:CN=" + nodeCN, "User:CN=" + clientCN}
	if s.protocol.SASL() {
		listener.Mechanisms, supers = []string{scramMechanism.String()}, []string{"User:" + saslUser}
	} else {
		listener.ClientAuth = "required" // nothing else says who a client is
	}
	security := cfg.Security
	security.Listeners, security.Authorizer, security.SuperUsers = map[string]nodeconfig.Listener{}, true, supers
	if security.ControlPlane != "" {
		security.Listeners[security.ControlPlane] = listener
	}
	if cfg.Role == nodeconfig.RoleBroker {
		security.InterBroker = s.protocol.String()
		security.Listeners[security.InterBroker] = listener
	}
	if cfg.Mode == nodeconfig.ModeKRaft {
		security.Listeners[nodeconfig.ControllerListener] = listener
	}
	if s.protocol.SASL() {
		security.SASL = nodeconfig.SASL{Username: saslUser, Password: s.password}
	}
	if s.ca != nil {
		var err error
		if security.TLS, err = s.keys(ctx, p, cfg); err != nil {
			return err
		}
	}
	cfg.Security = security
	return nil
}

// keys gives a node a certificate for where it listens.
func (s *secrets) keys(ctx context.Context, p provider.Provider, cfg *nodeconfig.Config) (nodeconfig.TLS, error) {
	var hosts []string
	for _, b := range cfg.Brokers {
		hosts = append(hosts, b.Host)
	}
	for _, v := range cfg.Quorum.Voters {
		if v.ID == cfg.Quorum.NodeID {
			hosts = append(hosts, v.Host)
		}
	}
	pair, err := s.ca.Sign(authority.Subject{Name: nodeCN, Hosts: hosts})
	if err != nil {
		return nodeconfig.TLS{}, err
	}
	dir, err := p.Put(ctx, cfg.Name,
		provider.File{Name: "node.pem", Data: pair.Certificate},
		provider.File{Name: "node-key.pem", Data: pair.Key},
		provider.File{Name: "ca.pem", Data: s.ca.PEM},
	)
	return nodeconfig.TLS{Certificate: path.Join(dir, "node.pem"), Key: path.Join(dir, "node-key.pem"), CA: path.Join(dir, "ca.pem")}, err
}

// clients is how kbench itself connects.
func (s *secrets) clients() (*wire.Identity, error) {
	var id wire.Identity
	if s.protocol.SASL() {
		id.SASL = scram.Auth{User: saslUser, Pass: s.password}.AsSha512Mechanism()
	}
	if s.ca == nil {
		return &id, nil
	}
	id.TLS = s.ca.Trust()
	if !s.protocol.SASL() {
		pair, err := s.ca.Sign(authority.Subject{Name: clientCN})
		if err != nil {
			return nil, err
		}
		own, err := tls.X509KeyPair(pair.Certificate, pair.Key)
		if err != nil {
			return nil, err
		}
		id.TLS.Certificates = []tls.Certificate{own}
	}
	return &id, nil
}

// securityOf says for reports how a cell is secured.
func securityOf(c spec.Cell) string {
	kind := c.Config.Cluster.Security
	protocol := kind.Protocol()
	if protocol == kafka.Plaintext {
		return kind.String() + ", no ACLs"
	}
	text := fmt.Sprintf("%s: nodes and kbench's clients speak %s", kind, protocol)
	if protocol.TLS() {
		text += ", TLS 1.3 with keys of ECDSA P-256"
	}
	if protocol.SASL() {
		text += ", and log in by " + scramMechanism.String()
	} else {
		text += ", and show certificates on both sides"
	}
	text += "; ACLs are enforced, and all of them are super users"
	if c.Target.InZooKeeper() {
		text += "; sessions with ZooKeeper are plain"
	}
	return text
}
