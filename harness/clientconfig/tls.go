package clientconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
)

// tls is what ssl.* says. Without a store the certificates that the system
// trusts are trusted.
func (r *reader) tls() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: r.trusted()}
	if own, ok := r.own(); ok {
		c.Certificates = []tls.Certificate{own}
	}
	const identification = "ssl.endpoint.identification.algorithm"
	switch text := r.get(identification); {
	case !r.has(identification) || text == "https" || text == "HTTPS":
	case text == "":
		c.InsecureSkipVerify = true // of the name alone: the chain is verified here
		c.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s, c.RootCAs) }
	default:
		r.fault(identification, "is %q; write https, or nothing to take any host's certificate", text)
	}
	return c
}

// verifyChain looks whether a certificate is signed by one that is trusted,
// whoever's it is.
func verifyChain(s tls.ConnectionState, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}

// store is one of the two stores of certificates.
type store struct {
	prefix   string // of its settings
	password string // the setting that a store of PEM does not have
	inline   []string
	cure     string // how another type becomes PEM
}

var (
	trustStore = store{
		"ssl.truststore.", "ssl.truststore.password",
		[]string{"ssl.truststore.certificates"},
		"make one by `keytool -exportcert -rfc -keystore STORE -alias NAME -file ca.pem`, and write ssl.truststore.type=PEM",
	}
	keyStore = store{
		"ssl.keystore.", "ssl.keystore.password",
		[]string{"ssl.keystore.certificate.chain", "ssl.keystore.key"},
		"make one by `openssl pkcs12 -in STORE -nodes -out client.pem` of a PKCS #12 store, and write ssl.keystore.type=PEM",
	}
)

// pem gives what a store holds, nil where the file names none or a fault was
// found.
func (r *reader) pem(s store) []byte {
	location, kind := r.get(s.prefix+"location"), r.get(s.prefix+"type")
	var inline []byte
	for _, key := range s.inline {
		if r.has(key) {
			inline = append(append(inline, r.get(key)...), '\n')
		}
	}
	if location == "" && inline == nil {
		r.used[s.password] = true
		return nil
	}
	switch {
	case kind == "":
		r.fault(s.prefix+"type", "is missing, and Kafka's default is JKS, which kbench does not read: it takes PEM; %s", s.cure)
	case kind != "PEM":
		r.fault(s.prefix+"type", "is %q, and kbench takes PEM; %s", kind, s.cure)
	case location != "" && inline != nil:
		r.fault(s.prefix+"location", "and %s are both given; keep one", s.inline[0])
	case r.has(s.password):
		r.fault(s.password, "is given, and a store of PEM has no password; take it out")
	case location == "":
		return inline
	default:
		b, err := os.ReadFile(location)
		if err == nil {
			return b
		}
		r.fault(s.prefix+"location", "cannot be read: %v; name a PEM file", err)
	}
	r.used[s.password] = true
	return nil
}

// trusted is nil for what the system trusts.
func (r *reader) trusted() *x509.CertPool {
	b := r.pem(trustStore)
	if b == nil {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		r.fault(r.held(trustStore), "holds no certificate in PEM; write the certificates to trust, -----BEGIN CERTIFICATE----- and so on")
	}
	return pool
}

// own is the certificate that the client shows, ok false where it has none.
func (r *reader) own() (pair tls.Certificate, ok bool) {
	b := r.pem(keyStore)
	r.used["ssl.key.password"] = true
	switch {
	case b == nil:
		return pair, false
	case r.has("ssl.key.password"), bytes.Contains(b, []byte("ENCRYPTED PRIVATE KEY")):
		key := r.held(keyStore)
		if r.has("ssl.key.password") {
			key = "ssl.key.password"
		}
		r.fault(key, "is of an encrypted key, which kbench does not read; decrypt a copy by `openssl pkcs8 -in key.pem -out plain.pem`")
		return pair, false
	}
	pair, err := tls.X509KeyPair(b, b)
	if err != nil {
		r.fault(r.held(keyStore), "holds no certificate with its key: %v; write both in PEM", err)
		return pair, false
	}
	return pair, true
}

// held is the setting in which a store is.
func (r *reader) held(s store) string {
	if r.has(s.prefix + "location") {
		return s.prefix + "location"
	}
	return s.inline[0]
}
