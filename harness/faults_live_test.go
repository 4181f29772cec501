package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kbench/harness/docker"
	"kbench/harness/netns"
	"kbench/harness/process"
	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/harness/zookeeper"
	"kbench/workloads"
)

// The faults that are made one after the other on a running cluster of each kind.
// Each says itself whether it bit and healed: one that did nothing fails.
const (
	kraftFaults = `
  - {at: 0s, for: 1s, kind: stop, on: broker}
  - {at: 0s, for: 1s, kind: kill, on: controller}
  - {at: 0s, for: 1s, kind: pause, on: broker}
  - {at: 0s, kind: restart, on: broker-1}
  - {at: 0s, for: 1s, kind: isolate, on: controller}
  - {at: 0s, for: 1s, kind: cut, on: broker}
  - {at: 0s, for: 1s, kind: cut-in, on: standby}
  - {at: 0s, for: 1s, kind: cut-out, on: standby}
  - {at: 0s, for: 1s, kind: split, on: [controller-1001, broker-1]}
  - {at: 0s, for: 1s, kind: delay, on: broker, delay: 100ms, jitter: 10ms}
  - {at: 0s, for: 1s, kind: loss, on: broker, lossPerMille: 300}
  - {at: 0s, for: 1s, kind: rate, on: broker, kbitPerSecond: 2000}
  - {at: 0s, for: 1s, kind: fsync-delay, on: controller, delay: 30ms}
  - {at: 0s, for: 1s, kind: fsync-error, on: standby}
  - {at: 0s, for: 1s, kind: disk-full, on: standby}
  - {at: 0s, for: 1s, kind: fail-log-dir, on: broker}
  - {at: 0s, for: 1s, kind: cpu, on: controller, cpuPercent: 10}
`
	zkFaults = `
  - {at: 0s, for: 1s, kind: kill, on: store}
  - {at: 0s, for: 1s, kind: pause, on: store}
  - {at: 0s, for: 1s, kind: isolate, on: store}
  - {at: 0s, kind: session-expiry, on: broker}
  - {at: 0s, for: 1s, kind: fsync-delay, on: store, delay: 30ms}
  - {at: 0s, for: 1s, kind: fsync-error, on: store}
  - {at: 0s, for: 1s, kind: fail-log-dir, on: broker}
  - {at: 0s, for: 1s, kind: cpu, on: controller, cpuPercent: 10}
`
	// ensembleFaults meet servers of ZooKeeper, and a session with it. One that was
	// killed or cut off is back and in step when the next fault asks who leads.
	ensembleFaults = `
  - {at: 0s, for: 1s, kind: kill, on: store-leader}
  - {at: 0s, for: 1s, kind: pause, on: store-leader}
  - {at: 0s, for: 1s, kind: isolate, on: store-leader}
  - {at: 0s, for: 1s, kind: kill, on: store-follower}
  - {at: 0s, kind: session-expiry, on: broker}
`
	liveSpec = `name: faults
targets: [%s]
cluster: {brokers: 3, controllers: 3, timeouts: matched, %s, logDirs: 2}
workloads: [{kind: propagation, duration: 1h}]
faults:%s`
)

// kbenchBinary is the program of nodes, built once.
var kbenchBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kbench-faults-*")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "kbench")
	cmd := exec.Command("go", "build", "-o", out, "kbench/cmd/kbench")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("build the nodes: %w: %s", err, said), os.RemoveAll(dir))
	}
	return out, nil
})

func TestFaultsOnProviders(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it starts clusters")
	}
	binary, err := kbenchBinary()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(binary)) })
	onProcesses := func(_ context.Context, name string) (provider.Provider, error) {
		return process.New(process.Config{Binary: binary, WorkDir: filepath.Join(t.TempDir(), name)})
	}
	for name, target := range map[string]liveTarget{
		"kraft": {"kraft", "store: embedded", kraftFaults}, "zk": {"zk", "store: embedded", zkFaults},
		"zookeeper": {"zk", "store: zookeeper, ensemble: 3", ensembleFaults},
	} {
		t.Run("process/"+name, func(t *testing.T) {
			if err := netns.Check(); err != nil {
				missing(t, "KBENCH_REQUIRE_NETNS", err)
			}
			target.needs(t)
			liveFaults(t, target, onProcesses)
		})
		t.Run("docker/"+name, func(t *testing.T) {
			if e, err := docker.Open(t.Context()); err != nil {
				missing(t, "KBENCH_REQUIRE_DOCKER", err)
			} else {
				_ = e.Close()
			}
			target.needs(t)
			liveFaults(t, target, func(ctx context.Context, name string) (provider.Provider, error) {
				return docker.New(ctx, docker.Config{Name: name, Binary: binary})
			})
		})
	}
	for _, name := range []string{"kraft", "zk"} {
		t.Run("log-dirs/"+name, func(t *testing.T) { liveLogDir(t, name, onProcesses) })
	}
}

