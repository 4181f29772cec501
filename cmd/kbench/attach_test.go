package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/heldport/heldtest"
	"kbench/kafka/wire"
	"kbench/results"
)

// strangers is a cluster that kbench did not start: three controllers and two
// brokers run by hand, with a topic of somebody else.
type strangers struct {
	dir       string
	ports     []uint16 // of the brokers, then of the controllers
	bootstrap string
}

// foreign is a topic that kbench must neither change nor remove.
const foreign = "orders"

func startStrangers(t *testing.T) strangers {
	t.Helper()
	s := strangers{dir: t.TempDir(), ports: heldtest.Ports(t, 5)}
	var voters []string
	for i, port := range s.ports[2:] {
		voters = append(voters, fmt.Sprintf(`{"id": %d, "host": "127.0.0.1", "port": %d}`, 1001+i, port))
	}
	common := fmt.Sprintf(`"clusterId": "QaQaQaQaQaQaQaQaQaQaQQ", "mode": "kraft",
		"timers": {"fetchTimeout": "2s", "brokerSession": "6s", "brokerHeartbeat": "500ms"},
		"quorum": {"nodeId": %%d, "voters": [%s]}`, strings.Join(voters, ", "))
	for id := 1001; id <= 1003; id++ {
		name := fmt.Sprintf("c%d", id)
		cmd, _ := startNode(t, s.dir, name, fmt.Sprintf(`{"name": "%s", "role": "controller", "dataDir": "%s", `+common+`}`, name, name, id), "serving")
		s.pid(t, name, cmd.Process.Pid)
	}
	for id := 1; id <= 2; id++ {
		name := fmt.Sprintf("b%d", id)
		cmd, _ := startNode(t, s.dir, name, fmt.Sprintf(`{"name": "%s", "role": "broker", "dataDir": "%s", `+common+`,
			"brokers": [{"id": %d, "host": "127.0.0.1", "port": %d}]}`, name, name, 0, id, s.ports[id-1]), "msg=registered")
		s.pid(t, name, cmd.Process.Pid)
		go func() { _ = cmd.Wait() }() // a zombie would still be there
	}
	s.bootstrap = fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", s.ports[0], s.ports[1])
	s.create(t, foreign)
	return s
}

func (s strangers) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s strangers) pid(t *testing.T, name string, pid int) {
	t.Helper()
	s.write(t, name+".pid", fmt.Sprint(pid))
}

