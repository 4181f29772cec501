package nodeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// secured is a broker of mode zk whose listeners all want TLS and SASL.
func secured() *Config {
	return &Config{
		Name: "b", Role: RoleBroker, Mode: ModeZK, DataDir: "d",
		Brokers:   []Broker{{ID: 1, Host: "127.0.0.1", Port: 9092, Listeners: []BrokerEndpoint{{"CONTROL", 9093}}}},
		ZooKeeper: ZooKeeper{Servers: []string{"127.0.0.1:2181"}, SessionTimeout: Duration(time.Second), Access: ZooKeeperAccess{Scheme: "sasl", Username: "kafka", Password: "x", SetACL: true}},
		Security: Security{
			InterBroker: "SASL_SSL", ControlPlane: "CONTROL",
			Listeners: map[string]Listener{
				"SASL_SSL": {Protocol: "SASL_SSL", Mechanisms: []string{"SCRAM-SHA-512", "PLAIN"}},
				"CONTROL":  {Protocol: "SSL", ClientAuth: "required"},
			},
			TLS: TLS{"c.pem", "k.pem", "ca.pem"}, SASL: SASL{Username: "admin", Password: "secret"},
			Authorizer: true, SuperUsers: []string{"User:admin"},
		},
	}
}

func TestSecurityFaults(t *testing.T) {
	if err := secured().Check(); err != nil {
		t.Fatal(err)
	}
	listener := func(name string, l Listener) func(*Config) {
		return func(c *Config) { c.Security.Listeners[name] = l }
	}
	for want, spoil := range map[string]func(*Config){
		"security.listeners.OTHER: the process has no such listener; it has SASL_SSL, CONTROL": listener("OTHER", Listener{Protocol: "SSL"}),
		`security.listeners.CONTROL.protocol is "TLS": use PLAINTEXT, SSL`:                     listener("CONTROL", Listener{Protocol: "TLS"}),
		"security.listeners.SASL_SSL.mechanisms is empty":                                      listener("SASL_SSL", Listener{Protocol: "SASL_SSL"}),
		`security.listeners.SASL_SSL.mechanisms holds "GSSAPI": use SCRAM-SHA-256`:             listener("SASL_SSL", Listener{Protocol: "SASL_SSL", Mechanisms: []string{"GSSAPI"}}),
		"security.listeners.CONTROL.mechanisms: SSL has no SASL":                               listener("CONTROL", Listener{Protocol: "SSL", Mechanisms: []string{"PLAIN"}}),
		`security.listeners.CONTROL.clientAuth is "need": use none, requested or required`:     listener("CONTROL", Listener{Protocol: "SSL", ClientAuth: "need"}),
		"security.listeners.CONTROL.clientAuth: PLAINTEXT has no TLS":                          listener("CONTROL", Listener{Protocol: "PLAINTEXT", ClientAuth: "required"}),
		"security.tls: certificate and key belong together":                                    func(c *Config) { c.Security.TLS.Key = "" },
		"security.tls.certificate is empty: CONTROL needs":                                     func(c *Config) { c.Security.TLS = TLS{CA: "ca.pem"} },
		"security.tls.ca is empty":                                                             func(c *Config) { c.Security.TLS.CA = "" },
		"security.sasl: username and password belong together":                                 func(c *Config) { c.Security.SASL.Password = "" },
		"security.sasl.username is empty: SASL_SSL wants a name from nodes too":                func(c *Config) { c.Security.SASL = SASL{} },
		"mean nothing without security.authorizer":                                             func(c *Config) { c.Security.Authorizer = false },
		`security.superUsers[0] is "admin": write type:name`:                                   func(c *Config) { c.Security.SuperUsers = []string{"admin"} },
		"security.controlPlane is the listener between brokers":                                func(c *Config) { c.Security.ControlPlane = "SASL_SSL" },
		"security.controlPlane is CONTROL, which brokers[0].listeners does not have":           func(c *Config) { c.Brokers[0].Listeners = nil; delete(c.Security.Listeners, "CONTROL") },
		`brokers[0].listeners[0].name is "SASL_SSL": give a name`:                              func(c *Config) { c.Brokers[0].Listeners[0].Name = "SASL_SSL" },
		"brokers[0].listeners[0].port is 0":                                                    func(c *Config) { c.Brokers[0].Listeners[0].Port = 0 },
		`zookeeper.access.scheme is "kerberos": use sasl or digest`:                            func(c *Config) { c.ZooKeeper.Access.Scheme = "kerberos" },
		"zookeeper.access: scheme sasl needs username and password":                            func(c *Config) { c.ZooKeeper.Access.Password = "" },
		"zookeeper.access.setAcl: ZooKeeper must know whose the znodes are":                    func(c *Config) { c.ZooKeeper.Access = ZooKeeperAccess{SetACL: true} },
		"zookeeper.tls.ca is empty":                                                            func(c *Config) { c.ZooKeeper.TLS = &TLS{} },
		"tuning.leaderImbalanceInterval and leaderImbalancePercent mean nothing":               func(c *Config) { c.Tuning.LeaderImbalancePercent = 5 },
		"tuning.leaderImbalancePercent is 101: use 0 to 100":                                   func(c *Config) { c.Tuning.AutoLeaderRebalance, c.Tuning.LeaderImbalancePercent = true, 101 },
	} {
		c := secured()
		spoil(c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, have %v", want, err)
		}
	}
}

// TestSecretsAreTheOwnersAlone: a file with passwords is not for everybody.
func TestSecretsAreTheOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	if err := secured().Write(path); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if _, err := Load(path); err != nil {
		t.Error(err)
	}
}

// TestDocumentedFile loads the file that the documentation shows.
func TestDocumentedFile(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```json\n")
	text, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("docs/security.md shows no file")
	}
	path := filepath.Join(t.TempDir(), "n.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err != nil {
		t.Error(err)
	}
}

// Voters that push know each other by certificates, or do not ask.
func TestSecuredPush(t *testing.T) {
	for _, c := range []struct {
		listener Listener
		ok       bool
	}{
		{Listener{}, true},
		{Listener{Protocol: "SSL", ClientAuth: "required"}, true},
		{Listener{Protocol: "SSL", ClientAuth: "requested"}, false},
		{Listener{Protocol: "SASL_PLAINTEXT", Mechanisms: []string{"PLAIN"}}, false},
		{Listener{Protocol: "SASL_SSL", ClientAuth: "required", Mechanisms: []string{"PLAIN"}}, false},
	} {
		cfg := Config{
			Name: "c", Role: RoleController, Mode: ModeKRaft, DataDir: "d", ClusterID: "QaQaQaQaQaQaQaQaQaQaQQ",
			Quorum: Quorum{NodeID: 1, Voters: []Voter{{ID: 1, Host: "h", Port: 9093}}}, Tuning: Tuning{RaftPush: true},
			Security: Security{
				Listeners: map[string]Listener{ControllerListener: c.listener},
				TLS:       TLS{Certificate: "c.pem", Key: "k.pem", CA: "ca.pem"}, SASL: SASL{Username: "u", Password: "p"},
			},
		}
		if c.listener.Protocol == "" {
			cfg.Security.Listeners = nil
		}
		err := cfg.Check()
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "its voters know each other by certificates and have no passwords; use protocol SSL") {
			t.Errorf("%+v: %v", c.listener, err)
		}
	}
}
