package interop

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kbench/harness/kafka"
	"kbench/harness/process"
	"kbench/harness/provider"
	"kbench/harness/zookeeper"
	"kbench/internal/nodeconfig"
	vocabulary "kbench/kafka"
)

// broker is the id of a broker, real or of kbench.
type broker int32

// The brokers of a cluster: real ones, metadata-plane brokers of kbench, and
// candidates of kbench that host no replicas.
const (
	real1, real2, real3    broker = 1, 2, 3
	plane1, plane2, plane3 broker = 11, 12, 13
	first, second          broker = 1001, 1002
)

var (
	realBrokers  = []broker{real1, real2, real3}
	planeBrokers = []broker{plane1, plane2, plane3}
	candidates   = []broker{first, second}
)

const (
	version = "3.9.2" // of the real brokers
	// The session of the real brokers is long, so that a gate that is shut for a
	// while does not end it. That of kbench's nodes is shorter, so that a killed
	// controller is missed before, and outlives a moment in which the machine
	// stands still.
	tick        = time.Second
	realSession = 20 * time.Second
	ourSession  = 6 * time.Second
	// recovery bounds every wait for the cluster; the machine may be busy.
	recovery = 2 * time.Minute
)

// rig is a cluster and what watches it.
type rig struct {
	protocol string   // inter.broker.protocol.version; "" is the newest
	asks     []broker // that are to say the same

	provider   *process.Provider
	store      provider.Ensemble
	gate       *gate
	znodes     *zk.Conn
	nodes      map[broker]provider.Node
	ports      map[broker]uint16
	secure     map[broker]uint16 // of the real brokers' listener with SASL
	dirs       map[broker]string // of the real brokers
	logs       []*nodeLog
	ordersHold int // records that orders has got
	faults     faults
	tools      *tools
	inst       kafka.Installation
	dir        string
}