func missing(t *testing.T, require string, err error) {
	t.Helper()
	if os.Getenv(require) != "" {
		t.Fatal(err)
	}
	t.Skip("SKIPPED: no fault was made: ", err)
}

// liveTarget is a kind of cluster with a list of faults.
type liveTarget struct{ name, store, faults string }

// needs skips the test where the target's store is not on this machine.
func (target liveTarget) needs(t *testing.T) {
	t.Helper()
	if !strings.Contains(target.store, "store: zookeeper") {
		return
	}
	if _, err := zookeeper.Find(); err != nil {
		missing(t, "KBENCH_REQUIRE_ZOOKEEPER", err)
	}
}

// liveCluster starts a cluster for the faults of the list, which it parses.
func liveCluster(t *testing.T, ctx context.Context, target liveTarget, open func(context.Context, string) (provider.Provider, error)) (*cellRun, []workloads.TimedFault) {
	t.Helper()
	faults := target.faults
	for at := 0; strings.Contains(faults, "at: 0s"); at += 60 { // a timeline has one after the other
		faults = strings.Replace(faults, "at: 0s", fmt.Sprintf("at: %ds", 1+at), 1)
	}
	s, err := spec.Parse("faults.yaml", fmt.Appendf(nil, liveSpec, target.name, target.store, faults))
	if err != nil {
		t.Fatal(err)
	}
	run := newCellRun(t)
	run.Options.Spec, run.spec, run.n = s, s.Cells()[0], 1
	if run.provider, err = open(ctx, clusterName(time.Now(), 1, run.spec.Target)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.cluster.close()
		if err := run.provider.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	if err := run.up(ctx); err != nil {
		t.Fatal(err)
	}
	return run, s.Faults
}

// liveFaults starts a cluster and makes every fault of the list in turn.
func liveFaults(t *testing.T, target liveTarget, open func(context.Context, string) (provider.Provider, error)) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	run, faults := liveCluster(t, ctx, target, open)
	if target.name == "zk" {
		defer keepWriting(t, run.cluster.store.servers)()
	}
	in := newInjector(run.cluster, 1)
	for _, f := range faults {
		began := time.Now()
		leads := storeLeader(ctx, run.cluster)
		standing, err := in.Begin(ctx, f)
		if err != nil {
			t.Errorf("%v: %v", f, err)
			continue
		}
		if role, met := f.On[0], standing.Names[0] == leads; role == "store-leader" && !met || role == "store-follower" && met {
			t.Errorf("%v met %v, and %s led", f, standing.Names, leads)
		}
		if _, _, err := standing.End(ctx); err != nil {
			t.Errorf("%v: undo it: %v", f, err)
		}
		if err := run.cluster.WaitHealthy(ctx); err != nil {
			t.Fatalf("after %v: %v", f, err)
		}
		t.Logf("%v met %v: %v", f, standing.Names, time.Since(began).Round(time.Millisecond))
	}
	if target.name == "kraft" {
		refused(t, in)
	}
}

// storeLeader names the server that leads an ensemble of ZooKeeper, "" for none.
func storeLeader(ctx context.Context, c *cluster) string {
	for i, server := range c.store.servers {
		if st, err := zookeeper.Ask(ctx, server); err == nil && st.Mode == "leader" {
			return c.store.nodes[i].Name()
		}
	}
	return ""
}

// refused: what a target cannot have is an error with its reason, also where no
// spec was asked.
func refused(t *testing.T, in *injector) {
	t.Helper()
	_, err := in.Begin(t.Context(), workloads.TimedFault{Fault: workloads.FaultKill, On: []string{"store"}})
	if err == nil || !strings.Contains(err.Error(), "it meets nobody") {
		t.Errorf("a store that is not there: %v", err)
	}
}

// keepWriting has the store write its log, as a cluster with a load
// does.
func keepWriting(t *testing.T, servers []string) (stop func()) {
	conn, _, err := zk.Connect(slices.Clone(servers), 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-ended:
				return
			case <-time.After(50 * time.Millisecond):
				_, _ = conn.Create(fmt.Sprintf("/written-%d", i), nil, 0, zk.WorldACL(zk.PermAll))
			}
		}
	}()
	return func() { close(ended); conn.Close(); <-done }
}
