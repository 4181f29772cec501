package wire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kbench/kafka"
	"kbench/kafka/access"
)

// oneUser knows ann with the password pencil.
func oneUser(t testing.TB) *SASL {
	t.Helper()
	keys := map[access.Mechanism]access.Keys{}
	for _, m := range access.Mechanisms() {
		salted, err := m.SaltPassword("pencil", []byte("salt of ann"), access.MinIterations)
		if err != nil {
			t.Fatal(err)
		}
		keys[m] = m.KeysOf(salted, []byte("salt of ann"), access.MinIterations)
	}
	return &SASL{Mechanisms: access.Mechanisms(), Keys: func(user string, m access.Mechanism) (access.Keys, bool) {
		return keys[m], user == "ann"
	}}
}

// whoAmI answers Metadata with the principal as a topic.
func whoAmI(_ context.Context, r *Request) (kmsg.Response, error) {
	resp := kmsg.NewPtrMetadataResponse()
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = kmsg.StringPtr(r.Principal)
	resp.Topics = append(resp.Topics, topic)
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = 1, "127.0.0.1", int32(r.Remote.(*net.TCPAddr).Port)
	resp.Brokers = append(resp.Brokers, b)
	return resp, nil
}

func principalOf(t *testing.T, c *Conn) string {
	t.Helper()
	resp, err := c.Request(testContext(t), metadataRequest(9))
	if err != nil {
		t.Fatal(err)
	}
	return *resp.(*kmsg.MetadataResponse).Topics[0].Topic
}

func TestScram(t *testing.T) {
	addr, _, log := serve(t, ServerConfig{APIs: []API{metadataAPI(whoAmI)}, SASL: oneUser(t)})
	good := scram.Auth{User: "ann", Pass: "pencil"}
	for _, m := range []sasl.Mechanism{good.AsSha256Mechanism(), good.AsSha512Mechanism()} {
		c, err := Dial(testContext(t), addr, DialOptions{SASL: m})
		if err != nil {
			t.Fatalf("%s: %v", m.Name(), err)
		}
		if got := principalOf(t, c); got != "User:ann" {
			t.Errorf("%s: principal %q", m.Name(), got)
		}
		c.Close()
	}
	for name, c := range map[string]struct {
		mechanism sasl.Mechanism
		want      kafka.ErrorCode
	}{
		"wrong password": {scram.Auth{User: "ann", Pass: "pen"}.AsSha256Mechanism(), kafka.SaslAuthenticationFailed},
		"unknown user":   {scram.Auth{User: "bob", Pass: "pencil"}.AsSha256Mechanism(), kafka.SaslAuthenticationFailed},
		"mechanism":      {plain.Auth{User: "ann", Pass: "pencil"}.AsMechanism(), kafka.UnsupportedSaslMechanism},
	} {
		_, err := Dial(testContext(t), addr, DialOptions{SASL: c.mechanism})
		if err == nil || !strings.Contains(err.Error(), c.want.Error()) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	c := dial(t, addr)
	if v, err := c.APIVersions(testContext(t)); err != nil || v[keySaslHandshake] != (VersionRange{0, 1}) {
		t.Errorf("ApiVersions before authentication: %v, %v", v, err)
	}
	if _, err := c.Request(testContext(t), metadataRequest(9)); err == nil {
		t.Error("a client that did not authenticate was served")
	}
	log.await(t, "before it has authenticated")
}

// TestScramByFranzGo has another's client log in.
func TestScramByFranzGo(t *testing.T) {
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(whoAmI)}, SASL: oneUser(t)})
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.SASL(scram.Auth{User: "ann", Pass: "pencil"}.AsSha512Mechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	resp, err := cl.SeedBrokers()[0].Request(testContext(t), metadataRequest(0))
	if err != nil || *resp.(*kmsg.MetadataResponse).Topics[0].Topic != "User:ann" {
		t.Fatalf("got %v, %v", resp, err)
	}
}

