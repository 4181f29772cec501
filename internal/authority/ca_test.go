package authority

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestIssue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	ca, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	b, err := os.ReadFile(ca.File)
	if err != nil || !pool.AppendCertsFromPEM(b) {
		t.Fatalf("%s: %v", ca.File, err)
	}
	for name, c := range map[string]struct {
		subject Subject
		ask     string
		want    string // in the error; "" for none
	}{
		"address":   {Subject{Name: "a", Hosts: []string{"127.0.0.1", "node-1"}}, "127.0.0.1", ""},
		"name":      {Subject{Name: "a", Hosts: []string{"127.0.0.1", "node-1"}}, "node-1", ""},
		"elsewhere": {Subject{Name: "a", Hosts: []string{"127.0.0.1"}}, "127.0.0.2", "valid for"},
		"expired":   {Subject{Name: "a", Hosts: []string{"127.0.0.1"}, Until: time.Now().Add(-time.Hour)}, "127.0.0.1", "expired"},
	} {
		files, err := ca.Issue(name, c.subject)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: c.ask, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if st, err := os.Stat(files.Key); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("the key's file: %v, %v", st.Mode(), err)
		}
	}
}

// An authority in memory signs what its own certificate vouches for.
func TestSign(t *testing.T) {
	ca, err := Unwritten()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Sign(Subject{Name: "kbench"})
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca.PEM) || ca.File != "" {
		t.Fatalf("%q, file %q", ca.PEM, ca.File)
	}
	if _, err := own.Leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
}
