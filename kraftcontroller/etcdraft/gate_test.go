package etcdraft

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"kbench/internal/authority"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raftclient"
)

// lines keeps what nodes log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) has(want string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), want)
}

// signed is how somebody of a name dials.
func signed(t *testing.T, ca *authority.CA, name string) *tls.Config {
	t.Helper()
	pair, err := ca.Sign(authority.Subject{Name: name, Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := ca.Trust()
	cfg.Certificates = []tls.Certificate{own}
	return cfg
}

// TestGate: voters agree behind TLS, an observer follows them, and nobody else
// comes in as a voter.
func TestGate(t *testing.T) {
	ca, err := authority.Unwritten()
	if err != nil {
		t.Fatal(err)
	}
	voter := signed(t, ca, "voter")
	gate := Gate{
		TLS:   &tls.Config{Certificates: voter.Certificates, ClientCAs: voter.RootCAs, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12},
		Admit: func(principal string, from net.Addr) bool { return principal == "User:CN=voter" && from != nil },
	}
	var log lines
	q := newGatedQuorum(t, 3, gate, func(c *raftclient.Config) {
		c.Identity = wire.Identity{TLS: voter}
		c.Logger = slog.New(slog.NewTextHandler(&log, nil)).With("node", c.NodeID)
	})
	q.start(1000)
	q.write("a")
	q.agree([]string{"a"})
	foreign, err := authority.Unwritten()
	if err != nil {
		t.Fatal(err)
	}
	unknown := signed(t, foreign, "voter")
	unknown.RootCAs = voter.RootCAs
	// Asked for certificates of the voters' authority it would show none.
	unknown.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &unknown.Certificates[0], nil }
	for i, c := range []struct {
		who    string
		as     *tls.Config
		reason string
	}{
		{"one without TLS", nil, "the voter speaks without TLS, which this listener wants"},
		{"a client that is no voter", signed(t, ca, "client"), "User:CN=client may not speak as a voter: allow it CLUSTER_ACTION"},
		{"a voter of another authority", unknown, "TLS handshake: tls: failed to verify certificate"},
	} {
		// Of what is refused within a second one line is told.
		await(t, "node to tell of "+c.who, func() bool {
			if err := intrude(q.voters[i].Addr(), c.as, uint32(i+1)%3); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s is let in", c.who)
			}
			return log.has(c.reason)
		})
	}
	q.write("b")
	q.agree([]string{"a", "b"})
}

// intrude speaks as the voter would and gives what ends the connection.
func intrude(addr string, as *tls.Config, voter uint32) error {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := io.WriteString(nc, greeting); err != nil {
		return err
	}
	if as != nil {
		as = as.Clone()
		as.ServerName = "127.0.0.1"
		nc = tls.Client(nc, as)
	}
	hello := append(binary.BigEndian.AppendUint16(nil, 4), "test"...)
	if _, err := nc.Write(binary.BigEndian.AppendUint32(hello, voter)); err != nil {
		return err
	}
	_, err = nc.Read(make([]byte, 1))
	return err
}
