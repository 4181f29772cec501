package docker

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"kbench/docker/images"
	"kbench/harness/jvm"
	"kbench/harness/provider"
	"kbench/harness/zookeeper"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
)

// needEngine skips with the reason where no engine answers, unless
// KBENCH_REQUIRE_DOCKER is set.
func needEngine(t *testing.T) {
	t.Helper()
	if _, err := Ask(t.Context()); err != nil {
		if os.Getenv("KBENCH_REQUIRE_DOCKER") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: no container ran: ", err)
	}
}

// player builds the static program that plays a node, once.
var player = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kbench-docker-test")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "kbench")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/node")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, b)
	}
	return out, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if out, err := player(); err == nil {
		_ = os.RemoveAll(filepath.Dir(out))
	}
	os.Exit(code)
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func runName(t *testing.T) string {
	return fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "."))
}

func newProvider(t *testing.T) *Provider {
	t.Helper()
	needEngine(t)
	binary, err := player()
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(t.Context(), Config{Name: runName(t), Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func launch(t *testing.T, p *Provider, name string) (*Node, string) {
	t.Helper()
	ctx := within(t, 4*time.Minute)
	host, ports, err := p.Reserve(ctx, name, 1)
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.Launch(ctx, nodeconfig.Config{Name: name, Brokers: []nodeconfig.Broker{{ID: 1, Host: host, Port: ports[0]}}})
	if err != nil {
		t.Fatal(err)
	}
	return n.(*Node), fmt.Sprintf("%s:%d", host, ports[0])
}

// kill ends a node and waits for its end.
func kill(t *testing.T, n provider.Node) {
	t.Helper()
	ctx := within(t, time.Minute)
	if _, err := n.Signal(ctx, provider.Kill); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

// answers polls until the node says what is wanted.
func answers(t *testing.T, n *Node, addr, want string) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(time.Minute); last != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s answers %q, want %q; its log: %s", n.Name(), last, want, n.logTail(t.Context()))
		}
		last = ask(addr, time.Second)
	}
}

func ask(addr string, timeout time.Duration) string {
	c, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(timeout))
	b, _ := io.ReadAll(c)
	return strings.TrimSpace(string(b))
}

func TestLifeOfANode(t *testing.T) {
	p := newProvider(t)
	ctx := within(t, 4*time.Minute)
	n, addr := launch(t, p, "broker-1")
	answers(t, n, addr, "boot 1")
	if n.IP() == "" || !strings.HasPrefix(addr, n.IP()+":") || !n.Running() {
		t.Errorf("address %s, ip %s", addr, n.IP())
	}
	if err := n.Start(ctx); err == nil {
		t.Error("a running node was started")
	}
	sent, err := n.Signal(ctx, provider.Term)
	if err != nil {
		t.Fatal(err)
	}
	seen, code, err := n.Wait(ctx)
	if err != nil || code != 0 || seen <= sent || seen-sent > int64(time.Minute) || n.Running() {
		t.Fatalf("after SIGTERM: code %d, %d ns, running %v, %v", code, seen-sent, n.Running(), err)
	}
	t.Logf("SIGTERM to exit: %v; seen by the kernel: %v", time.Duration(seen-sent), n.run.proc != nil)
	if _, err := n.Signal(ctx, provider.Kill); err == nil {
		t.Error("a signal to an exited node gave no error")
	}
	r, err := n.Trace(ctx) // of a container that does not run
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	_ = r.Close()
	if err != nil || string(b) != "{\"boot\":1}\n" {
		t.Errorf("trace %q, %v", b, err)
	}
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	answers(t, n, addr, "boot 2")
	if sent, err = n.Signal(ctx, provider.Kill); err != nil {
		t.Fatal(err)
	}
	seen, code, err = n.Wait(ctx)
	if err != nil || code != -1 {
		t.Fatalf("after SIGKILL: code %d, %v", code, err)
	}
	t.Logf("SIGKILL to exit: %v", time.Duration(seen-sent))
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	answers(t, n, addr, "boot 3")
	dir := t.TempDir()
	if err := n.Collect(ctx, dir); err != nil {
		t.Fatal(err)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "broker-1.log"))
	if string(log) != "up 1\nup 2\nup 3\n" {
		t.Errorf("log %q", log)
	}
	if _, err := os.Stat(filepath.Join(dir, "broker-1.metrics.jsonl")); err == nil {
		t.Error("metrics were collected that no one wrote")
	}
	if err := n.Empty(ctx); err == nil {
		t.Error("a running node lost its data")
	}
	for range 2 { // the disk of a node can be replaced more than once
		kill(t, n)
		if err := n.Empty(ctx); err != nil {
			t.Fatal(err)
		}
		if err := n.Start(ctx); err != nil {
			t.Fatal(err)
		}
		answers(t, n, addr, "boot 1")
	}
}

