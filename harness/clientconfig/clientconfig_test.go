package clientconfig

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kbench/internal/authority"
	"kbench/kafka"
)

// files are what the cases name: an authority's certificate, a client's
// certificate with its key, and a file that holds neither.
func files(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	ca, err := authority.Unwritten()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Sign(authority.Subject{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"ca.pem": ca.PEM, "ann.pem": append(pair.Key, pair.Certificate...), "none.pem": []byte("nothing"),
		"locked.pem": []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t *testing.T, dir, text string) (*Client, error) {
	t.Helper()
	path := filepath.Join(dir, "client.properties")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path)
}

const (
	scramLogin = `sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="hush";` + "\n"
	plainLogin = `sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="hush";` + "\n"
	trust      = "ssl.truststore.type=PEM\nssl.truststore.location=DIR/ca.pem\n"
)

func TestLoad(t *testing.T) {
	dir := files(t)
	for name, c := range map[string]struct {
		text      string
		protocol  kafka.SecurityProtocol
		mechanism string // "" for none
		tls       func(*tls.Config) bool
		unused    []string
	}{
		"nothing":        {text: "# nothing\n! at all\n\n"},
		"plaintext":      {text: "security.protocol=PLAINTEXT\nsasl.mechanism=GSSAPI\n", unused: []string{"sasl.mechanism"}},
		"SCRAM-SHA-512":  {text: "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n" + scramLogin, protocol: kafka.SASLPlaintext, mechanism: "SCRAM-SHA-512"},
		"SCRAM-SHA-256":  {text: "security.protocol = sasl_plaintext\nsasl.mechanism : SCRAM-SHA-256\n" + scramLogin, protocol: kafka.SASLPlaintext, mechanism: "SCRAM-SHA-256"},
		"PLAIN over TLS": {text: "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n" + plainLogin + trust, protocol: kafka.SASLSSL, mechanism: "PLAIN", tls: trusts},
		"system's trust": {text: "security.protocol=SSL\n", protocol: kafka.SSL, tls: func(c *tls.Config) bool { return c.RootCAs == nil && !c.InsecureSkipVerify }},
		"certificate": {
			text:     "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=DIR/ann.pem\n" + trust,
			protocol: kafka.SSL, tls: func(c *tls.Config) bool { return trusts(c) && len(c.Certificates) == 1 },
		},
		"any host": {
			text:     "security.protocol=SSL\nssl.endpoint.identification.algorithm=\n" + trust,
			protocol: kafka.SSL, tls: func(c *tls.Config) bool { return c.InsecureSkipVerify && c.VerifyConnection != nil },
		},
		"what is nothing to a connection": {
			text:     "security.protocol=SSL\nssl.enabled.protocols=TLSv1.3\nrequest.timeout.ms=5000\nclient.id=x\n",
			protocol: kafka.SSL, unused: []string{"client.id", "request.timeout.ms", "ssl.enabled.protocols"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := load(t, dir, c.text)
			if err != nil {
				t.Fatal(err)
			}
			mechanism := ""
			if got.Identity.SASL != nil {
				mechanism = got.Identity.SASL.Name()
			}
			if got.Protocol != c.protocol || mechanism != c.mechanism || !slices.Equal(got.Unused, c.unused) {
				t.Errorf("%s by %q, unused %v; want %s by %q, unused %v", got.Protocol, mechanism, got.Unused, c.protocol, c.mechanism, c.unused)
			}
			if (got.Identity.TLS != nil) != c.protocol.TLS() || c.tls != nil && !c.tls(got.Identity.TLS) {
				t.Errorf("TLS: %+v", got.Identity.TLS)
			}
		})
	}
}

func trusts(c *tls.Config) bool { return c.RootCAs != nil && !c.InsecureSkipVerify }

// TestFaults: each names its line and its cure, and none a password.
func TestFaults(t *testing.T) {
	dir := files(t)
	sasl := "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
	for name, c := range map[string]struct{ text, want string }{
		"no such protocol":       {"\nsecurity.protocol=TLS\n", `:2: security.protocol is "TLS"; write PLAINTEXT, SSL`},
		"protocol missing":       {"sasl.mechanism=PLAIN\n" + plainLogin + trust, ": security.protocol is missing, and without it Kafka connects in plaintext; write security.protocol=SASL_SSL"},
		"mechanism missing":      {"security.protocol=SASL_SSL\n" + scramLogin, ": sasl.mechanism is missing, and Kafka's default is GSSAPI"},
		"another mechanism":      {"security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n" + scramLogin, `:2: sasl.mechanism is "OAUTHBEARER", which kbench does not speak; write SCRAM-SHA-512`},
		"no login":               {sasl, ": sasl.jaas.config is missing; write sasl.jaas.config=org.apache"},
		"another module":         {sasl + plainLogin, ":3: sasl.jaas.config names PlainLoginModule, and SCRAM-SHA-512 takes ScramLoginModule"},
		"no user":                {sasl + `sasl.jaas.config=x.ScramLoginModule required password="hush";`, ":3: sasl.jaas.config has no username;"},
		"no password":            {sasl + `sasl.jaas.config=x.ScramLoginModule required username="ann";`, ":3: sasl.jaas.config has no password;"},
		"no semicolon":           {sasl + `sasl.jaas.config=x.ScramLoginModule required username="ann" password="hush"`, ":3: sasl.jaas.config does not end with a semicolon;"},
		"no flag":                {sasl + `sasl.jaas.config=x.ScramLoginModule;`, ":3: sasl.jaas.config has no control flag"},
		"no value":               {sasl + `sasl.jaas.config=x.ScramLoginModule required username="ann" password;`, ":3: sasl.jaas.config has no value for the option after 1 others"},
		"an open quotation":      {sasl + `sasl.jaas.config=x.ScramLoginModule required username="ann" password="hush;`, ":3: sasl.jaas.config has a quotation mark without its other"},
		"a store of Java":        {"security.protocol=SSL\nssl.truststore.location=t.jks\nssl.truststore.password=hush\n", ": ssl.truststore.type is missing, and Kafka's default is JKS, which kbench does not read: it takes PEM; make one by `keytool"},
		"a store of PKCS 12":     {"security.protocol=SSL\nssl.keystore.type=PKCS12\nssl.keystore.location=k.p12\n", `:2: ssl.keystore.type is "PKCS12", and kbench takes PEM; make one by `},
		"a password of PEM":      {"security.protocol=SSL\nssl.truststore.password=hush\n" + trust, ":2: ssl.truststore.password is given, and a store of PEM has no password; take it out"},
		"no such store":          {"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=DIR/no.pem\n", ":3: ssl.truststore.location cannot be read: "},
		"no certificate":         {"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=DIR/none.pem\n", ":3: ssl.truststore.location holds no certificate in PEM"},
		"no key":                 {"security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=DIR/ca.pem\n", ":3: ssl.keystore.location holds no certificate with its key"},
		"two stores":             {"security.protocol=SSL\nssl.truststore.certificates=x\n" + trust, ":4: ssl.truststore.location and ssl.truststore.certificates are both given; keep one"},
		"a locked key":           {"security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=DIR/locked.pem\n", ":3: ssl.keystore.location is of an encrypted key, which kbench does not read; decrypt a copy by `openssl"},
		"a key's password":       {"security.protocol=SSL\nssl.keystore.type=PEM\nssl.key.password=hush\nssl.keystore.location=DIR/ann.pem\n", ":3: ssl.key.password is of an encrypted key"},
		"another check of hosts": {"security.protocol=SSL\nssl.endpoint.identification.algorithm=LDAPS\n", `:2: ssl.endpoint.identification.algorithm is "LDAPS"; write https`},
		"what decides more":      {sasl + scramLogin + "sasl.login.callback.handler.class=x.Y\n", ":4: sasl.login.callback.handler.class is nothing that kbench has; leave it out"},
		"a broken escape":        {"security.protocol=SSL\nx=\\u12\n", `:2: a \u without four hexadecimal digits`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, dir, c.text)
			if err == nil || !strings.Contains(err.Error(), "client.properties"+c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("it tells the password: %v", err)
			}
		})
	}
}

