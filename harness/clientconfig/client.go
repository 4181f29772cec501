package clientconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// Client is how a file says that a client connects.
type Client struct {
	Protocol kafka.SecurityProtocol
	Identity wire.Identity
	// Unused are the settings of the file that are nothing to a connection or not
	// to one of this protocol, sorted.
	Unused []string
}

// String says it for reports: SASL_SSL by SCRAM-SHA-512.
func (c *Client) String() string {
	if c.Identity.SASL == nil {
		return c.Protocol.String()
	}
	return c.Protocol.String() + " by " + c.Identity.SASL.Name()
}

// maxBytes bounds a file: more is surely another one.
const maxBytes = 1 << 20

// Load reads a file. The error names every fault, a line each: FILE:LINE,
// setting, what is wrong; the cure.
func Load(path string) (*Client, error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file; name a properties file as Kafka's tools take it by --command-config", path)
	case err != nil:
		return nil, fmt.Errorf("%w; name a properties file as Kafka's tools take it by --command-config", err)
	case len(b) > maxBytes:
		return nil, fmt.Errorf("%s: the file has more than %d bytes; name a properties file as Kafka's tools take it by --command-config", path, maxBytes)
	}
	all, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	r := &reader{path: path, of: map[string]property{}, used: map[string]bool{}}
	for _, p := range all {
		r.of[p.key] = p
	}
	c := r.client()
	return c, r.err()
}

// reader takes settings out of a file and gathers what is wrong with them.
type reader struct {
	path   string
	of     map[string]property
	used   map[string]bool
	faults []fault
}

// fault is what is wrong, at a line, 0 for the file as a whole.
type fault struct {
	line int
	err  error
}

// err is nil where nothing is wrong.
func (r *reader) err() error {
	slices.SortStableFunc(r.faults, func(a, b fault) int { return a.line - b.line })
	var errs []error
	for _, f := range r.faults {
		errs = append(errs, f.err)
	}
	return errors.Join(errs...)
}

// get gives the value of a setting, "" where the file has none.
func (r *reader) get(key string) string {
	r.used[key] = true
	return r.of[key].value
}

func (r *reader) has(key string) bool {
	_, ok := r.of[key]
	return ok
}

// fault tells what is wrong with a setting, at its line where it has one.
func (r *reader) fault(key, format string, args ...any) {
	at, p := r.path, r.of[key]
	if p.line > 0 {
		at = fmt.Sprintf("%s:%d", r.path, p.line)
	}
	r.faults = append(r.faults, fault{p.line, fmt.Errorf("%s: %s %s", at, key, fmt.Sprintf(format, args...))})
}

func (r *reader) client() *Client {
	c := &Client{}
	text := r.get("security.protocol")
	var ok bool
	switch c.Protocol, ok = kafka.ParseSecurityProtocol(strings.ToUpper(text)); {
	case text == "":
		r.protocolMissing()
	case !ok:
		r.fault("security.protocol", "is %q; write PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", text)
		return c
	}
	if c.Protocol.TLS() {
		c.Identity.TLS = r.tls()
	}
	if c.Protocol.SASL() {
		c.Identity.SASL = r.sasl()
	}
	for key := range r.of {
		if r.used[key] {
			continue
		}
		if c.Protocol.TLS() && strings.HasPrefix(key, "ssl.") && !slices.Contains(negotiated, key) || c.Protocol.SASL() && strings.HasPrefix(key, "sasl.") {
			r.fault(key, "is nothing that kbench has; leave it out of the file that kbench reads")
			continue
		}
		c.Unused = append(c.Unused, key)
	}
	slices.Sort(c.Unused)
	return c
}

// negotiated are settings of what both sides agree on by themselves.
var negotiated = []string{"ssl.protocol", "ssl.enabled.protocols", "ssl.cipher.suites"}

// protocolMissing judges a file without security.protocol: Kafka takes it for
// PLAINTEXT, and then nothing that it says of TLS and SASL has a meaning.
func (r *reader) protocolMissing() {
	tls, sasl := false, false
	for key := range r.of {
		tls = tls || strings.HasPrefix(key, "ssl.")
		sasl = sasl || strings.HasPrefix(key, "sasl.")
	}
	meant := map[[2]bool]string{{true, false}: "SSL", {false, true}: "SASL_PLAINTEXT or SASL_SSL", {true, true}: "SASL_SSL"}[[2]bool{tls, sasl}]
	if meant != "" {
		r.fault("security.protocol", "is missing, and without it Kafka connects in plaintext; write security.protocol=%s", meant)
	}
}
