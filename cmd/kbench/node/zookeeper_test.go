package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"kbench/harness/zookeeper"
	"kbench/internal/heldport/heldtest"
	"kbench/internal/nodeconfig"
	"kbench/zkcontroller/zk"
)

// ensemble is one real ZooKeeper with a plain and a TLS port, which knows the
// user kafka by SASL and clients by certificates.
type ensemble struct {
	r             *rig
	plain, secure string
	args          []string
	cmd           *exec.Cmd
}

// startEnsemble skips with the reason where something is missing.
func (r *rig) startEnsemble() *ensemble {
	r.t.Helper()
	inst, err := zookeeper.Find()
	netty, _ := filepath.Glob(filepath.Join(zookeeper.DebianJars, "netty-*.jar"))
	if err == nil && os.Getenv("ZOOKEEPER_HOME") == "" && len(netty) == 0 {
		err = errors.New("no jars of Netty, which ZooKeeper serves TLS by: apt-get install libnetty-java")
	}
	switch {
	case err == nil:
	case os.Getenv("KBENCH_REQUIRE_ZOOKEEPER") != "":
		r.t.Fatal(err)
	default:
		r.t.Skip("SKIPPED: a secured ZooKeeper: ", err)
	}
	p := heldtest.Ports(r.t, 2)
	e := &ensemble{r: r, plain: addr(p[0]), secure: addr(p[1])}
	keys := r.issue(r.ca, "zookeeper", "zookeeper", time.Time{})
	dir := filepath.Join(r.dir, "zookeeper")
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			r.t.Fatal(err)
		}
		return file
	}
	read := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			r.t.Fatal(err)
		}
		return string(b)
	}
	both := write("both.pem", read(keys.Key)+read(keys.Certificate))
	jaas := write("jaas.conf", "Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required user_kafka=\"zk-secret\";\n};\n")
	conf := write("zoo.cfg", fmt.Sprintf(`tickTime=1000
dataDir=%s
clientPort=%d
secureClientPort=%d
clientPortAddress=127.0.0.1
secureClientPortAddress=127.0.0.1
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
ssl.keyStore.location=%s
ssl.keyStore.type=PEM
ssl.trustStore.location=%s
ssl.trustStore.type=PEM
ssl.clientAuth=want
admin.enableServer=false
4lw.commands.whitelist=srvr
`, dir, p[0], p[1], both, r.ca.File))
	e.args = []string{
		"-XX:TieredStopAtLevel=1", "-Djava.security.auth.login.config=" + jaas,
		"-cp", strings.Join(append(slices.Clone(inst.ClassPath), netty...), ":"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", conf,
	}
	e.start(inst.Java)
	return e
}

func (e *ensemble) start(java string) {
	e.r.t.Helper()
	var log bytes.Buffer
	e.cmd = exec.Command(java, e.args...)
	e.cmd.Stdout, e.cmd.Stderr = &log, &log
	if err := e.cmd.Start(); err != nil {
		e.r.t.Fatal(err)
	}
	cmd := e.cmd
	e.r.t.Cleanup(func() {
		e.kill(cmd)
		if e.r.t.Failed() {
			e.r.t.Logf("log of ZooKeeper:\n%s", log.String())
		}
	})
	e.r.eventually("ZooKeeper serves", func() bool {
		_, err := zookeeper.Ask(e.r.t.Context(), e.plain)
		return err == nil
	})
}

func (e *ensemble) kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// session opens one that must or must not come about.
func (e *ensemble) session(server string, as zk.Access, dial func(string, string, time.Duration) (net.Conn, error)) (*zk.Session, error) {
	ctx, cancel := context.WithTimeout(e.r.t.Context(), patience)
	defer cancel()
	s, err := zk.Connect(ctx, zk.Config{Servers: []string{server}, SessionTimeout: 15 * time.Second, ConnectTimeout: 5 * time.Second, Access: as, Dial: dial})
	if err == nil {
		e.r.t.Cleanup(func() { _ = s.Close(context.Background()) })
	}
	return s, err
}

