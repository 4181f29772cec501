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

// reach connects from kbench, as its probes do.
func reach(a *agent.Client) bool {
	c, err := net.DialTimeout("tcp4", a.Here().String(), 300*time.Millisecond)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

func connects(t *testing.T, from, to *agent.Client) bool {
	t.Helper()
	_, err := from.Reach(t.Context(), to.Here(), 300*time.Millisecond)
	return err == nil
}

func TestIsolatedNode(t *testing.T) {
	c := separate(t, 3)
	check := func(whole bool) {
		t.Helper()
		if reach(c[0]) != whole || connects(t, c[0], c[1]) != whole || connects(t, c[1], c[0]) != whole {
			t.Fatalf("the links of the victim: want them whole: %v", whole)
		}
		if !reach(c[1]) || !connects(t, c[1], c[2]) {
			t.Fatal("the links of the others are cut too")
		}
	}
	check(true)
	if err := c[0].Set(t.Context(), []netfault.Fault{netfault.Isolation()}); err != nil {
		t.Fatal(err)
	}
	check(false)
	if err := c[0].Set(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	check(true)
}

func TestCutLink(t *testing.T) {
	c := separate(t, 3)
	if err := c[0].Set(t.Context(), []netfault.Fault{netfault.CutFrom(netfault.Both, c[1].Here().Addr())}); err != nil {
		t.Fatal(err)
	}
	if connects(t, c[0], c[1]) || connects(t, c[1], c[0]) {
		t.Error("the link is whole")
	}
	if !connects(t, c[0], c[2]) || !reach(c[0]) {
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
	before := devices(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if said != "up\n" {
		_ = cmd.Process.Kill()
		t.Fatalf("kbench said %q, %v", said, err)
	}
	made := slices.DeleteFunc(devices(t), func(d string) bool { return slices.Contains(before, d) })
	if len(made) == 0 {
		t.Fatal("the cluster has no device")
	}
	if !runs(t, work) || !runs(t, os.Args[0]+"\x00netfault") {
		t.Fatal("the cluster has no nodes or no agents")
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if removed, err := Sweep(root); err != nil || len(removed) != 1 {
		t.Fatalf("swept %v, %v", removed, err)
	}
	if _, err := netns.Sweep(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cluster's devices are gone", func() bool {
		return !slices.ContainsFunc(devices(t), func(d string) bool { return slices.Contains(made, d) })
	})
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

// devices are those of kbench that this machine sees.
func devices(t *testing.T) []string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range all {
		if strings.HasPrefix(i.Name, netns.Prefix) {
			out = append(out, i.Name)
		}
	}
	return out
}
