package interop

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kbench/harness/kafka"
	"kbench/harness/process"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/kafka/access"
)

// broker is the id of a node of a cluster, real or of kbench. All but the
// controllers of a KRaft quorum are brokers.
type broker int32

// recovery bounds every wait for a cluster; the machine may be busy.
const recovery = 3 * time.Minute

// cluster is nodes of both kinds, what drives them and what watches them.
type cluster struct {
	protocol string   // inter.broker.protocol.version of ZooKeeper mode; "" is the newest
	all      []broker // the brokers that live through the stories
	keepers  []broker // those that keep records
	asks     []broker // those that are to say the same
	front    broker   // the one that tools ask where any would do, of kbench if there is one
	granted  string   // what a real broker logs when the controller lets it go
	// registered gives nil where a broker is registered and not fenced, and
	// errAbsent where it is not.
	registered func(ctx context.Context, id broker) error

	inst     kafka.Installation
	binary   string // of kbench
	dir      string
	provider *process.Provider
	nodes    map[broker]provider.Node
	ports    map[broker]uint16
	secure   map[broker]uint16   // of the real brokers' listener with SASL
	dirs     map[broker]string   // of the data of real nodes
	logDirs  map[broker][]string // of real brokers, dirs where they are not named
	logs     []*nodeLog
	faults   faults
	tools    *tools
	held     int // records that topic orders has got
}

// newCluster has no node yet.
func newCluster(t *testing.T, inst kafka.Installation) *cluster {
	t.Helper()
	c := &cluster{
		inst: inst, dir: scratch(t), nodes: map[broker]provider.Node{},
		ports: map[broker]uint16{}, secure: map[broker]uint16{}, dirs: map[broker]string{}, logDirs: map[broker][]string{},
	}
	c.tools = startTools(t, inst) // compiles while the rest starts
	var err error
	if c.binary, err = build(); err != nil {
		t.Fatal(err)
	}
	if c.provider, err = process.New(process.Config{Binary: c.binary, WorkDir: filepath.Join(c.dir, "nodes")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.keepLogs(t)
		if err := c.provider.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// need finds Kafka of a version, and what else a suite wants; it skips with the
// reason where something is missing, unless KBENCH_REQUIRE_KAFKA is set.
func need(t *testing.T, version, suite string, more func(kafka.Installation) error) kafka.Installation {
	t.Helper()
	if os.Getenv("KBENCH_INTEROP") == "" {
		t.Skip("SKIPPED: real Kafka beside kbench: run `make " + suite + "`, or set KBENCH_INTEROP=1")
	}
	if os.Getenv("KBENCH_KAFKA") == "" { // where `make kafka` puts the jars
		root, err := filepath.Abs(filepath.Join("..", "..", "bin", "kafka"))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("KBENCH_KAFKA", root)
	}
	inst, err := kafka.Find(version)
	if err == nil {
		err = more(inst)
	}
	if err == nil {
		if _, missing := os.Stat(filepath.Join(filepath.Dir(resolved(inst.Java)), "javac")); missing != nil {
			err = fmt.Errorf("%s is no JDK, which Kafka's tools are driven by: install openjdk-17-jdk-headless or set JAVA_HOME", inst.Java)
		}
	}
	switch {
	case err == nil:
	case os.Getenv("KBENCH_REQUIRE_KAFKA") != "":
		t.Fatal(err)
	default:
		t.Skip("SKIPPED: ", err)
	}
	return inst
}

func resolved(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// build makes the binary whose nodes are tested.
var build = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(shared, "kbench")
	out, err := exec.Command("go", "build", "-o", binary, "kbench/cmd/kbench").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build kbench: %w: %s", err, out)
	}
	return binary, err
})

// shared is a directory of all tests.
var shared string

// aclsDecide is how the nodes of kbench know users: as the real ones do, which
// refuse requests about ACLs where nothing obeys them.
var aclsDecide = nodeconfig.Security{Authorizer: true, SuperUsers: []string{access.Anonymous}}

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "kbench-interop-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(shared)
	os.Exit(code)
}

// scratch is a directory in memory where there is room: a disk that takes
// seconds for an fsync would end sessions in the midst of a story.
func scratch(t *testing.T) string {
	t.Helper()
	const memory, room = "/dev/shm", 1 << 30
	var st syscall.Statfs_t
	if err := syscall.Statfs(memory, &st); err != nil || st.Bavail*uint64(st.Bsize) < room {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "kbench-interop-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// reserve gives a free port for a listener of a node.
func (c *cluster) reserve(t *testing.T, node string) uint16 {
	t.Helper()
	_, ports, err := c.provider.Reserve(t.Context(), node, 1)
	if err != nil {
		t.Fatal(err)
	}
	return ports[0]
}

// startKafka starts a real node for the first time.
func (c *cluster) startKafka(t *testing.T, id broker, name, heap string, p kafka.Properties) {
	t.Helper()
	dir := filepath.Join(c.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	n, err := kafka.Start(t.Context(), kafka.Config{Installation: c.inst, Dir: dir, Kafka: provider.Kafka{
		Name: name, Version: c.inst.Version, Heap: heap,
		JVM:        append([]string{"-XX:TieredStopAtLevel=1"}, realLogging(t, dir)...),
		Properties: p,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, n) })
	c.nodes[id], c.dirs[id] = n, filepath.Join(dir, "data")
	if c.logDirs[id] == nil {
		c.logDirs[id] = []string{c.dirs[id]}
	}
	c.logs = append(c.logs, newNodeLog(name, filepath.Join(dir, "server.log"), true))
}

// restart starts nodes again and waits until they serve.
func (c *cluster) restart(t *testing.T, ids ...broker) {
	t.Helper()
	for _, id := range ids {
		if err := c.nodes[id].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.awaitServing(t, ids...)
}

// end kills a node that still runs.
func end(t *testing.T, n provider.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if n.Running() {
		_, _ = n.Signal(ctx, provider.Kill)
	}
	if _, _, err := n.Wait(ctx); err != nil {
		t.Error(err)
	}
}

// signal sends a signal to a node and waits for its end.
func (c *cluster) signal(t *testing.T, id broker, s provider.Signal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	if _, err := c.nodes[id].Signal(ctx, s); err != nil {
		t.Fatal(err)
	}
	_, code, err := c.nodes[id].Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if s == provider.Term && code != 0 {
		t.Fatalf("broker %d ended with code %d after SIGTERM", id, code)
	}
}

// addr is where a broker listens.
func (c *cluster) addr(id broker) string {
	return net.JoinHostPort(process.Host, strconv.Itoa(int(c.ports[id])))
}

// judgeLogs fails for every line since the last look that no fault explains.
func (c *cluster) judgeLogs(t *testing.T) {
	t.Helper()
	const most = 20 // lines of one node
	for _, l := range c.logs {
		bad, err := l.bad(&c.faults)
		if err != nil {
			t.Error(err)
		}
		for i, line := range bad {
			if i == most {
				t.Errorf("… and %d more", len(bad)-most)
				break
			}
			t.Error(line)
		}
	}
}

// keepLogs copies the logs to the directory that KBENCH_INTEROP_LOGS names.
func (c *cluster) keepLogs(t *testing.T) {
	to := os.Getenv("KBENCH_INTEROP_LOGS")
	if to == "" {
		return
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	to = filepath.Join(to, test)
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Error(err)
	}
	for _, l := range c.logs {
		b, err := os.ReadFile(l.file)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, l.node+".log"), b, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
