package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"kbench/internal/authority"
	"kbench/internal/nodeconfig"
	"kbench/kafka/wire"
)

// patience bounds every wait; the machine may be busy.
const patience = 2 * time.Minute

const clusterID = "QaQaQaQaQaQaQaQaQaQaQQ"

// The timers of the tests outlive a moment in which the machine stands still.
var calm = nodeconfig.Timers{
	FetchTimeout: nodeconfig.Duration(6 * time.Second), ElectionTimeout: nodeconfig.Duration(3 * time.Second),
	BrokerSession: nodeconfig.Duration(20 * time.Second), BrokerHeartbeat: nodeconfig.Duration(500 * time.Millisecond),
	ControlledShutdownBackoff: nodeconfig.Duration(500 * time.Millisecond),
}

// rig runs nodes in this process.
type rig struct {
	t    *testing.T
	dir  string
	ca   *authority.CA
	keys nodeconfig.TLS // that all nodes share
	seed string         // a broker's address
	logs map[string]*journal
}

func newRig(t *testing.T) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts clusters")
	}
	dir := t.TempDir()
	ca, err := authority.New(filepath.Join(dir, "tls"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, ca: ca, logs: map[string]*journal{}}
	r.keys = r.issue(ca, "node", "node", time.Time{})
	return r
}

// issue gives a certificate for a name at 127.0.0.1.
func (r *rig) issue(ca *authority.CA, file, name string, until time.Time) nodeconfig.TLS {
	r.t.Helper()
	f, err := ca.Issue(file, authority.Subject{Name: name, Hosts: []string{"127.0.0.1"}, Until: until})
	if err != nil {
		r.t.Fatal(err)
	}
	return nodeconfig.TLS{Certificate: f.Certificate, Key: f.Key, CA: ca.File}
}

func addr(port uint16) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// start runs a node until the test ends or stop is called, which waits for it.
func (r *rig) start(c nodeconfig.Config) (stop func() error) {
	r.t.Helper()
	c.ClusterID, c.DataDir = clusterID, filepath.Join(r.dir, c.Name)
	if err := c.Check(); err != nil {
		r.t.Fatal(err)
	}
	j := &journal{}
	r.logs[c.Name] = j
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, &c, slog.New(slog.NewTextHandler(j, nil))) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			return fmt.Errorf("%s does not end", c.Name)
		}
	})
	r.t.Cleanup(func() {
		_ = stop()
		if r.t.Failed() {
			r.t.Logf("log of %s:\n%s", c.Name, j)
		}
	})
	return stop
}

// journal is the log of a node.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// says waits until one of the nodes has logged a text.
func (r *rig) says(text string) {
	r.t.Helper()
	r.eventually("a log says "+text, func() bool {
		for _, j := range r.logs {
			if strings.Contains(j.String(), text) {
				return true
			}
		}
		return false
	})
}

func (r *rig) eventually(what string, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// trust is a client's TLS: it trusts the rig's authority, and shows a certificate
// where one is named.
func (r *rig) trust(own ...nodeconfig.TLS) *tls.Config {
	r.t.Helper()
	pool := x509.NewCertPool()
	b, err := os.ReadFile(r.ca.File)
	if err != nil || !pool.AppendCertsFromPEM(b) {
		r.t.Fatal(err)
	}
	c := &tls.Config{RootCAs: pool}
	for _, k := range own {
		pair, err := tls.LoadX509KeyPair(k.Certificate, k.Key)
		if err != nil {
			r.t.Fatal(err)
		}
		c.Certificates = append(c.Certificates, pair)
	}
	return c
}

// client is one of franz-go's that logs in.
func (r *rig) client(as sasl.Mechanism) *kadm.Client {
	r.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.seed), kgo.DialTLSConfig(r.trust()), kgo.SASL(as),
		kgo.RetryTimeout(30*time.Second), kgo.RequestTimeoutOverhead(30*time.Second), kgo.DialTimeout(30*time.Second))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}

// dial opens a raw connection that must succeed.
func (r *rig) dial(addr string, id wire.Identity) *wire.Conn {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	c, err := wire.Dial(ctx, addr, wire.DialOptions{}.With(id))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// refused dials in vain and gives why; a hang is a failure.
func (r *rig) refused(addr string, id wire.Identity) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	c, err := wire.Dial(ctx, addr, wire.DialOptions{}.With(id))
	if err == nil {
		_, err = c.APIVersions(ctx) // a client of TLS 1.3 hears then that its certificate is refused
		c.Close()
	}
	if err == nil {
		r.t.Fatal("it was let in")
	}
	if ctx.Err() != nil {
		r.t.Fatalf("it hangs: %v", err)
	}
	return err.Error()
}
