package harness

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/nodeconfig"
)

// filingProvider keeps the files of nodes.
type filingProvider struct {
	*stubProvider
	dir string
}

func (p filingProvider) Put(_ context.Context, node string, files ...provider.File) (string, error) {
	dir := filepath.Join(p.dir, node)
	err := os.MkdirAll(dir, 0o700)
	for _, f := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600)
		}
	}
	return dir, err
}

// TestSecure: each node of each shape takes what it is given, all trust each
// other, and clients of the same cluster alone are let in.
func TestSecure(t *testing.T) {
	for _, kind := range []spec.Security{spec.SecurityTLS, spec.SecuritySASL, spec.SecuritySASLTLS} {
		for _, shape := range []string{"targets: [zk]", "targets: [kraft]", "targets: [zk]\ncluster: {controllers: colocated}", "targets: [kraft]\ncluster: {controllers: colocated}", "targets: [kraft]\ncluster: {brokersPerNode: 3}", "targets: [zk]\nset: {zk.controlPlaneListener: true}"} {
			t.Run(kind.String()+"/"+shape, func(t *testing.T) {
				s, err := spec.Parse("s.yaml", []byte("name: s\n"+shape+"\nworkloads: [{kind: create-topics}]\n"), spec.Override{Origin: "--set", Path: "security", Value: string(kind)})
				if err != nil {
					t.Fatal(err)
				}
				run := newCellRun(t)
				run.spec, run.provider = s.Cells()[0], filingProvider{&stubProvider{}, t.TempDir()}
				members, err := layout(t.Context(), shapeOf(run.spec, [16]byte{1}), run.provider, []string{"127.0.0.1:2181"})
				if err != nil {
					t.Fatal(err)
				}
				clients, err := run.secure(t.Context(), members)
				if err != nil {
					t.Fatal(err)
				}
				if (clients.TLS != nil) != kind.Protocol().TLS() || (clients.SASL != nil) != kind.Protocol().SASL() {
					t.Errorf("clients have %+v", clients)
				}
				if len(run.out.Notes) != 1 || !strings.Contains(run.out.Notes[0], kind.Protocol().String()) {
					t.Errorf("notes %q", run.out.Notes)
				}
				for _, m := range members {
					m.cfg.DataDir = "data"
					if err := m.cfg.Check(); err != nil {
						t.Errorf("%s: %v", m.cfg.Name, err)
					}
					if m.cfg.Secret() != kind.Protocol().SASL() || !m.cfg.Security.Authorizer {
						t.Errorf("%s: %+v", m.cfg.Name, m.cfg.Security)
					}
					if kind.Protocol().TLS() {
						shake(t, m.cfg.Security.TLS, m.cfg.Security.Listeners, clients.TLS)
					}
				}
			})
		}
	}
}

// shake has a client meet a node with its keys, and one of another cluster fail.
func shake(t *testing.T, keys nodeconfig.TLS, listeners map[string]nodeconfig.Listener, client *tls.Config) {
	t.Helper()
	own, err := tls.LoadX509KeyPair(keys.Certificate, keys.Key)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := newSecrets(spec.SecurityTLS)
	if err != nil {
		t.Fatal(err)
	}
	others, err := stranger.clients()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	server := &tls.Config{Certificates: []tls.Certificate{own}, ClientCAs: client.RootCAs}
	for _, l := range listeners {
		if l.ClientAuth == "required" {
			server.ClientAuth = tls.RequireAndVerifyClientCert
		}
	}
	for who, c := range map[string]struct {
		cfg *tls.Config
		in  bool
	}{"a client": {client, true}, "a client of another cluster": {others.TLS, false}} {
		met := make(chan error, 1)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				err = tls.Server(conn, server).HandshakeContext(t.Context())
				_ = conn.Close()
			}
			met <- err
		}()
		conn, cerr := tls.Dial("tcp", l.Addr().String(), c.cfg)
		serr := <-met
		if cerr == nil {
			_ = conn.Close()
		}
		if (cerr == nil && serr == nil) != c.in {
			t.Errorf("%s: %v, %v", who, cerr, serr)
		}
	}
}

// TestPlaintextHasNoSecrets: nothing is made, and nothing is told.
func TestPlaintextHasNoSecrets(t *testing.T) {
	run := newCellRun(t)
	members := []member{{cfg: nodeconfig.Config{Name: "b", Role: nodeconfig.RoleBroker}}}
	clients, err := run.secure(t.Context(), members)
	if err != nil || clients != nil || len(run.out.Notes) != 0 || members[0].cfg.Security.Listeners != nil {
		t.Errorf("%v, %v, notes %q, %+v", clients, err, run.out.Notes, members[0].cfg.Security)
	}
}