func TestPause(t *testing.T) {
	p := newProvider(t)
	ctx := within(t, 4*time.Minute)
	n, addr := launch(t, p, "broker-1")
	answers(t, n, addr, "boot 1")
	for range 2 { // twice is the same as once
		if _, err := n.Signal(ctx, provider.Pause); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(addr, 2*time.Second); got != "" {
		t.Errorf("a paused node answers %q", got)
	}
	for range 2 {
		if _, err := n.Signal(ctx, provider.Resume); err != nil {
			t.Fatal(err)
		}
	}
	answers(t, n, addr, "boot 1")
	if _, err := n.Signal(ctx, provider.Pause); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Signal(ctx, provider.Kill); err != nil {
		t.Fatal(err)
	}
	if _, code, err := n.Wait(ctx); err != nil || code != -1 {
		t.Fatalf("killed while paused: code %d, %v", code, err)
	}
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	answers(t, n, addr, "boot 2")
	if _, err := n.Signal(ctx, provider.Pause); err != nil {
		t.Fatal(err)
	} // and left so: Close must cope
}

// TestPut: files are in the container, for its root alone.
func TestPut(t *testing.T) {
	p := newProvider(t)
	ctx := within(t, time.Minute)
	dir, err := p.Put(ctx, "broker-1", provider.File{Name: "key.pem", Data: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	n, addr := launch(t, p, "broker-1")
	answers(t, n, addr, "boot 1")
	stat, err := p.engine.api.ContainerStatPath(ctx, n.ID(), client.ContainerStatPathOptions{Path: dir + "/key.pem"})
	if err != nil || stat.Stat.Mode.Perm() != 0o600 {
		t.Errorf("%+v, %v", stat, err)
	}
	r, err := n.CopyFrom(ctx, dir+"/key.pem")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != "secret" {
		t.Errorf("%q, %v", b, err)
	}
	_ = r.Close()
}

// TestNodeThatFails: its end is seen, with its code.
func TestNodeThatFails(t *testing.T) {
	p := newProvider(t)
	ctx := within(t, 4*time.Minute)
	n, err := p.Launch(ctx, nodeconfig.Config{Name: "bad", Brokers: []nodeconfig.Broker{{Host: "192.0.2.1", Port: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, code, err := n.Wait(ctx); err != nil || code != 9 {
		t.Errorf("code %d, %v", code, err)
	}
}

// TestByEngineAlone is what a remote engine gets: no process to be seen.
func TestByEngineAlone(t *testing.T) {
	p := newProvider(t)
	ctx := within(t, 4*time.Minute)
	for _, s := range []struct {
		signal provider.Signal
		code   int
	}{{provider.Term, 0}, {provider.Kill, -1}} {
		n, addr := launch(t, p, "broker-"+string(s.signal))
		answers(t, n, addr, "boot 1")
		n.run.proc.close() // lets go of the process
		sent, err := n.Signal(ctx, s.signal)
		if err != nil {
			t.Fatal(err)
		}
		seen, code, err := n.Wait(ctx)
		if err != nil || code != s.code || seen <= sent {
			t.Errorf("%s: code %d, %v, after %v", s.signal, code, err, time.Duration(seen-sent))
		}
	}
}

// TestManyNodes: addresses differ, nodes reach each other, and nothing is left.
func TestManyNodes(t *testing.T) {
	p := newProvider(t)
	seen := map[string]bool{}
	for i := range 4 {
		n, addr := launch(t, p, fmt.Sprintf("broker-%d", i))
		answers(t, n, addr, "boot 1")
		if seen[addr] {
			t.Errorf("address %s twice", addr)
		}
		seen[addr] = true
	}
	host, ports, err := p.Reserve(t.Context(), "broker-1", 2)
	if err != nil || !seen[host+":9092"] || ports[0] != 9093 || ports[1] != 9094 {
		t.Errorf("second reservation: %s %v %v", host, ports, err)
	}
	name := p.cfg.Name
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("second close: %v", err)
	}
	if left := leftOf(t, name); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := p.Launch(t.Context(), nodeconfig.Config{Name: "late"}); err == nil {
		t.Error("a closed provider launched a node")
	}
}

func leftOf(t *testing.T, run string) []leftover {
	t.Helper()
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	all, err := e.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []leftover
	for _, l := range all {
		if l.labels[labelRun] == run {
			out = append(out, l)
		}
	}
	return out
}

// TestSweep removes what an owner that is gone left, a paused container too,
// and nothing of the living or of other hosts.
func TestSweep(t *testing.T) {
	living := newProvider(t)
	keep, addr := launch(t, living, "broker-1")
	binary, err := player()
	if err != nil {
		t.Fatal(err)
	}
	// The owner dies last of all: another package's test may run kbench clean,
	// which would remove what is left here before this sweep does.
	owner := exec.Command("sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() { _, _ = owner.Process.Kill(), owner.Wait() })
	t.Cleanup(end)
	orphan := func(name, host string) *Provider {
		p, err := New(t.Context(), Config{Name: runName(t) + name, Binary: binary})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close(context.Background()) })
		p.labels[labelHost], p.labels[labelPID], p.labels[labelStarted] = host, strconv.Itoa(owner.Process.Pid), startTime(owner.Process.Pid)
		// The network was labelled already: make another with these labels.
		if err := p.net.remove(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p.net, err = newBridge(t.Context(), p.copyLabels()); err != nil {
			t.Fatal(err)
		}
		n, _ := launch(t, p, "broker-1")
		if _, err := n.Signal(t.Context(), provider.Pause); err != nil {
			t.Fatal(err)
		}
		return p
	}
	dead, foreign := orphan(".dead", hostName()), orphan(".foreign", "elsewhere")
	end()
	removed, err := Sweep(within(t, 4*time.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	if left := leftOf(t, dead.cfg.Name); len(left) != 0 {
		t.Errorf("the dead run left %v", left)
	}
	mine := 0
	for _, r := range removed {
		if strings.HasSuffix(r, " of run "+dead.cfg.Name) {
			mine++
		}
	}
	if mine != 3 {
		t.Errorf("named as removed: %v", removed)
	}
	if len(leftOf(t, foreign.cfg.Name)) != 3 || len(leftOf(t, living.cfg.Name)) != 3 {
		t.Error("what is another's was removed")
	}
	answers(t, keep, addr, "boot 1")
}

// TestCycles starts and ends many nodes in one process: goroutines and files
// stay as many as they were.
func TestCycles(t *testing.T) {
	p := newProvider(t)
	ctx := within(t, 4*time.Minute)
	n, addr := launch(t, p, "broker-1")
	answers(t, n, addr, "boot 1")
	cycle := func(i int) {
		kill(t, n)
		if err := n.Start(ctx); err != nil {
			t.Fatal(err)
		}
		answers(t, n, addr, fmt.Sprintf("boot %d", i+2))
	}
	cycle(0)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for i := range 15 {
		cycle(i + 1)
	}
	const slack = 5
	if g, f := runtime.NumGoroutine(), openFiles(t); g > goroutines+slack || f > files+slack {
		t.Errorf("goroutines %d, were %d; files %d, were %d", g, goroutines, f, files)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	l, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(l)
}

func TestWrongHostSaysHowToMendIt(t *testing.T) {
	t.Setenv("DOCKER_HOST", "bogus")
	if _, err := Ask(t.Context()); err == nil || !strings.Contains(err.Error(), "unset it, or use --provider process") {
		t.Errorf("got %v", err)
	}
}

func TestNoEngine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	start := time.Now()
	for _, err := range []error{
		second(Ask(t.Context())), second(Open(t.Context())), second(Sweep(t.Context(), nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), "no Docker engine answers") || !strings.Contains(err.Error(), "--provider process") || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v", err)
		}
	}
	// An engine that takes connections and says nothing.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("DOCKER_HOST", "tcp://"+l.Addr().String())
	if _, err := Ask(t.Context()); err == nil {
		t.Error("a silent engine answers")
	}
	t.Setenv("DOCKER_HOST", "nonsense")
	if _, err := Ask(t.Context()); err == nil || !strings.Contains(err.Error(), "DOCKER_HOST") {
		t.Errorf("DOCKER_HOST=nonsense: %v", err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func second[T any](_ T, err error) error { return err }

func TestBadConfig(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Binary: exe}, "no name for a run"},
		{Config{Name: "a b", Binary: exe}, "no name for a run"},
		{Config{Name: "../x", Binary: exe}, "no name for a run"},
		{Config{Name: "a", Binary: exe, CPUs: -1}, "negative"},
		{Config{Name: "a", Binary: "/nowhere"}, "/nowhere"},
		{Config{Name: "a", Binary: "/etc/hostname"}, "no Linux program"},
		{Config{Name: "a", Binary: "/bin/ls"}, "CGO_ENABLED=0 (make build)"},
	} {
		if _, err := New(t.Context(), c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: want %q, got %v", c.cfg, c.want, err)
		}
	}
}

func TestOwner(t *testing.T) {
	l := ownLabels("x")
	if !alive(l) {
		t.Error("this process is taken for dead")
	}
	for _, change := range []map[string]string{{labelPID: "999999"}, {labelPID: "x"}, {labelStarted: "1"}, {labelStarted: "", labelPID: "999999"}} {
		m := ownLabels("x")
		for k, v := range change {
			m[k] = v
		}
		if alive(m) {
			t.Errorf("%v is taken for alive", change)
		}
	}
	l[labelHost] = "elsewhere"
	l[labelPID] = "999999"
	if !alive(l) {
		t.Error("a run of another host is taken for dead")
	}
}

func TestZooKeeper(t *testing.T) {
	needEngine(t)
	if _, err := ZooKeeperBuild(); err != nil {
		if os.Getenv("KBENCH_REQUIRE_ZOOKEEPER") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: no ZooKeeper ran in containers: ", err)
	}
	p := newProvider(t)
	ctx := within(t, 4*time.Minute)
	start := time.Now()
	e, err := p.ZooKeeper(ctx, provider.ZooKeeper{Size: 3, TickTime: 500 * time.Millisecond, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s after %v", e.Description(), time.Since(start))
	if len(e.Servers()) != 3 || !strings.Contains(e.Description(), "ZooKeeper 3") {
		t.Errorf("%v %s", e.Servers(), e.Description())
	}
	n := e.Members()[0]
	info, err := n.(*jvmNode).tc.Inspect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for port, published := range info.NetworkSettings.Ports {
		if len(published) > 0 {
			t.Errorf("port %v is published: %v", port, published)
		}
	}
	before := trace.Now()
	if _, err := n.Signal(ctx, provider.Kill); err != nil {
		t.Fatal(err)
	}
	if seen, code, err := n.Wait(ctx); err != nil || code != -1 || seen < before {
		t.Fatalf("code %d, %v", code, err)
	}
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := e.(*Ensemble).ready(ctx); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if inst, err := zookeeper.Find(); err == nil {
		if _, err = jvm.Jcmd(inst.Java); err != nil {
			t.Log("SKIPPED: no recording was taken: ", err)
		} else {
			wantRecording(t, n, filepath.Join(dir, "zookeeper-1.jfr"))
		}
	}
	if err := n.Collect(ctx, dir); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{".log", ".metrics.jsonl"} {
		if _, err := os.Stat(filepath.Join(dir, "zookeeper-1"+file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.ZooKeeper(ctx, provider.ZooKeeper{Size: 2, TickTime: time.Second}); err == nil {
		t.Error("an ensemble of 2 was started")
	}
}

// TestBrokenBuild: the engine's own words reach the caller.
func TestBrokenBuild(t *testing.T) {
	needEngine(t)
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	inst := images.Build{Name: "kbench.local/absent-base:1", Args: map[string]string{"JRE": "kbench.local/absent:1"}}
	b, err := ZooKeeperBuild()
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	b.Name, b.Args, b.Base = inst.Name, inst.Args, nil
	if err := e.Ensure(within(t, 4*time.Minute), b); err == nil || !strings.Contains(err.Error(), "kbench.local") {
		t.Errorf("got %v", err)
	}
	if err := e.pull(within(t, 4*time.Minute), "kbench.local/absent:1"); err == nil || !strings.Contains(err.Error(), "kbench.local/absent:1") {
		t.Errorf("got %v", err)
	}
}