// TestAuthenticationOutOfOrder sends what only a broken client sends.
func TestAuthenticationOutOfOrder(t *testing.T) {
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(whoAmI)}, SASL: oneUser(t)})
	token := kmsg.NewPtrSASLAuthenticateRequest()
	token.SASLAuthBytes = []byte("n,,n=ann,r=x")
	resp, err := dial(t, addr).Request(testContext(t), token)
	if err != nil || kafka.ErrorCode(resp.(*kmsg.SASLAuthenticateResponse).ErrorCode) != kafka.IllegalSaslState {
		t.Errorf("a token without a handshake: %v, %v", resp, err)
	}
	c := dial(t, addr)
	hello := kmsg.NewPtrSASLHandshakeRequest()
	hello.Version, hello.Mechanism = 1, "SCRAM-SHA-256"
	if _, err := c.Request(testContext(t), hello); err != nil {
		t.Fatal(err)
	}
	token.SASLAuthBytes = []byte{0xff, 0, 1}
	resp, err = c.Request(testContext(t), token)
	if err != nil || kafka.ErrorCode(resp.(*kmsg.SASLAuthenticateResponse).ErrorCode) != kafka.SaslAuthenticationFailed {
		t.Errorf("a token of rubbish: %v, %v", resp, err)
	}
	awaitTrue(t, "the connection to be closed", func() bool { return c.Err() != nil })
}

// A listener without SASL tells a client that asks for it, and serves it on.
func TestSASLWhereThereIsNone(t *testing.T) {
	addr, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(whoAmI)}})
	c := dial(t, addr)
	hello := kmsg.NewPtrSASLHandshakeRequest()
	hello.Version, hello.Mechanism = 1, "SCRAM-SHA-256"
	resp, err := c.Request(testContext(t), hello)
	if err != nil || kafka.ErrorCode(resp.(*kmsg.SASLHandshakeResponse).ErrorCode) != kafka.IllegalSaslState {
		t.Errorf("a handshake: %v, %v", resp, err)
	}
	resp, err = c.Request(testContext(t), kmsg.NewPtrSASLAuthenticateRequest())
	if err != nil || kafka.ErrorCode(resp.(*kmsg.SASLAuthenticateResponse).ErrorCode) != kafka.IllegalSaslState {
		t.Errorf("a token: %v, %v", resp, err)
	}
	if _, err := c.Request(testContext(t), metadataRequest(12, "t")); err != nil {
		t.Errorf("the client is not served any more: %v", err)
	}
}

// certificate makes one that signs itself or, with a parent, is signed by it.
func certificate(t *testing.T, name string, parent *tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name, Organization: []string{"kbench"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: parent == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signer, signKey := template, any(key)
	if parent != nil {
		signer, signKey = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// serverTLS is a server's, with a certificate that ca signed.
func serverTLS(t *testing.T, ca *tls.Certificate) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: []tls.Certificate{certificate(t, "server", ca)}}
}

// clientTLS trusts an authority of its own.
func clientTLS(t *testing.T) *tls.Config {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(certificate(t, "other", nil).Leaf)
	return &tls.Config{RootCAs: pool}
}

func TestTLS(t *testing.T) {
	ca := certificate(t, "authority", nil)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	server := &tls.Config{
		Certificates: []tls.Certificate{certificate(t, "server", &ca)}, ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven,
	}
	addr, _, log := serve(t, ServerConfig{APIs: []API{metadataAPI(whoAmI)}, TLS: server})
	for name, c := range map[string]struct {
		client *tls.Config
		want   string
	}{
		"without a certificate": {&tls.Config{RootCAs: pool}, access.Anonymous},
		"with one":              {&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate(t, "ann", &ca)}}, "User:CN=ann,O=kbench"},
	} {
		conn, err := Dial(testContext(t), addr, DialOptions{TLS: c.client})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := principalOf(t, conn); got != c.want {
			t.Errorf("%s: principal %q, want %q", name, got, c.want)
		}
		conn.Close()
	}
	if _, err := Dial(testContext(t), addr, DialOptions{TLS: &tls.Config{}}); err == nil {
		t.Error("a client trusts a certificate that nobody vouches for")
	}
	plainConn := dial(t, addr)
	if _, err := plainConn.Request(testContext(t), metadataRequest(9)); err == nil {
		t.Error("a plain client was served on a TLS listener")
	}
	log.await(t, "TLS handshake")

	both, _, _ := serve(t, ServerConfig{APIs: []API{metadataAPI(whoAmI)}, TLS: server, SASL: oneUser(t)})
	conn, err := Dial(testContext(t), both, DialOptions{
		TLS: &tls.Config{RootCAs: pool}, SASL: scram.Auth{User: "ann", Pass: "pencil"}.AsSha256Mechanism(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := principalOf(t, conn); got != "User:ann" {
		t.Errorf("SASL over TLS: principal %q", got)
	}
}