func (s strangers) ask(t *testing.T, req kmsg.Request) kmsg.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn, err := wire.Dial(ctx, fmt.Sprintf("127.0.0.1:%d", s.ports[0]), wire.DialOptions{ClientID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	resp, err := conn.Request(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// create makes a topic; it is tried again until both brokers are unfenced.
func (s strangers) create(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.SetVersion(5)
		req.TimeoutMillis = 10_000
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 2, 2
		req.Topics = append(req.Topics, topic)
		code := s.ask(t, req).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode
		if code == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("create %s: error %d", name, code)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// topics are those that the first broker serves, with who leads them.
func (s strangers) topics(t *testing.T) (names []string) {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(9)
	req.Topics = nil
	for _, topic := range s.ask(t, req).(*kmsg.MetadataResponse).Topics {
		names = append(names, *topic.Topic)
	}
	return names
}

// attachSpec takes brokers away by hooks: a shell that reads the pid, and one
// that starts kbench node again.
const attachSpec = `name: attached
targets: [attach]
trials: 1
retries: 3
attach:
  hooks:
    stop-broker: 'kill $(cat DIR/b$KBENCH_NODE.pid)'
    start-broker: 'cd DIR && KBENCH_AS_SELF= nohup SELF node --config b$KBENCH_NODE.json >b$KBENCH_NODE.log 2>&1 & echo $! >DIR/b$KBENCH_NODE.pid'
    pause-controller: 'kill -STOP $(cat DIR/c$KBENCH_NODE.pid)'
    resume-controller: 'kill -CONT $(cat DIR/c$KBENCH_NODE.pid)'
cluster: {partitions: 20, partitionsPerTopic: 5, replication: 2}
workloads:
  - {kind: propagation, rate: 5/s, duration: 2s, probe: {rate: 20/s}}
  - {kind: controlled-shutdown, probe: {rate: 50/s}}
  - {kind: controller-failover, how: pause, probe: {rate: 50/s}}
  - {kind: create-topics, partitions: 20, partitionsPerTopic: 5, replication: 2}
`

// idleHooksSpec has hooks that do nothing. Nobody tells where the voters listen,
// so that none of them can be asked.
const idleHooksSpec = `name: idle-hooks
targets: [attach]
trials: 1
retries: 0
attach:
  hooks: {pause-controller: 'true', resume-controller: 'true', kill-controller: 'true', start-controller: 'true', stop-broker: 'true', start-broker: 'true'}
cluster: {partitions: 4, partitionsPerTopic: 2, replication: 2}
workloads:
  - {kind: WORKLOAD, trialTimeout: 3s}
`

// TestAttach measures a cluster that kbench did not start, has a broker stopped
// by the user's hook, and looks that nothing of others was touched and nothing
// of kbench's own is left; also where it is interrupted, or killed.
func TestAttach(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts nodes")
	}
	s := startStrangers(t)
	s.write(t, "spec.yaml", strings.NewReplacer("DIR", s.dir, "SELF", os.Args[0], "KBENCH_AS_SELF=", asKbench+"=1").Replace(attachSpec))
	t.Cleanup(func() { // brokers that a hook started
		for _, name := range []string{"b1", "b2"} {
			_ = exec.Command("/bin/sh", "-c", "kill -9 $(cat "+filepath.Join(s.dir, name+".pid")+")").Run()
		}
	})
	t.Run("measured", s.measured)
	for workload, reason := range map[string]string{
		"controller-failover, how: pause": "the fault did not bite: controller 100",
		"controller-failover, how: kill":  "the fault did not bite: controller 100",
		"controlled-shutdown":             "still accepts connections at 127.0.0.1:",
	} {
		t.Run("idle hooks/"+workload, func(t *testing.T) { s.idleHooks(t, workload, reason) })
	}
	t.Run("interrupted", func(t *testing.T) { s.ended(t, os.Interrupt) })
	t.Run("killed", func(t *testing.T) { s.ended(t, os.Kill) })
	t.Run("killed and resumed", s.resumed)
}

// resumed goes on with a run that was killed: what that one had made is removed
// before.
func (s strangers) resumed(t *testing.T) {
	s.killed(t, os.Kill, "out3")
	if left := s.topics(t); len(left) < 2 {
		t.Errorf("a killed run left nothing, so that this test shows nothing: %v", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := s.command(ctx, "run", "--resume", "out3")
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if want := " topics that the killed run had made at " + s.bootstrap; err != nil || !bytes.Contains(out, []byte(want)) {
		t.Errorf("%v, want %q in:\n%s", err, want, out)
	}
	s.untouched(t)
}

func (s strangers) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), asKbench+"=1")
	return cmd
}

func (s strangers) measured(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := s.command(ctx, "run", "spec.yaml", "--bootstrap", s.bootstrap, "--out", "out", "--data-dir", "data")
	cmd.WaitDelay = time.Minute
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := results.Open(filepath.Join(s.dir, "out", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	figures, err := r.Figures()
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, f := range figures {
		have = append(have, f.Metric+"."+f.Phase)
	}
	for _, want := range []string{"propagation.last", "controlled-shutdown.moved", "controlled-shutdown.exit", "recovery.controller.first-admin", "creation.rate"} {
		if !slices.Contains(have, want) {
			t.Errorf("no figure of %s; there are %v", want, have)
		}
	}
	c := r.Manifest.Cells[0]
	if c.Config["cluster.brokers"] != "2" || !strings.Contains(c.Store, "as it was found: metadata log") {
		t.Errorf("the cell tells of %s brokers and store %q", c.Config["cluster.brokers"], c.Store)
	}
	if said, err := reportForm(r, "text"); r.Manifest.Provider != results.NoProvider || err != nil || !strings.Contains(string(said), ", no provider, ") {
		t.Errorf("a run that started nothing says provider %s, %v:\n%s", r.Manifest.Provider, err, said)
	}
	s.untouched(t)
}

// idleHooks: a fault that a hook did not make is in no figure.
func (s strangers) idleHooks(t *testing.T, workload, reason string) {
	s.write(t, "idle.yaml", strings.ReplaceAll(idleHooksSpec, "WORKLOAD", workload))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := s.command(ctx, "run", "idle.yaml", "--bootstrap", s.bootstrap, "--out", "idle", "--data-dir", "data")
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitInvalid {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := results.Open(filepath.Join(s.dir, "idle", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(r.Manifest.Reasons, "\n")
	if r.Manifest.Verdict != results.Invalid || !strings.Contains(said, reason) {
		t.Errorf("the run is %s: %s", r.Manifest.Verdict, said)
	}
	for _, sample := range r.Samples {
		if sample.Valid {
			t.Errorf("a figure counts: %+v", sample)
		}
	}
	s.untouched(t)
}

// ended ends a run by a signal once it has topics, and cleans where that did not.
func (s strangers) ended(t *testing.T, sig os.Signal) {
	code, said := s.killed(t, sig, "out2")
	if sig == os.Kill {
		if len(s.topics(t)) < 2 {
			t.Errorf("a killed run left nothing, so that this test shows nothing: %v", s.topics(t))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		out, err := s.command(ctx, "clean", "--bootstrap", s.bootstrap, "--out", "out2", "--data-dir", "data").CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("topics at "+s.bootstrap)) {
			t.Errorf("clean: %v\n%s", err, out)
		}
	} else if code != 130 {
		t.Errorf("exit %d, want 130:\n%s", code, said)
	}
	s.untouched(t)
}

// killed gives how a run ended that got a signal once it had topics.
func (s strangers) killed(t *testing.T, sig os.Signal, out string) (code int, said string) {
	t.Helper()
	cmd := s.command(t.Context(), "run", "--bootstrap", s.bootstrap, "--set", "cluster.replication=2", "--workloads", "propagation", "--set", "workloads.propagation.duration=5s", "--out", out, "--data-dir", "data")
	stderr := &watched{want: "partitions: propagation", found: make(chan struct{})}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stderr.found:
	case <-time.After(3 * time.Minute):
		t.Errorf("no trial:\n%s", stderr)
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), fmt.Sprint(stderr)
}

func (s strangers) untouched(t *testing.T) {
	t.Helper()
	if got := s.topics(t); !slices.Equal(got, []string{foreign}) {
		t.Errorf("the cluster has %v, want %s alone", got, foreign)
	}
}

// TestAttachToSilence: brokers that take a connection and say nothing end the run
// when each had its time, with the reason.
func TestAttachToSilence(t *testing.T) {
	t.Parallel()                               // it waits
	l, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts: the kernel does
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := runKbench(ctx, os.Args[0], t.TempDir(), "run", "--bootstrap", l.Addr().String(), "--out", "out", "--data-dir", "data")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitInvalid || !strings.Contains(string(out), l.Addr().String()+": no answer within 10s") {
		t.Errorf("exit %d:\n%s", cmd.ProcessState.ExitCode(), out)
	}
}
