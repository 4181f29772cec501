package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"kbench/internal/nodeconfig"
)

// keys are the certificates of one place of the configuration.
type keys struct {
	own *tls.Certificate // nil: none
	ca  *x509.CertPool   // nil: none
}

// loadKeys reads the files that the configuration names at a place of it.
func loadKeys(at string, t nodeconfig.TLS) (keys, error) {
	var k keys
	var errs []error
	if t.Certificate != "" {
		own, err := tls.LoadX509KeyPair(t.Certificate, t.Key)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s.certificate and key: %w; name PEM files of a certificate and its key", at, err))
		}
		k.own = &own
	}
	if t.CA != "" {
		k.ca = x509.NewCertPool()
		b, err := os.ReadFile(t.CA)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s.ca: %w; name a PEM file of the certificates to trust", at, err))
		case !k.ca.AppendCertsFromPEM(b):
			errs = append(errs, fmt.Errorf("%s.ca: %s holds no certificate; name a PEM file of the certificates to trust", at, t.CA))
		}
	}
	return k, errors.Join(errs...)
}

// client is what a node dials with: it trusts the CA alone and shows its own
// certificate to who asks.
func (k keys) client() *tls.Config {
	c := &tls.Config{RootCAs: k.ca, MinVersion: tls.VersionTLS12}
	if k.own != nil {
		c.Certificates = []tls.Certificate{*k.own}
	}
	return c
}

// server is what a listener speaks; auth is ssl.client.auth.
func (k keys) server(auth string) *tls.Config {
	c := &tls.Config{Certificates: []tls.Certificate{*k.own}, ClientCAs: k.ca, MinVersion: tls.VersionTLS12}
	switch auth {
	case "requested":
		c.ClientAuth = tls.VerifyClientCertIfGiven
	case "required":
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c
}

// dialTLS opens connections to ZooKeeper.
func dialTLS(cfg *tls.Config) func(network, addr string, timeout time.Duration) (net.Conn, error) {
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		c, err := tls.DialWithDialer(&net.Dialer{Timeout: timeout}, network, addr, cfg)
		if err != nil {
			return nil, fmt.Errorf("TLS to ZooKeeper at %s: %w", addr, err)
		}
		return c, nil
	}
}
