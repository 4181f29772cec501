package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"kbench/internal/heldport/heldtest"
	"kbench/internal/nodeconfig"
)

// TestNodeExamples: the configurations that the help shows are whole and right.
func TestNodeExamples(t *testing.T) {
	examples := regexp.MustCompile(`(?s)\{"name".*?\n\n`).FindAllString(newNode().Example, -1)
	if len(examples) != 2 {
		t.Fatalf("%d examples, want a controller and a broker", len(examples))
	}
	for _, text := range examples {
		file := filepath.Join(t.TempDir(), "n.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := nodeconfig.Load(file); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
	}
}

// TestPortInUse: a node that cannot have its address is bad input and
// leaves no data directory behind.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	for role, rest := range map[string]string{
		"zookeeper":  fmt.Sprintf(`"mode": "zk", "zkServer": {"host": "127.0.0.1", "port": %d, "tickTime": "2s"}`, port),
		"controller": fmt.Sprintf(`"mode": "kraft", "quorum": {"nodeId": 1001, "voters": [{"id": 1001, "host": "127.0.0.1", "port": %d}]}`, port),
		"broker":     fmt.Sprintf(`"mode": "kraft", "quorum": {"bootstrap": ["127.0.0.1:1"]}, "brokers": [{"id": 1, "host": "127.0.0.1", "port": %d}]`, port),
	} {
		t.Run(role, func(t *testing.T) {
			t.Chdir(t.TempDir())
			cfg := fmt.Sprintf(`{"name": "n", "role": %q, "clusterId": "QaQaQaQaQaQaQaQaQaQaQQ", "dataDir": "data", %s}`, role, rest)
			if err := os.WriteFile("n.json", []byte(cfg), 0o644); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			code := run([]string{"node", "--config", "n.json"}, &stdout, &stderr)
			if code != 2 || !strings.Contains(stderr.String(), "address already in use; ") {
				t.Errorf("exit %d: %s", code, stderr.String())
			}
			if left, _ := os.ReadDir("."); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestAddressThatCannotBeHad: the error says why, and what to do about it.
func TestAddressThatCannotBeHad(t *testing.T) {
	for host, want := range map[string]string{
		"192.0.2.1":       "cannot assign requested address; no interface of this machine has that address",
		"nowhere.invalid": "; give a name that this machine can resolve",
	} {
		for role, rest := range map[string]string{
			"zookeeper":  fmt.Sprintf(`"mode": "zk", "zkServer": {"host": %q, "port": 4711, "tickTime": "2s"}`, host),
			"controller": fmt.Sprintf(`"mode": "kraft", "quorum": {"nodeId": 1001, "voters": [{"id": 1001, "host": %q, "port": 4711}]}`, host),
			"broker":     fmt.Sprintf(`"mode": "kraft", "quorum": {"bootstrap": ["127.0.0.1:1"]}, "brokers": [{"id": 1, "host": %q, "port": 4711}]`, host),
		} {
			t.Run(role+" at "+host, func(t *testing.T) {
				t.Chdir(t.TempDir())
				code, text := runNodeFile(t, fmt.Sprintf(`{"name": "n", "role": %q, "clusterId": "QaQaQaQaQaQaQaQaQaQaQQ", "dataDir": "data", %s}`, role, rest))
				if code != exitUsage || !strings.Contains(text, want) {
					t.Errorf("exit %d: %s", code, text)
				}
				if left, _ := os.ReadDir("."); len(left) != 1 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

// A broker whose quorum is another cluster's ends as soon as that says so.
func TestBrokerOfAnotherCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a node")
	}
	dir := t.TempDir()
	ports := heldtest.Ports(t, 2)
	quorum := fmt.Sprintf(`"mode": "kraft", "quorum": {"nodeId": %%d, "voters": [{"id": 1001, "host": "127.0.0.1", "port": %d}]}`, ports[0])
	startNode(t, dir, "c", fmt.Sprintf(`{"name": "c", "role": "controller", "dataDir": "c", "clusterId": "QaQaQaQaQaQaQaQaQaQaQQ", `+quorum+`}`, 1001), "active controller")
	t.Chdir(dir)
	began := time.Now()
	code, text := runNodeFile(t, fmt.Sprintf(`{"name": "b", "role": "broker", "dataDir": "b", "clusterId": "MkU3OEVBNTcwNTJENDM2Qg", "brokers": [{"id": 1, "host": "127.0.0.1", "port": %d}], `, ports[1])+fmt.Sprintf(quorum, 0)+"}")
	want := fmt.Sprintf(`the quorum at 127.0.0.1:%d is of another cluster than this node, whose cluster id is "MkU3OEVBNTcwNTJENDM2Qg": set the node's cluster id to that of the quorum`, ports[0])
	if code != exitUsage || !strings.Contains(text, want) {
		t.Errorf("exit %d: %s", code, text)
	}
	if took := time.Since(began); took > 30*time.Second { // not the minute of a registration
		t.Errorf("told after %v", took)
	}
}

// runNodeFile runs a node of that configuration in this process, which must end
// by itself.
func runNodeFile(t *testing.T, config string) (code int, stderr string) {
	t.Helper()
	if err := os.WriteFile("n.json", []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, err bytes.Buffer
	code = run([]string{"node", "--config", "n.json"}, &out, &err)
	return code, err.String()
}

// startNode runs a node by hand and waits until its log holds a text.
func startNode(t *testing.T, dir, name, config, until string) (*exec.Cmd, *watched) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name+".json")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "node", "--config", file)
	cmd.Env = append(os.Environ(), asKbench+"=1")
	cmd.Dir = dir
	log := &watched{want: until, found: make(chan struct{})}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait()
	})
	awaitText(t, log)
	return cmd, log
}

func awaitText(t *testing.T, log *watched) {
	t.Helper()
	select {
	case <-log.found:
	case <-time.After(2 * time.Minute):
		t.Fatalf("the log lacks a line after two minutes:\n%s", log)
	}
}

// A broker that is told to stop waits for its controller to let it go. Where
// that is gone, a second signal ends it at once.
func TestSecondSignalEndsANode(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts nodes")
	}
	dir := t.TempDir()
	ports := heldtest.Ports(t, 2)
	common := fmt.Sprintf(`"clusterId": "QaQaQaQaQaQaQaQaQaQaQQ", "mode": "kraft",
		"timers": {"fetchTimeout": "2s", "brokerSession": "9s", "brokerHeartbeat": "500ms"},
		"quorum": {"nodeId": %%d, "voters": [{"id": 1001, "host": "127.0.0.1", "port": %d}]}`, ports[0])
	controller, _ := startNode(t, dir, "c", fmt.Sprintf(`{"name": "c", "role": "controller", "dataDir": "c", `+common+`}`, 1001), "serving")
	broker, log := startNode(t, dir, "b", fmt.Sprintf(`{"name": "b", "role": "broker", "dataDir": "b", `+common+`,
		"brokers": [{"id": 1, "host": "127.0.0.1", "port": %d}]}`, 0, ports[1]), "msg=registered")
	if err := controller.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = controller.Wait()
	log.await("shutting down")
	if err := broker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitText(t, log)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = broker.Wait()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	select {
	case <-ended:
		t.Fatalf("the broker did not wait for its controller, so that this test shows nothing:\n%s", log)
	case <-ctx.Done():
	}
	if err := broker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatalf("it runs on 30 s after the second signal:\n%s", log)
	}
	if code := broker.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit %d, want 143", code)
	}
}

// A node whose ZooKeeper is not there says so while it goes on trying.
func TestNodeWithoutZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a node")
	}
	ports := heldtest.Ports(t, 2)
	config := fmt.Sprintf(`{"name": "b", "role": "broker", "mode": "zk", "dataDir": "b", "clusterId": "QaQaQaQaQaQaQaQaQaQaQQ",
		"brokers": [{"id": 1, "host": "127.0.0.1", "port": %d, "candidate": true}],
		"zookeeper": {"servers": ["127.0.0.1:%d"], "sessionTimeout": "18s"}}`, ports[0], ports[1])
	began := time.Now()
	_, log := startNode(t, t.TempDir(), "b", config, "cannot reach ZooKeeper, still trying")
	if time.Since(began) > 15*time.Second { // soon, on a busy machine
		t.Errorf("told after %v", time.Since(began))
	}
	for _, want := range []string{"level=WARN", fmt.Sprintf("servers=127.0.0.1:%d", ports[1]), "connection refused", "until="} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}