// TestRealZooKeeper: sessions log in by each scheme, over TLS and without, and
// their znodes are their own, as Kafka's are.
func TestRealZooKeeper(t *testing.T) {
	r := newRig(t)
	e := r.startEnsemble()
	withCert := dialTLS(r.trust(r.keys))
	stranger, _, err := gozk.Connect([]string{e.plain}, 15*time.Second, gozk.WithLogInfo(false), gozk.WithLogger(silence{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stranger.Close)
	for _, c := range []struct {
		what, server string
		as           zk.Access
		dial         func(string, string, time.Duration) (net.Conn, error)
		owner        gozk.ACL
	}{
		{"digest", e.plain, zk.Access{User: "kafka", Password: "any", Digest: true}, nil, gozk.DigestACL(gozk.PermAll, "kafka", "any")[0]},
		{"SASL", e.plain, zk.Access{User: "kafka", Password: "zk-secret"}, nil, gozk.ACL{Perms: gozk.PermAll, Scheme: "sasl", ID: "kafka"}},
		{"certificate", e.secure, zk.Access{}, withCert, gozk.ACL{Perms: gozk.PermAll, Scheme: "x509", ID: "CN=node"}},
		{"SASL over TLS", e.secure, zk.Access{User: "kafka", Password: "zk-secret"}, dialTLS(r.trust()), gozk.ACL{Perms: gozk.PermAll, Scheme: "sasl", ID: "kafka"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			e.r = r.in(t)
			c.as.SetACL = true
			s, err := e.session(c.server, c.as, c.dial)
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if err := errors.Join(s.EnsurePersistentPaths(ctx), s.EnsureAccessPaths(ctx)); err != nil {
				t.Fatal(err)
			}
			look(t, stranger, "/brokers/ids", c.owner, gozk.WorldACL(gozk.PermRead)[0])
			look(t, stranger, "/consumers", gozk.WorldACL(gozk.PermAll)[0])
			if _, err := stranger.Create("/brokers/ids/7", nil, 0, gozk.WorldACL(gozk.PermAll)); !errors.Is(err, gozk.ErrNoAuth) {
				t.Errorf("a stranger makes a znode: %v", err)
			}
			for _, secret := range []string{"/config/users", "/config/brokers", "/delegation_token/tokens"} {
				if _, _, err := stranger.Children(secret); !errors.Is(err, gozk.ErrNoAuth) {
					t.Errorf("a stranger looks at %s: %v", secret, err)
				}
			}
			clear(t, s, "/")
		})
	}
	e.r = r
	if _, err := e.session(e.plain, zk.Access{User: "kafka", Password: "guess"}, nil); !errors.Is(err, zk.ErrAuthFailed) {
		t.Errorf("a wrong password by SASL: %v", err)
	}
	if _, err := e.session(e.secure, zk.Access{}, dialTLS(&tls.Config{})); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a server that nobody vouches for: %v", err)
	}
}

// TestLoginOutlivesTheServer: a session that goes on at a new server has logged in
// there before its watches and writes count on it.
func TestLoginOutlivesTheServer(t *testing.T) {
	r := newRig(t)
	e := r.startEnsemble()
	s, err := e.session(e.plain, zk.Access{User: "kafka", Password: "zk-secret", SetACL: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnsurePersistentPaths(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.WatchChildren("/config/users")
	if res := s.Do(t.Context(), zk.Children("/config/users")); res.Err != nil {
		t.Fatal(res.Err)
	}
	e.kill(e.cmd)
	e.start(e.cmd.Path)
	if res := s.Do(t.Context(), zk.Create("/config/users/ann", []byte("x"))); res.Err != nil {
		t.Errorf("a write after the restart: %v", res.Err)
	}
}

// TestNodesOverSecuredZooKeeper starts a candidate that reaches a real ZooKeeper
// by SASL over TLS and keeps its znodes for itself.
func TestNodesOverSecuredZooKeeper(t *testing.T) {
	r := newRig(t)
	e := r.startEnsemble()
	p := heldtest.Port(t)
	keys := r.keys
	config := nodeconfig.Config{
		Name: "n", Role: nodeconfig.RoleBroker, Mode: nodeconfig.ModeZK, Timers: calm, Security: r.everywhere(saslSSL, nil),
		Brokers: []nodeconfig.Broker{{ID: 1, Host: "127.0.0.1", Port: p, Candidate: true}},
		ZooKeeper: nodeconfig.ZooKeeper{
			Servers: []string{e.secure}, SessionTimeout: nodeconfig.Duration(15 * time.Second), TLS: &keys,
			Access: nodeconfig.ZooKeeperAccess{Scheme: "sasl", Username: "kafka", Password: "zk-secret", SetACL: true},
		},
	}
	r.start(config)
	r.seed = addr(p)
	r.eventually("the broker is there", func() bool { return r.brokersSeen() == 1 })
	resp, err := r.client(scramUser("admin")).CreateTopic(t.Context(), 1, 1, nil, "orders")
	if err != nil || resp.Err != nil {
		t.Fatalf("%v, %v", resp, err)
	}
	stranger, _, err := gozk.Connect([]string{e.plain}, 15*time.Second, gozk.WithLogInfo(false), gozk.WithLogger(silence{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stranger.Close)
	owner := gozk.ACL{Perms: gozk.PermAll, Scheme: "sasl", ID: "kafka"}
	for _, path := range []string{"/controller", "/controller_epoch", "/brokers/ids/1", "/brokers/topics/orders"} {
		look(t, stranger, path, owner, gozk.WorldACL(gozk.PermRead)[0])
	}
	config.Name, config.ZooKeeper.Access.Password = "wrong", "guess"
	config.Brokers = []nodeconfig.Broker{{ID: 2, Host: "127.0.0.1", Port: heldtest.Port(t)}}
	config.ClusterID, config.DataDir = clusterID, filepath.Join(r.dir, "wrong")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := Run(ctx, &config, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "ZooKeeper refuses the login") {
		t.Errorf("a wrong password: %v", err)
	}
}

// look compares the access list of a znode. Who is in it beside the owner twice
// is no matter: a connection may have two identities.
func look(t *testing.T, c *gozk.Conn, path string, want ...gozk.ACL) {
	t.Helper()
	got, _, err := c.GetACL(path)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	for _, w := range want {
		if w.Scheme == "digest" { // its hash is hidden from a stranger
			w.ID = strings.SplitN(w.ID, ":", 2)[0] + ":x"
		}
		if !slices.Contains(got, w) {
			t.Errorf("%s has %v, want %v", path, got, w)
		}
	}
}

// clear removes every znode but ZooKeeper's own.
func clear(t *testing.T, s *zk.Session, path string) {
	t.Helper()
	list := s.Do(t.Context(), zk.Children(path))
	if list.Err != nil {
		t.Fatal(list.Err)
	}
	for _, name := range list.Children {
		if child := strings.TrimSuffix(path, "/") + "/" + name; child != "/zookeeper" {
			clear(t, s, child)
			if res := s.Do(t.Context(), zk.Delete(child, zk.AnyVersion)); res.Err != nil {
				t.Fatal(res.Err)
			}
		}
	}
}

type silence struct{}

func (silence) Printf(string, ...any) {}