// need skips with the reason where something is missing, unless
// KBENCH_REQUIRE_KAFKA is set.
func need(t *testing.T) kafka.Installation {
	t.Helper()
	if os.Getenv("KBENCH_INTEROP") == "" {
		t.Skip("SKIPPED: real brokers under kbench's controller: run `make interop-zk`, or set KBENCH_INTEROP=1")
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
		_, err = zookeeper.Find()
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

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "kbench-interop-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if jvm != nil {
		jvm.close()
	}
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

// newRig starts ZooKeeper and the candidates; the first one holds /controller.
func newRig(t *testing.T, protocol string) *rig {
	t.Helper()
	inst := need(t)
	dir := scratch(t)
	r := &rig{
		protocol: protocol, inst: inst, dir: dir, nodes: map[broker]provider.Node{},
		ports: map[broker]uint16{}, secure: map[broker]uint16{}, dirs: map[broker]string{},
	}
	r.tools = startTools(t, inst) // compiles while the rest starts
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	if r.provider, err = process.New(process.Config{Binary: binary, WorkDir: filepath.Join(dir, "nodes")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.keepLogs(t)
		if err := r.provider.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if r.store, err = r.provider.ZooKeeper(t.Context(), 1, tick); err != nil {
		t.Fatal(err)
	}
	if r.znodes, _, err = zk.Connect(r.store.Servers(), realSession, zk.WithLogger(silent{})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.znodes.Close)
	r.gate = newGate(t, r.store.Servers()[0])
	r.startOurs(t, first)
	r.awaitController(t, first)
	r.startOurs(t, second)
	r.awaitServing(t, second)
	return r
}

// newRealRig is a cluster of real brokers.
func newRealRig(t *testing.T, protocol string) *rig {
	t.Helper()
	began := time.Now()
	r := newRig(t, protocol)
	for _, id := range realBrokers {
		r.startReal(t, id)
	}
	r.awaitServing(t, realBrokers...)
	r.asks = []broker{real1, real3, first}
	r.judgeLogs(t)
	t.Logf("the cluster is up after %v", time.Since(began).Round(time.Millisecond))
	return r
}

// reserve gives a free port for a listener of a node.
func (r *rig) reserve(t *testing.T, node string) uint16 {
	t.Helper()
	_, ports, err := r.provider.Reserve(t.Context(), node, 1)
	if err != nil {
		t.Fatal(err)
	}
	return ports[0]
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// startOurs starts a node of kbench for the first time.
func (r *rig) startOurs(t *testing.T, id broker) {
	t.Helper()
	var dedicated []vocabulary.BrokerID
	for _, c := range candidates {
		dedicated = append(dedicated, vocabulary.BrokerID(c))
	}
	name := fmt.Sprintf("ours-%d", id)
	r.ports[id] = r.reserve(t, name)
	n, err := r.provider.Launch(t.Context(), nodeconfig.Config{
		Name: name, Role: nodeconfig.RoleBroker, Mode: nodeconfig.ModeZK,
		ClusterID: vocabulary.UUID{1: 1, 15: 7}.String(),
		Brokers: []nodeconfig.Broker{{
			ID: vocabulary.BrokerID(id), Host: process.Host, Port: r.ports[id], Candidate: slices.Contains(candidates, id),
		}},
		ZooKeeper: nodeconfig.ZooKeeper{
			Servers: r.store.Servers(), SessionTimeout: nodeconfig.Duration(ourSession), Dedicated: dedicated,
		},
		Tuning: nodeconfig.Tuning{ZKProtocol: r.protocol},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.nodes[id] = n
	r.logs = append(r.logs, newNodeLog(name, filepath.Join(r.dir, "nodes", name, "node.log"), false))
}

// startReal starts a real broker for the first time.
func (r *rig) startReal(t *testing.T, id broker) {
	t.Helper()
	name := fmt.Sprintf("real-%d", id)
	r.ports[id], r.secure[id] = r.reserve(t, name), r.reserve(t, name)
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "interop.log4j.properties")
	if err := os.WriteFile(conf, []byte(realLog), 0o644); err != nil {
		t.Fatal(err)
	}
	n, err := kafka.Start(t.Context(), kafka.Config{Installation: r.inst, Dir: dir, Kafka: provider.Kafka{
		Name: name, Version: version, Heap: "300m",
		JVM:        []string{"-XX:TieredStopAtLevel=1", "-Dlog4j.configuration=file:" + conf},
		Properties: r.properties(id),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, n) })
	r.nodes[id], r.dirs[id] = n, filepath.Join(dir, "data")
	r.logs = append(r.logs, newNodeLog(name, filepath.Join(dir, "server.log"), true))
}

// properties are those of a real broker. Its second listener is for clients
// alone, with SASL.
func (r *rig) properties(id broker) kafka.Properties {
	candidate := kafka.Candidate{
		ID: int32(id), Host: process.Host, Port: r.ports[id], Servers: []string{r.gate.addr()}, SessionTimeout: realSession,
	}
	p := candidate.Properties().With(kafka.Properties{
		{Key: "listeners", Value: fmt.Sprintf("%s://%s,SASL://%s:%d", kafka.Listener, r.addr(id), process.Host, r.secure[id])},
		{Key: "listener.security.protocol.map", Value: kafka.Listener + ":PLAINTEXT,SASL:SASL_PLAINTEXT"},
		{Key: "sasl.enabled.mechanisms", Value: "SCRAM-SHA-256"},
		{Key: "listener.name.sasl.scram-sha-256.sasl.jaas.config", Value: "org.apache.kafka.common.security.scram.ScramLoginModule required;"},
		{Key: "authorizer.class.name", Value: "kafka.security.authorizer.AclAuthorizer"},
		{Key: "super.users", Value: "User:ANONYMOUS"},
		{Key: "offsets.topic.num.partitions", Value: strconv.Itoa(offsetsPartitions)},
		{Key: "offsets.topic.replication.factor", Value: "3"},
		{Key: "group.initial.rebalance.delay.ms", Value: "0"},
		{Key: "controlled.shutdown.retry.backoff.ms", Value: "500"},
		{Key: "log.cleaner.dedupe.buffer.size", Value: strconv.Itoa(8 << 20)},
		{Key: "log.segment.delete.delay.ms", Value: "100"},
		{Key: "log.initial.task.delay.ms", Value: "500"}, // of the first deletion of logs
	})
	if r.protocol != "" {
		p = p.With(kafka.Properties{{Key: "inter.broker.protocol.version", Value: r.protocol}})
	}
	return p
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

// restart starts a node again and waits until it serves.
func (r *rig) restart(t *testing.T, ids ...broker) {
	t.Helper()
	for _, id := range ids {
		if err := r.nodes[id].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.awaitServing(t, ids...)
}

// signal sends a signal to a node and waits for its end.
func (r *rig) signal(t *testing.T, id broker, s provider.Signal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	if _, err := r.nodes[id].Signal(ctx, s); err != nil {
		t.Fatal(err)
	}
	_, code, err := r.nodes[id].Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if s == provider.Term && code != 0 {
		t.Fatalf("broker %d ended with code %d after SIGTERM", id, code)
	}
}

// addr is where a broker listens.
func (r *rig) addr(id broker) string {
	return net.JoinHostPort(process.Host, strconv.Itoa(int(r.ports[id])))
}

// judgeLogs fails for every line since the last look that no fault explains.
func (r *rig) judgeLogs(t *testing.T) {
	t.Helper()
	const most = 20 // lines of one node
	for _, l := range r.logs {
		bad, err := l.bad(&r.faults)
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
func (r *rig) keepLogs(t *testing.T) {
	to := os.Getenv("KBENCH_INTEROP_LOGS")
	if to == "" {
		return
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	to = filepath.Join(to, test)
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Error(err)
	}
	for _, l := range r.logs {
		b, err := os.ReadFile(l.file)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, l.node+".log"), b, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
