package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Lifetime is how long certificates are valid: the longest run, and a day for
// clocks that disagree on either side.
const Lifetime = 14 * 24 * time.Hour

// CA is an authority.
type CA struct {
	dir  string // of the files that it writes
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// PEM is the authority's own certificate; its key is never written.
	PEM []byte
	// File holds the same, "" for an authority that writes no files.
	File string
}

// Subject is whom a certificate is for.
type Subject struct {
	Name  string    // common name; User:CN=Name is the principal
	Hosts []string  // addresses and names under which a server is reached
	Until time.Time // end of validity; zero means Lifetime from now
}

// Pair is a certificate and its key, both PEM.
type Pair struct{ Certificate, Key []byte }

// Files are the PEM files of a certificate and its key, which none but their
// owner can read.
type Files struct{ Certificate, Key string }

// Unwritten makes an authority that writes no files.
func Unwritten() (*CA, error) {
	c := &CA{}
	template := c.template(Subject{Name: "kbench"})
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	var err error
	if c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &c.key.PublicKey, c.key)
	if err != nil {
		return nil, err
	}
	c.PEM = encode("CERTIFICATE", der)
	c.cert, err = x509.ParseCertificate(der)
	return c, err
}

// New makes an authority and writes its certificate to dir, which is made where
// it is missing.
func New(dir string) (*CA, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of certificates: %w", err)
	}
	c, err := Unwritten()
	if err != nil {
		return nil, err
	}
	c.dir, c.File = dir, filepath.Join(dir, "ca.pem")
	return c, os.WriteFile(c.File, c.PEM, 0o644)
}

// Sign makes a certificate for a subject, which may serve and be a client.
func (c *CA) Sign(s Subject) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, c.template(s), c.cert, &key.PublicKey, c.key)
	if err != nil {
		return Pair{}, err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Certificate: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", raw)}, nil
}

// Issue signs, and writes NAME.pem and NAME-key.pem to the authority's
// directory.
func (c *CA) Issue(name string, s Subject) (Files, error) {
	f := Files{Certificate: filepath.Join(c.dir, name+".pem"), Key: filepath.Join(c.dir, name+"-key.pem")}
	p, err := c.Sign(s)
	if err != nil {
		return f, err
	}
	if err := os.WriteFile(f.Certificate, p.Certificate, 0o644); err != nil {
		return f, err
	}
	return f, os.WriteFile(f.Key, p.Key, 0o600)
}

// Trust is a client's configuration that trusts this authority alone.
func (c *CA) Trust() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(c.cert)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func (c *CA) template(s Subject) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // rand.Reader does not fail
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: s.Name},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: s.Until,
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if t.NotAfter.IsZero() {
		t.NotAfter = time.Now().Add(Lifetime)
	}
	for _, h := range s.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return t
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