// TestEveryFaultAtOnce: in the order of lines.
func TestEveryFaultAtOnce(t *testing.T) {
	_, err := load(t, t.TempDir(), "security.protocol=SASL_SSL\nssl.truststore.type=JKS\nssl.truststore.location=t.jks\n\n\n\n\n\n\nsasl.mechanism=GSSAPI\n"+scramLogin)
	if err == nil || strings.Count(err.Error(), "\n") != 1 || strings.Index(err.Error(), ":2: ") > strings.Index(err.Error(), ":10: ") {
		t.Errorf("%v", err)
	}
}

func TestNoFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "no.properties"))
	if err == nil || !strings.Contains(err.Error(), "no such file; name a properties file") {
		t.Errorf("%v", err)
	}
	if _, err := Load(t.TempDir()); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory: %v", err)
	}
}

// TestParse compares with what java.util.Properties makes of the same bytes.
func TestParse(t *testing.T) {
	got, err := parse([]byte("a=1\r\n  b : 2 \n c 3\n#x\n!y\nd=one \\\n   two\\\\\ne\\=f=\\u0041\\tb\ng\nh=caf\xe9\na=4"))
	if err != nil {
		t.Fatal(err)
	}
	want := []property{
		{"a", "1", 1},
		{"b", "2 ", 2},
		{"c", "3", 3},
		{"d", `one two\`, 6},
		{"e=f", "A\tb", 8},
		{"g", "", 9},
		{"h", "café", 10},
		{"a", "4", 11},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestParseJAAS(t *testing.T) {
	got, err := parseJAAS(`org.apache.kafka.common.security.scram.ScramLoginModule   required
		username="a\"b\\c" password='; = "' tokenauth=true;`)
	if err != nil {
		t.Fatal(err)
	}
	if got.module != scramModule || got.options["username"] != `a"b\c` || got.options["password"] != `; = "` || got.options["tokenauth"] != "true" {
		t.Errorf("%+v", got)
	}
}

// FuzzLoad: no file panics, and a fault has words.
func FuzzLoad(f *testing.F) {
	f.Add("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n" + scramLogin)
	f.Add("security.protocol=SSL\\\n\\u0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "location") { // no file of others
			return
		}
		all, err := parse([]byte(text))
		if err != nil {
			return
		}
		r := &reader{path: "f", of: map[string]property{}, used: map[string]bool{}}
		for _, p := range all {
			r.of[p.key] = p
			_, _ = parseJAAS(p.value)
		}
		r.client()
		for _, f := range r.faults {
			if f.err.Error() == "" {
				t.Error("a fault without words")
			}
		}
	})
}
