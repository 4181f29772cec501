package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
)

// The test binary plays the node: it says that it is up, ends with code 0 on
// SIGTERM and when its lifeline is cut. It plays the network agent too, and a
// kbench that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "play-node":
			playNode()
		case "netfault":
			playAgent()
		case "play-kbench":
			playKbench(os.Args[2])
		}
	}
	os.Exit(m.Run())
}

func playNode() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	cut := make(chan struct{})
	go func() {
		_, _ = os.NewFile(3, "lifeline").Read(make([]byte, 1))
		close(cut)
	}()
	fmt.Println("up")
	select {
	case <-stop:
		os.Exit(0)
	case <-cut:
		os.Exit(7)
	}
}

func newProvider(t *testing.T) *Provider {
	t.Helper()
	p, err := New(Config{Binary: os.Args[0], Args: []string{"play-node"}, WorkDir: filepath.Join(t.TempDir(), "run")})
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

func launch(t *testing.T, p *Provider, name string) *Node {
	t.Helper()
	n, err := p.Launch(t.Context(), nodeconfig.Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node is up", func() bool {
		b, _ := os.ReadFile(n.(*Node).file("node.log"))
		return strings.HasSuffix(string(b), "up\n")
	})
	return n.(*Node)
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func TestTermRestartKill(t *testing.T) {
	p := newProvider(t)
	n := launch(t, p, "a")
	sent, err := n.Signal(t.Context(), provider.Term)
	if err != nil {
		t.Fatal(err)
	}
	seen, code, err := n.Wait(t.Context())
	if err != nil || code != 0 || seen <= sent || n.Running() {
		t.Fatalf("after SIGTERM: seen %d sent %d code %d err %v", seen, sent, code, err)
	}
	if _, err := n.Signal(t.Context(), provider.Kill); err == nil {
		t.Error("a signal to an exited node gave no error")
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(t.Context()); err == nil {
		t.Error("a second start of a running node gave no error")
	}
	if _, err := n.Signal(t.Context(), provider.Kill); err != nil {
		t.Fatal(err)
	}
	if _, code, err = n.Wait(t.Context()); err != nil || code != -1 {
		t.Fatalf("after SIGKILL: code %d, %v", code, err)
	}
}

func TestEmptyRemovesTheData(t *testing.T) {
	n := launch(t, newProvider(t), "a")
	kept := filepath.Join(n.DataDir(), "kept")
	if err := errors.Join(os.MkdirAll(n.DataDir(), 0o755), os.WriteFile(kept, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := n.Empty(t.Context()); err == nil {
		t.Error("a running node lost its data")
	}
	if _, err := n.Signal(t.Context(), provider.Kill); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.Empty(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data is there still: %v", err)
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestPauseStopsTheProcess(t *testing.T) {
	n := launch(t, newProvider(t), "a")
	state := func() string {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.Pid()))
		_, rest, _ := strings.Cut(string(b), ") ")
		return rest[:1]
	}
	if _, err := n.Signal(t.Context(), provider.Pause); err != nil {
		t.Fatal(err)
	}
	if s := state(); s != "T" {
		t.Fatalf("it is paused and in state %s", s)
	}
	if _, err := n.Signal(t.Context(), provider.Resume); err != nil {
		t.Fatal(err)
	}
	eventually(t, "running", func() bool { return state() != "T" })
}

func TestWaitIsBounded(t *testing.T) {
	n := launch(t, newProvider(t), "a")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := n.Wait(ctx); err == nil || !strings.Contains(err.Error(), "exit of a") {
		t.Fatalf("got %v", err)
	}
}

func TestCutLifelineEndsTheNode(t *testing.T) {
	n := launch(t, newProvider(t), "a")
	_ = n.lifeline.Close()
	if _, code, err := n.Wait(t.Context()); err != nil || code != 7 {
		t.Fatalf("code %d, %v", code, err)
	}
}

func TestReservedPortsAreDistinct(t *testing.T) {
	p := newProvider(t)
	_, ports, err := p.Reserve(t.Context(), "a", 50)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint16]bool{}
	for _, port := range ports {
		if seen[port] {
			t.Fatalf("port %d is reserved twice", port)
		}
		seen[port] = true
	}
}

func TestCollect(t *testing.T) {
	n := launch(t, newProvider(t), "a")
	dir := t.TempDir()
	if err := n.Collect(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "a.log"))
	if err != nil || string(b) != "up\n" {
		t.Fatalf("log %q, %v", b, err)
	}
}

func TestSweepSparesTheLivingAndForeign(t *testing.T) {
	root := t.TempDir()
	p, err := New(Config{Binary: os.Args[0], Args: []string{"play-node"}, WorkDir: filepath.Join(root, "mine")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(context.Background()) }()
	n := launch(t, p, "a")
	foreign := filepath.Join(root, "foreign")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	if removed, err := Sweep(root, nil); err != nil || len(removed) != 0 || !n.Running() {
		t.Fatalf("swept %v, %v", removed, err)
	}
	// The owner is gone: its record names a process that is not this one.
	if err := os.WriteFile(filepath.Join(root, "mine", ownerFile), []byte("999999 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if removed, err := Sweep(root, func(owner string) bool { return owner == "999999 2" }); err != nil || len(removed) != 0 {
		t.Fatalf("swept another's %v, %v", removed, err)
	}
	removed, err := Sweep(root, func(owner string) bool { return owner == "999999 1" })
	if err != nil || len(removed) != 1 {
		t.Fatalf("swept %v, %v", removed, err)
	}
	eventually(t, "the node has ended", func() bool { return !n.Running() })
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a foreign directory is gone: %v", err)
	}
}

func TestNodesRunAtLowerPriority(t *testing.T) {
	n := launch(t, newProvider(t), "a")
	stat := func(pid int) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		return strings.Fields(rest)[16] // field 19, nice
	}
	if node, own := stat(n.Pid()), stat(os.Getpid()); node == own {
		t.Errorf("the node runs at nice %s as the generator does", node)
	}
}

// TestPut: what a node needs beside its configuration is its owner's alone to
// read, and goes with the cluster.
func TestPut(t *testing.T) {
	p := newProvider(t)
	dir, err := p.Put(t.Context(), "a", provider.File{Name: "key.pem", Data: []byte("secret")}, provider.File{Name: "ca.pem", Data: []byte("known")})
	if err != nil {
		t.Fatal(err)
	}
	launch(t, p, "a")
	for file, want := range map[string]string{"key.pem": "secret", "ca.pem": "known"} {
		path := filepath.Join(dir, file)
		info, serr := os.Stat(path)
		if b, err := os.ReadFile(path); err != nil || serr != nil || string(b) != want || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %q, %v, %v", path, b, err, serr)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v", dir, err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}
