package netns

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"kbench/harness/child"
)

// needRights skips where this user may not, and fails where it must.
func needRights(t *testing.T) {
	t.Helper()
	if err := Check(); err != nil {
		if os.Getenv("KBENCH_REQUIRE_NETNS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func newSwitch(t *testing.T) *Switch {
	t.Helper()
	needRights(t)
	s, err := NewSwitch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func attach(t *testing.T, s *Switch) *Namespace {
	t.Helper()
	n, err := s.Attach()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// answer listens in a namespace and greets whoever connects.
func answer(t *testing.T, n *Namespace) string {
	t.Helper()
	var l net.Listener
	err := n.Do(func() (err error) {
		l, err = net.Listen("tcp4", n.Addr().String()+":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(c, "hello")
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func greet(t *testing.T, addr string) {
	t.Helper()
	c, err := net.DialTimeout("tcp4", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if text, err := bufio.NewReader(c).ReadString('\n'); err != nil || text != "hello\n" {
		t.Fatalf("read %q, %v", text, err)
	}
}

func TestNodesReachEachOtherAndKbench(t *testing.T) {
	s := newSwitch(t)
	a, b := attach(t, s), attach(t, s)
	if a.Addr() == b.Addr() {
		t.Fatalf("two nodes have the address %v", a.Addr())
	}
	addr := answer(t, b)
	greet(t, addr) // from kbench
	if err := a.Do(func() error { greet(t, addr); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := b.Do(func() error { greet(t, addr); return nil }); err != nil { // itself
		t.Fatal(err)
	}
}

func TestDoComesBack(t *testing.T) {
	s := newSwitch(t)
	n := attach(t, s)
	id := func() string {
		id, err := os.Readlink("/proc/thread-self/ns/net")
		if err != nil {
			t.Error(err)
		}
		return id
	}
	var inside string
	before := id()
	if err := n.Do(func() error { inside = id(); return nil }); err != nil {
		t.Fatal(err)
	}
	if inside == before {
		t.Error("f ran in kbench's own namespace")
	}
	if after := id(); after != before {
		t.Errorf("the thread is in %s, not back in %s", after, before)
	}
}

func TestChildrenLiveInTheNamespace(t *testing.T) {
	n := attach(t, newSwitch(t))
	cmd := exec.Command("readlink", "/proc/self/ns/net")
	var out strings.Builder
	cmd.Stdout = &out
	if err := n.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got == own || !strings.HasPrefix(got, "net:") {
		t.Errorf("the child is in %q, kbench in %q", got, own)
	}
}

// left are the devices of this process.
func left(t *testing.T) []string {
	t.Helper()
	names, err := Left(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestCloseLeavesNothing(t *testing.T) {
	s := newSwitch(t)
	attach(t, s)
	if !slices.Contains(left(t), s.device) {
		t.Fatalf("no device %s", s.device)
	}
	for range 2 { // idempotent
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Contains(left(t), s.device) {
		t.Errorf("the device %s is still there", s.device)
	}
	routes, err := routed()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(routes, s.subnet) {
		t.Errorf("the route to %v is still there", s.subnet)
	}
}

func TestSweepSparesTheLiving(t *testing.T) {
	s := newSwitch(t)
	if removed, err := Sweep(nil); err != nil || slices.ContainsFunc(removed, func(r string) bool { return strings.HasSuffix(r, s.device) }) {
		t.Fatalf("swept %v, %v", removed, err)
	}
	l, err := netlink.LinkByName(s.device)
	if err != nil {
		t.Fatal(err)
	}
	// The owner dies last of all: another package's test may run kbench clean,
	// which would remove the device before this sweep does.
	owner := exec.Command("sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	err = netlink.LinkSetAlias(l, child.Identity(owner.Process.Pid))
	_, _ = owner.Process.Kill(), owner.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := Sweep(func(string) bool { return false }); err != nil || len(removed) != 0 {
		t.Errorf("swept another's %v, %v", removed, err)
	}
	removed, err := Sweep(nil)
	if err != nil || !slices.Contains(removed, "network device "+s.device) {
		t.Fatalf("swept %v, %v", removed, err)
	}
	if _, err := netlink.LinkByName(s.device); err == nil {
		t.Errorf("the device %s is still there", s.device)
	}
}

// A list that others change while the kernel gives it is asked for again: two
// clusters that come and go side by side are no fault of either.
func TestListsAreWhole(t *testing.T) {
	needRights(t)
	ended, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-ended:
				done <- nil
				return
			default:
			}
			s, err := NewSwitch()
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for range 2000 {
		if _, err := routed(); err != nil {
			t.Fatal(err)
		}
		if _, err := Left(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	close(ended)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSubnets(t *testing.T) {
	whole := netip.MustParsePrefix("10.192.0.0/13")
	seen := map[netip.Prefix]bool{}
	for i := range blocks {
		b := block(i)
		if seen[b] || !whole.Contains(b.Addr()) || b.Masked() != b {
			t.Fatalf("block %d is %v", i, b)
		}
		seen[b] = true
	}
	used := []netip.Prefix{netip.MustParsePrefix("10.192.4.0/24")}
	if free(block(1), used) || !free(block(2), used) {
		t.Error("a block beside a route is judged wrong")
	}
}
