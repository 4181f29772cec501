package docker

import (
	"strings"
	"testing"
	"time"

	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
)

// agentOf starts the sidecar of a node.
func agentOf(t *testing.T, n *Node) *agent.Client {
	t.Helper()
	a, err := n.Agent(within(t, 4*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Here().Addr().String(); got != n.IP() {
		t.Fatalf("the agent of %s is at %s, the node at %s", n.Name(), got, n.IP())
	}
	return a
}

func setFaults(t *testing.T, a *agent.Client, faults ...netfault.Fault) {
	t.Helper()
	if err := a.Set(within(t, 4*time.Minute), faults); err != nil {
		t.Fatal(err)
	}
}

// What is lost is waited for a moment; a link that should be whole may take its
// time on a busy machine.
const lost, whole = 500 * time.Millisecond, 20 * time.Second

func connects(t *testing.T, from, to *agent.Client, within time.Duration) bool {
	t.Helper()
	_, err := from.Reach(t.Context(), to.Here(), within)
	return err == nil
}

// heardOf counts the datagrams of a token, up to n, until none has come for a
// second.
func heardOf(t *testing.T, a *agent.Client, token string, n int) int {
	t.Helper()
	heard, since := 0, time.Now()
	for heard < n && time.Since(since) < time.Second {
		got, err := a.Heard(t.Context(), token)
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

func TestIsolatedContainer(t *testing.T) {
	p := newProvider(t)
	n, addr := launch(t, p, "broker-1")
	m, _ := launch(t, p, "broker-2")
	answers(t, n, addr, "boot 1")
	victim, peer := agentOf(t, n), agentOf(t, m)
	if again := agentOf(t, n); again != victim {
		t.Error("a second call started a second agent")
	}
	check := func(within time.Duration) {
		t.Helper()
		want := within == whole
		if (ask(addr, within) == "boot 1") != want || connects(t, victim, peer, within) != want || connects(t, peer, victim, within) != want {
			t.Fatalf("the links of the victim: want them whole: %v", want)
		}
	}
	check(whole)
	setFaults(t, victim, netfault.Isolation())
	check(lost)
	setFaults(t, victim)
	check(whole)
}

func TestCutLinkOfContainers(t *testing.T) {
	p := newProvider(t)
	var a []*agent.Client
	for _, name := range []string{"a", "b", "c"} {
		n, addr := launch(t, p, name)
		answers(t, n, addr, "boot 1")
		a = append(a, agentOf(t, n))
	}
	heard := func(from, to *agent.Client, token string) int {
		t.Helper()
		const n = 5
		if err := from.Send(t.Context(), to.Here(), token, n); err != nil {
			t.Fatal(err)
		}
		return heardOf(t, to, token, n)
	}
	setFaults(t, a[0], netfault.CutFrom(netfault.In, a[1].Here().Addr()))
	if in, out := heard(a[1], a[0], "in"), heard(a[0], a[1], "out"); in != 0 || out != 5 {
		t.Errorf("cut in: %d of 5 arrive and %d leave", in, out)
	}
	setFaults(t, a[0], netfault.CutFrom(netfault.Out, a[1].Here().Addr()))
	if in, out := heard(a[1], a[0], "in 2"), heard(a[0], a[1], "out 2"); in != 5 || out != 0 {
		t.Errorf("cut out: %d of 5 arrive and %d leave", in, out)
	}
	setFaults(t, a[0], netfault.CutFrom(netfault.Both, a[1].Here().Addr()))
	if connects(t, a[0], a[1], lost) || connects(t, a[1], a[0], lost) || !connects(t, a[0], a[2], whole) || !connects(t, a[2], a[0], whole) {
		t.Error("cut both: the link is whole, or another is not")
	}
	setFaults(t, a[0])
	if !connects(t, a[0], a[1], whole) || !connects(t, a[1], a[0], whole) {
		t.Error("the link does not heal")
	}
}

func TestLossAndRateOfContainers(t *testing.T) {
	p := newProvider(t)
	n, _ := launch(t, p, "a")
	m, _ := launch(t, p, "b")
	from, to := agentOf(t, n), agentOf(t, m)
	const sent = 1000
	setFaults(t, to, netfault.Fault{Kind: netfault.Loss, Share: 0.5, Direction: netfault.In})
	if err := from.Send(t.Context(), to.Here(), "loss", sent); err != nil {
		t.Fatal(err)
	}
	// Six standard deviations of the binomial are 95.
	if got := heardOf(t, to, "loss", sent); got < sent/2-95 || got > sent/2+95 {
		t.Errorf("%d of %d pass with a loss of a half", got, sent)
	}
	setFaults(t, to)
	setFaults(t, from, netfault.Fault{Kind: netfault.Rate, BitsPerSecond: 8 << 20})
	took, err := from.Push(t.Context(), to.Here(), 1<<20, time.Minute)
	if err != nil || took < 850*time.Millisecond {
		t.Errorf("1 MiB takes %v at 8 Mibit/s, %v", took, err)
	}
}

// TestAgentOfARestartedContainer: a restart gives the container another
// network, and the agent of the old one must not be taken for its agent.
func TestAgentOfARestartedContainer(t *testing.T) {
	p := newProvider(t)
	ctx := within(t, 4*time.Minute)
	n, addr := launch(t, p, "broker-1")
	answers(t, n, addr, "boot 1")
	setFaults(t, agentOf(t, n), netfault.Isolation())
	kill(t, n)
	if _, err := n.Agent(ctx); err == nil || !strings.Contains(err.Error(), "exited") {
		t.Errorf("an exited node's agent: %v", err)
	}
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	answers(t, n, addr, "boot 2") // the new network is whole
	setFaults(t, agentOf(t, n), netfault.Isolation())
	if got := ask(addr, lost); got == "boot 2" {
		t.Error("the fault does not bite after a restart")
	}
}

func TestCloseLeavesNoAgent(t *testing.T) {
	p := newProvider(t)
	n, _ := launch(t, p, "broker-1")
	agentOf(t, n)
	if got := leftOf(t, runName(t)); len(got) != 4 { // node, agent, network, volume
		t.Errorf("the run has %v", got)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := leftOf(t, runName(t)); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// TestDelayOfContainers requires that a delay is there, or refused with the
// reason: not every kernel can.
func TestDelayOfContainers(t *testing.T) {
	p := newProvider(t)
	n, _ := launch(t, p, "a")
	m, _ := launch(t, p, "b")
	from, to := agentOf(t, n), agentOf(t, m)
	const delay = 100 * time.Millisecond
	err := from.Set(within(t, 4*time.Minute), []netfault.Fault{{Kind: netfault.Delay, Delay: delay}})
	took, reached := from.Reach(t.Context(), to.Here(), whole)
	switch {
	case reached != nil:
		t.Error(reached)
	case err == nil && took < delay:
		t.Errorf("connecting takes %v under a delay of %v", took, delay)
	case err != nil && (!strings.Contains(err.Error(), "sch_netem") || !strings.Contains(err.Error(), "packet queue")):
		t.Errorf("refused without the reason: %v", err)
	}
}
