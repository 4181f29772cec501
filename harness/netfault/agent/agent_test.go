package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
	"kbench/harness/netns"
)

// The test binary plays the program in a namespace.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "netfault" {
		if err := agent.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pipes are the agent's input and output.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// startAgents starts n agents, each in a namespace of its own on one switch.
func startAgents(t *testing.T, n int) []*agent.Client {
	t.Helper()
	if err := netns.Check(); err != nil {
		if os.Getenv("KBENCH_REQUIRE_NETNS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s, err := netns.NewSwitch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var out []*agent.Client
	for range n {
		ns, err := s.Attach()
		if err != nil {
			t.Fatal(err)
		}
		c := startAgent(t, ns)
		if c.Here().Addr() != ns.Addr() {
			t.Fatalf("the agent of %v says that it is at %v", ns.Addr(), c.Here())
		}
		out = append(out, c)
	}
	return out
}

func startAgent(t *testing.T, ns *netns.Namespace) *agent.Client {
	t.Helper()
	cmd := exec.Command(os.Args[0], "netfault")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = outW, outW
	if err := ns.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	_ = outW.Close()
	c, err := agent.Connect(t.Context(), pipes{outR, in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		_ = outR.Close()
	})
	return c
}

func set(t *testing.T, c *agent.Client, faults ...netfault.Fault) {
	t.Helper()
	if err := c.Set(t.Context(), faults); err != nil {
		t.Fatal(err)
	}
}

var tokens int

// passes counts how many of n datagrams get from one agent to another: until all
// have come, or none has for a second.
func passes(t *testing.T, from, to *agent.Client, n int) int {
	t.Helper()
	tokens++
	token := fmt.Sprint("t", tokens)
	if err := from.Send(t.Context(), to.Here(), token, n); err != nil {
		t.Fatal(err)
	}
	heard, since := 0, time.Now()
	for heard < n && time.Since(since) < time.Second {
		got, err := to.Heard(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if got != heard {
			heard, since = got, time.Now()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return heard
}

// connects reports whether a link that should be whole is: on a busy machine it
// may take its time.
func connects(t *testing.T, from, to *agent.Client) bool {
	t.Helper()
	_, err := from.Reach(t.Context(), to.Here(), 20*time.Second)
	return err == nil
}

// severed reports whether a link that should be cut is.
func severed(t *testing.T, from, to *agent.Client) bool {
	t.Helper()
	_, err := from.Reach(t.Context(), to.Here(), 300*time.Millisecond)
	return err != nil
}

func TestIsolationBitesAndHeals(t *testing.T) {
	c := startAgents(t, 3)
	victim, other := c[0], c[1]
	links := func(want bool) {
		t.Helper()
		as := severed
		if want {
			as = connects
		}
		for _, peer := range c[1:] {
			if !as(t, victim, peer) || !as(t, peer, victim) {
				t.Fatalf("a link of the victim with %v: want it whole: %v", peer.Here(), want)
			}
		}
		if !connects(t, other, c[2]) {
			t.Fatal("the others cannot reach each other")
		}
		if !connects(t, victim, victim) {
			t.Fatal("the victim cannot reach itself")
		}
	}
	links(true)
	set(t, victim, netfault.Isolation())
	links(false)
	set(t, victim)
	links(true)
}

func TestCutInEachDirection(t *testing.T) {
	c := startAgents(t, 3)
	victim, peer, other := c[0], c[1], c[2]
	for _, f := range []struct {
		direction netfault.Direction
		in, out   int // of 5 datagrams
	}{{netfault.Both, 0, 0}, {netfault.In, 0, 5}, {netfault.Out, 5, 0}} {
		set(t, victim, netfault.CutFrom(f.direction, peer.Here().Addr()))
		if in, out := passes(t, peer, victim, 5), passes(t, victim, peer, 5); in != f.in || out != f.out {
			t.Errorf("cut %s: %d of 5 arrive and %d leave, want %d and %d", f.direction, in, out, f.in, f.out)
		}
		if passes(t, other, victim, 5) != 5 || passes(t, victim, other, 5) != 5 {
			t.Errorf("cut %s meets a link that is not cut", f.direction)
		}
	}
	set(t, victim)
	if passes(t, peer, victim, 5) != 5 || passes(t, victim, peer, 5) != 5 {
		t.Error("the link does not heal")
	}
}

func TestLoss(t *testing.T) {
	c := startAgents(t, 2)
	const n, share = 2000, 0.3
	set(t, c[1], netfault.Fault{Kind: netfault.Loss, Share: share, Direction: netfault.In, Peers: []netip.Addr{c[0].Here().Addr()}})
	// Six standard deviations of the binomial are 123.
	if got := passes(t, c[0], c[1], n); got < n*(1-share)-123 || got > n*(1-share)+123 {
		t.Errorf("%d of %d pass with a loss of %v", got, n, share)
	}
	if got := passes(t, c[1], c[0], 100); got != 100 {
		t.Errorf("%d of 100 pass in the direction without loss", got)
	}
	set(t, c[1])
	if got := passes(t, c[0], c[1], 500); got != 500 {
		t.Errorf("%d of 500 pass after healing", got)
	}
}

// TestRate pushes, at rates far apart, what goes through at once and then a
// second's worth.
func TestRate(t *testing.T) {
	c := startAgents(t, 2)
	push := func(bytes int64) time.Duration {
		took, err := c[0].Push(t.Context(), c[1].Here(), bytes, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return took
	}
	for _, rate := range []uint64{256_000, 8_000_000, 100_000_000} {
		bytes := agent.Burst(rate) + int64(rate)/8
		set(t, c[0], netfault.Fault{Kind: netfault.Rate, BitsPerSecond: rate})
		if took := push(bytes); took < 900*time.Millisecond {
			t.Errorf("%d bytes take %v at %d bit/s", bytes, took, rate)
		}
		awaitQuick(t, func() time.Duration { return push(bytes) }, 4*time.Second)
	}
	set(t, c[0])
	awaitQuick(t, func() time.Duration { return push(4 << 20) }, 900*time.Millisecond)
}

// TestDelay requires that a delay is there, by netem or by the queue in user
// space, or refused with the reason: not every kernel can.
func TestDelay(t *testing.T) {
	c := startAgents(t, 2)
	reach := func() time.Duration {
		took, err := c[0].Reach(t.Context(), c[1].Here(), 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return took
	}
	const delay = 100 * time.Millisecond
	err := c[0].Set(t.Context(), []netfault.Fault{netfault.Isolation(), {Kind: netfault.Delay, Delay: delay}})
	if err != nil {
		if !strings.Contains(err.Error(), "sch_netem") || !strings.Contains(err.Error(), "packet queue") {
			t.Errorf("refused without the reason: %v", err)
		}
		reach() // all or nothing: it is not isolated either
		t.Logf("no delay here: %v", err)
		return
	}
	for _, jitter := range []time.Duration{0, delay / 4} { // the second takes the place of the first
		set(t, c[0], netfault.Fault{Kind: netfault.Delay, Delay: delay, Jitter: jitter})
		if took := reach(); took < delay-jitter {
			t.Errorf("connecting takes %v under a delay of %v ± %v", took, delay, jitter)
		}
	}
	set(t, c[0], netfault.Fault{Kind: netfault.Delay, Delay: delay}, netfault.Fault{Kind: netfault.Rate, BitsPerSecond: 8_000_000})
	took, err := c[0].Push(t.Context(), c[1].Here(), 1<<20, time.Minute)
	if err != nil || took < 700*time.Millisecond {
		t.Errorf("1 MiB at 8 Mbit/s behind a delay take %v: %v", took, err)
	}
	set(t, c[0])
	awaitQuick(t, reach, delay*9/10)
}

// awaitQuick tries again where a busy machine was slow.
func awaitQuick(t *testing.T, try func() time.Duration, below time.Duration) {
	t.Helper()
	var took time.Duration
	for range 20 {
		if took = try(); took < below {
			return
		}
	}
	t.Errorf("it takes %v, want less than %v", took, below)
}

func TestWrongFaultsChangeNothing(t *testing.T) {
	c := startAgents(t, 2)
	set(t, c[0], netfault.Isolation())
	if err := c[0].Set(t.Context(), []netfault.Fault{{Kind: "fire"}}); err == nil || !strings.Contains(err.Error(), "fire") {
		t.Fatalf("got %v", err)
	}
	if !severed(t, c[0], c[1]) {
		t.Error("a refused request healed what was there")
	}
}

func TestTheEndOfTheAgentHeals(t *testing.T) {
	startAgents(t, 0) // checks the rights
	s, err := netns.NewSwitch()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	a, err := s.Attach()
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Attach()
	if err != nil {
		t.Fatal(err)
	}
	first, peer := startAgent(t, a), startAgent(t, b)
	set(t, first, netfault.Isolation())
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if !first.Gone() {
		t.Error("a closed agent is not gone")
	}
	if err := first.Set(t.Context(), nil); !errors.Is(err, agent.ErrGone) {
		t.Errorf("a call to it gives %v", err)
	}
	if second := startAgent(t, a); !connects(t, second, peer) {
		t.Error("the fault outlived its agent")
	}
}

func TestAnAgentThatCannotStartSaysWhy(t *testing.T) {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "no IPv4 address\n")
		_ = w.Close()
	}()
	_, err := agent.Connect(t.Context(), struct {
		io.Reader
		io.WriteCloser
	}{r, w})
	if err == nil || !strings.Contains(err.Error(), "no IPv4 address") {
		t.Errorf("got %v", err)
	}
}
