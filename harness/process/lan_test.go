package process

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
	"kbench/harness/netns"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
)

func playAgent() {
	if err := agent.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// playKbench runs a cluster of two nodes, pauses one, isolates the other, says
// so, and waits to be killed.
func playKbench(workDir string) {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	p, err := New(Config{Binary: os.Args[0], Args: []string{"play-node"}, WorkDir: workDir})
	must(err)
	must(p.Separate(ctx))
	for _, name := range []string{"a", "b"} {
		n, err := p.Launch(ctx, nodeconfig.Config{Name: name})
		must(err)
		a, err := n.(provider.Networked).Agent(ctx)
		must(err)
		must(a.Set(ctx, []netfault.Fault{netfault.Isolation()}))
		if name == "a" {
			_, err := n.Signal(ctx, provider.Pause)
			must(err)
		}
	}
	fmt.Println("up")
	time.Sleep(time.Minute)
	os.Exit(1)
}

func needNamespaces(t *testing.T) {
	t.Helper()
	if err := netns.Check(); err != nil {
		if os.Getenv("KBENCH_REQUIRE_NETNS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// separate gives the agents of n nodes with a network each.
func separate(t *testing.T, n int) []*agent.Client {
	t.Helper()
	needNamespaces(t)
	p := newProvider(t)
	if err := p.Separate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out []*agent.Client
	for i := range n {
		name := fmt.Sprint("node-", i)
		host, ports, err := p.Reserve(t.Context(), name, 2)
		if err != nil || len(ports) != 2 || ports[0] == ports[1] {
			t.Fatalf("reserved %v %v, %v", host, ports, err)
		}
		node, err := p.Launch(t.Context(), nodeconfig.Config{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		a, err := node.(provider.Networked).Agent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if a.Here().Addr().String() != host {
			t.Fatalf("%s is at %v, its agent at %v", name, host, a.Here())
		}
		out = append(out, a)
	}
	return out
}

// What is lost is waited for a moment; a link that should be whole may take its
// time on a busy machine.
const lost, whole = 300 * time.Millisecond, 20 * time.Second

// reach connects from kbench, as its probes do.
func reach(a *agent.Client, within time.Duration) bool {
	c, err := net.DialTimeout("tcp4", a.Here().String(), within)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

func connects(t *testing.T, from, to *agent.Client, within time.Duration) bool {
	t.Helper()
	_, err := from.Reach(t.Context(), to.Here(), within)
	return err == nil
}

func TestIsolatedNode(t *testing.T) {
	c := separate(t, 3)
	check := func(within time.Duration) {
		t.Helper()
		want := within == whole
		if reach(c[0], within) != want || connects(t, c[0], c[1], within) != want || connects(t, c[1], c[0], within) != want {
			t.Fatalf("the links of the victim: want them whole: %v", want)
		}
		if !reach(c[1], whole) || !connects(t, c[1], c[2], whole) {
			t.Fatal("the links of the others are cut too")
		}
	}
	check(whole)
	if err := c[0].Set(t.Context(), []netfault.Fault{netfault.Isolation()}); err != nil {
		t.Fatal(err)
	}
	check(lost)
	if err := c[0].Set(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	check(whole)
}

func TestCutLink(t *testing.T) {
	c := separate(t, 3)
	if err := c[0].Set(t.Context(), []netfault.Fault{netfault.CutFrom(netfault.Both, c[1].Here().Addr())}); err != nil {
		t.Fatal(err)
	}
	if connects(t, c[0], c[1], lost) || connects(t, c[1], c[0], lost) {
		t.Error("the link is whole")
	}
	if !connects(t, c[0], c[2], whole) || !reach(c[0], whole) {
		t.Error("another link is cut")
	}
}

func TestSeparateComesFirst(t *testing.T) {
	p := newProvider(t)
	if _, _, err := p.Reserve(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	if err := p.Separate(t.Context()); err == nil || !strings.Contains(err.Error(), "before") {
		t.Errorf("got %v", err)
	}
}

func TestNodesOnLoopbackHaveNoAgent(t *testing.T) {
	n := launch(t, newProvider(t), "a")
	if _, ok := provider.Node(n).(provider.Networked); ok {
		t.Error("a node on loopback claims a network of its own")
	}
}

// TestKilledKbenchLeavesNothing kills a kbench whose nodes are paused and
// isolated, as a machine's operator might.
func TestKilledKbenchLeavesNothing(t *testing.T) {
	needNamespaces(t)
	root := t.TempDir()
	work := filepath.Join(root, "run")
	cmd := exec.Command(os.Args[0], "play-kbench", work)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if said != "up\n" {
		_ = cmd.Process.Kill()
		t.Fatalf("kbench said %q, %v", said, err)
	}
	if len(devices(t, cmd.Process.Pid)) == 0 {
		t.Fatal("the cluster has no device")
	}
	if !runs(t, work) || !runs(t, os.Args[0]+"\x00netfault") {
		t.Fatal("the cluster has no nodes or no agents")
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if removed, err := Sweep(root, nil); err != nil || len(removed) != 1 {
		t.Fatalf("swept %v, %v", removed, err)
	}
	if _, err := netns.Sweep(nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cluster's devices are gone", func() bool { return len(devices(t, cmd.Process.Pid)) == 0 })
	eventually(t, "its nodes are gone", func() bool { return !runs(t, work) })
	eventually(t, "its agents are gone", func() bool { return !runs(t, os.Args[0]+"\x00netfault") })
}

// runs reports whether a process has text in its command line.
func runs(t *testing.T, text string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		b, _ := os.ReadFile(file) // that of a process that is gone meanwhile
		return strings.Contains(string(b), text)
	})
}

// devices are those of one kbench: tests of other packages have theirs.
func devices(t *testing.T, pid int) []string {
	t.Helper()
	names, err := netns.Left(pid)
	if err != nil {
		t.Fatal(err)
	}
	return names
}
