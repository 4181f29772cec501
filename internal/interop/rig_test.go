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

// The cluster: three real brokers, two candidates of kbench that host no
// replicas, and one metadata-plane broker of kbench, which starts late.
const (
	real1, real2, real3 broker = 1, 2, 3
	plane               broker = 11
	first, second       broker = 1001, 1002
)

var (
	realBrokers = []broker{real1, real2, real3}
	candidates  = []broker{first, second}
)

const (
	version = "3.9.2" // of the real brokers
	// The session of the real brokers is long, so that a gate that is shut for a
	// while does not end it: ZooKeeper grants at most 20 ticks. That of kbench's
	// nodes is short, so that a killed controller is missed soon.
	tick        = 500 * time.Millisecond
	realSession = 10 * time.Second
	ourSession  = 2 * time.Second
	// recovery bounds every wait for the cluster; the machine may be busy.
	recovery = 60 * time.Second
)

// rig is the cluster and what watches it.
type rig struct {
	provider *process.Provider
	store    provider.Ensemble
	gate     *gate
	znodes   *zk.Conn
	nodes    map[broker]provider.Node
	ports    map[broker]uint16
	dirs     map[broker]string // of the real brokers
	logs     []*nodeLog
	faults   faults
	tools    *tools
	inst     kafka.Installation
	dir      string
	unlatch  func() // opens the gate
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
func build(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "kbench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "kbench/cmd/kbench").CombinedOutput(); err != nil {
		t.Fatalf("build kbench: %v: %s", err, out)
	}
	return binary
}

// newRig starts ZooKeeper, the first candidate and, once that holds
// /controller, the second one and the real brokers.
func newRig(t *testing.T) *rig {
	t.Helper()
	inst := need(t)
	dir := t.TempDir()
	r := &rig{
		inst: inst, dir: dir, nodes: map[broker]provider.Node{},
		ports: map[broker]uint16{}, dirs: map[broker]string{},
	}
	r.tools = startTools(t, inst, dir) // compiles while the rest starts
	var err error
	if r.provider, err = process.New(process.Config{Binary: build(t, dir), WorkDir: filepath.Join(dir, "nodes")}); err != nil {
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
	for _, id := range slices.Concat(candidates, []broker{plane}, realBrokers) {
		_, ports, err := r.provider.Reserve(t.Context(), strconv.Itoa(int(id)), 1)
		if err != nil {
			t.Fatal(err)
		}
		r.ports[id] = ports[0]
	}
	r.startOurs(t, first)
	r.awaitController(t, first)
	r.startOurs(t, second)
	r.awaitRegistered(t, second)
	for _, id := range realBrokers {
		r.startReal(t, id)
	}
	r.awaitRegistered(t, realBrokers...)
	return r
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
	n, err := r.provider.Launch(t.Context(), nodeconfig.Config{
		Name: name, Role: nodeconfig.RoleBroker, Mode: nodeconfig.ModeZK,
		ClusterID: vocabulary.UUID{1: 1, 15: 7}.String(),
		Brokers: []nodeconfig.Broker{{
			ID: vocabulary.BrokerID(id), Host: process.Host, Port: r.ports[id], Candidate: slices.Contains(candidates, id),
		}},
		ZooKeeper: nodeconfig.ZooKeeper{
			Servers: r.store.Servers(), SessionTimeout: nodeconfig.Duration(ourSession), Dedicated: dedicated,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.nodes[id] = n
	r.logs = append(r.logs, &nodeLog{node: name, file: filepath.Join(r.dir, "nodes", name, "node.log")})
}

// startReal starts a real broker for the first time.
func (r *rig) startReal(t *testing.T, id broker) {
	t.Helper()
	name := fmt.Sprintf("real-%d", id)
	dir := filepath.Join(r.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "interop.log4j.properties")
	if err := os.WriteFile(conf, []byte(realLog), 0o644); err != nil {
		t.Fatal(err)
	}
	candidate := kafka.Candidate{
		ID: int32(id), Host: process.Host, Port: r.ports[id], Servers: []string{r.gate.addr()}, SessionTimeout: realSession,
	}
	n, err := kafka.Start(t.Context(), kafka.Config{Installation: r.inst, Dir: dir, Kafka: provider.Kafka{
		Name: name, Version: version, Heap: "300m",
		JVM: []string{"-XX:TieredStopAtLevel=1", "-Dlog4j.configuration=file:" + conf},
		Properties: candidate.Properties().With(kafka.Properties{
			{Key: "authorizer.class.name", Value: "kafka.security.authorizer.AclAuthorizer"},
			{Key: "super.users", Value: "User:ANONYMOUS"},
			{Key: "offsets.topic.num.partitions", Value: strconv.Itoa(offsetsPartitions)},
			{Key: "offsets.topic.replication.factor", Value: "3"},
			{Key: "group.initial.rebalance.delay.ms", Value: "0"},
			{Key: "controlled.shutdown.retry.backoff.ms", Value: "500"},
			{Key: "log.cleaner.dedupe.buffer.size", Value: strconv.Itoa(8 << 20)},
			{Key: "log.segment.delete.delay.ms", Value: "100"},
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, n) })
	r.nodes[id], r.dirs[id] = n, filepath.Join(dir, "data")
	r.logs = append(r.logs, &nodeLog{node: name, file: filepath.Join(dir, "server.log"), real: true})
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

// restart starts a node again and waits until it is registered.
func (r *rig) restart(t *testing.T, ids ...broker) {
	t.Helper()
	for _, id := range ids {
		if err := r.nodes[id].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.awaitRegistered(t, ids...)
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

// keepLogs copies the logs of a failed run to the directory that
// KBENCH_INTEROP_LOGS names.
func (r *rig) keepLogs(t *testing.T) {
	to := os.Getenv("KBENCH_INTEROP_LOGS")
	if to == "" || !t.Failed() {
		return
	}
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
