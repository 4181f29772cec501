package node

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// security is how the listeners of the process are secured, and how it shows
// itself to others.
type security struct {
	cfg    nodeconfig.Security
	ranges bool // ACLs may be of ranges of addresses, which Kafka of ZooKeeper mode does not know
	keys   keys
	zkKeys *keys // nil: ZooKeeper is plain
	zk     nodeconfig.ZooKeeperAccess

	mu  sync.Mutex
	own map[access.Mechanism]access.Keys // of the process' own password
}

func newSecurity(c *nodeconfig.Config) (*security, error) {
	s := &security{cfg: c.Security, ranges: c.Mode == nodeconfig.ModeKRaft, zk: c.ZooKeeper.Access, own: map[access.Mechanism]access.Keys{}}
	var errs [2]error
	s.keys, errs[0] = loadKeys("security.tls", c.Security.TLS)
	if t := c.ZooKeeper.TLS; t != nil {
		k, err := loadKeys("zookeeper.tls", *t)
		s.zkKeys, errs[1] = &k, err
	}
	return s, errors.Join(errs[:]...)
}

// protocol is that of a listener by name.
func (s *security) protocol(listener string) kafka.SecurityProtocol {
	return s.cfg.Listeners[listener].SecurityProtocol()
}

// identity is how the process shows itself at others' listener of a name.
func (s *security) identity(listener string) wire.Identity {
	var id wire.Identity
	l := s.cfg.Listeners[listener]
	if l.SecurityProtocol().TLS() {
		id.TLS = s.keys.client()
	}
	if l.SecurityProtocol().SASL() {
		id.SASL = mechanism(l.Mechanisms[0], s.cfg.SASL.Username, s.cfg.SASL.Password)
	}
	return id
}

func mechanism(name, user, password string) sasl.Mechanism {
	switch name {
	case access.ScramSHA256.String():
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case access.ScramSHA512.String():
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism()
}

// secure adds to a server's configuration what its listener asks of clients.
// image gives the credentials and tokens of the moment.
func (s *security) secure(cfg *wire.ServerConfig, image func() *metadata.Image) {
	l := s.cfg.Listeners[cfg.Listener]
	if l.SecurityProtocol().TLS() {
		cfg.TLS = s.keys.server(l.ClientAuth)
	}
	if !l.SecurityProtocol().SASL() {
		return
	}
	cfg.SASL = &wire.SASL{Keys: s.keysOf(image), Token: s.tokenOf(image)}
	for _, name := range l.Mechanisms {
		if m, ok := access.ParseMechanism(name); ok {
			cfg.SASL.Mechanisms = append(cfg.SASL.Mechanisms, m)
		} else {
			cfg.SASL.Plain = s.plain
		}
	}
}

// keysOf finds users' SCRAM keys in the metadata. The process' own name is known
// without them: peers with the same name and password must find each other before
// there is any metadata.
func (s *security) keysOf(image func() *metadata.Image) func(string, access.Mechanism) (access.Keys, bool) {
	return func(user string, m access.Mechanism) (access.Keys, bool) {
		if c, ok := image().Access().Scram(user, m); ok {
			return c.Keys, true
		}
		if user == "" || user != s.cfg.SASL.Username {
			return access.Keys{}, false
		}
		return s.ownKeys(m)
	}
}

// ownKeys derives the keys of the process' own password, once.
func (s *security) ownKeys(m access.Mechanism) (access.Keys, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.own[m]; ok {
		return k, true
	}
	salt := []byte(s.cfg.SASL.Username)
	salted, err := m.SaltPassword(s.cfg.SASL.Password, salt, access.MinIterations)
	if err != nil {
		return access.Keys{}, false
	}
	s.own[m] = m.KeysOf(salted, salt, access.MinIterations)
	return s.own[m], true
}

// tokenOf finds delegation tokens in the metadata; those of a cluster without a
// secret are none.
func (s *security) tokenOf(image func() *metadata.Image) func(string) (wire.Token, bool) {
	if s.cfg.TokenSecret == "" {
		return nil
	}
	return func(id string) (wire.Token, bool) {
		t, ok := image().Access().Token(id)
		if !ok || admin.TokenExpired(t, time.Now().UnixMilli()) {
			return wire.Token{}, false
		}
		secret := base64.StdEncoding.EncodeToString(admin.TokenHMAC(s.cfg.TokenSecret, id))
		return wire.Token{Owner: t.Owner, Secret: secret, Expires: time.UnixMilli(min(t.ExpiresMs, t.MaxMs))}, true
	}
}

// plain checks the passwords that the configuration has.
func (s *security) plain(user, password string) bool {
	want, ok := s.cfg.SASL.Users[user]
	if user == s.cfg.SASL.Username {
		want, ok = s.cfg.SASL.Password, true
	}
	return ok && subtle.ConstantTimeCompare([]byte(want), []byte(password)) == 1
}

// authorizer is nil where everybody may do everything.
func (s *security) authorizer() *access.Config {
	if !s.cfg.Authorizer {
		return nil
	}
	return &access.Config{SuperUsers: s.cfg.SuperUsers, AllowIfNone: s.cfg.AllowIfNoACL, HostRanges: s.ranges}
}

// zookeeper is how the process reaches ZooKeeper: a dialer, nil for plain TCP,
// and who it is there.
func (s *security) zookeeper() (func(network, addr string, timeout time.Duration) (net.Conn, error), zk.Access) {
	as := zk.Access{User: s.zk.Username, Password: s.zk.Password, Digest: s.zk.Scheme == "digest", SetACL: s.zk.SetACL}
	if s.zkKeys == nil {
		return nil, as
	}
	return dialTLS(s.zkKeys.client()), as
}
