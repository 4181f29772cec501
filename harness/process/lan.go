package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"kbench/harness/netfault/agent"
	"kbench/harness/netns"
	"kbench/harness/provider"
)

// lan is the network of a cluster whose nodes have a namespace each. Its places
// are guarded by the provider's lock.
type lan struct {
	network *netns.Switch
	binary  string // whose `netfault` command runs in namespaces
	places  map[string]*place

	mu     sync.Mutex
	agents []*agent.Client
	closed bool
}

// place is where a node lives.
type place struct {
	ns   *netns.Namespace
	next uint16 // port
}

// firstPort is a node's first; those after it follow. Nobody else is there.
const firstPort = 9092

func newLAN(binary string) (*lan, error) {
	if err := netns.Check(); err != nil {
		return nil, err
	}
	n, err := netns.NewSwitch()
	if err != nil {
		return nil, err
	}
	return &lan{network: n, binary: binary, places: map[string]*place{}}, nil
}

func (l *lan) place(node string) (*place, error) {
	if at := l.places[node]; at != nil {
		return at, nil
	}
	ns, err := l.network.Attach()
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node, err)
	}
	at := &place{ns: ns, next: firstPort}
	l.places[node] = at
	return at, nil
}

func (l *lan) reserve(node string, n int) (string, []uint16, error) {
	at, err := l.place(node)
	if err != nil {
		return "", nil, err
	}
	ports := make([]uint16, n)
	for i := range ports {
		ports[i] = at.next
		at.next++
	}
	return at.ns.Addr().String(), ports, nil
}

func (l *lan) within(node string) (func(func() error) error, error) {
	at, err := l.place(node)
	if err != nil {
		return nil, err
	}
	return at.ns.Do, nil
}

// networked gives a node the agent of its namespace. The node has a place.
func (l *lan) networked(n provider.Node) provider.Node {
	return &networked{Node: n, lan: l, ns: l.places[n.Name()].ns}
}

// networked is a node in a namespace of its own. The namespace outlives the
// node's restarts, and so does the agent in it.
type networked struct {
	provider.Node
	lan *lan
	ns  *netns.Namespace

	mu    sync.Mutex
	agent *agent.Client
}

var _ provider.Networked = (*networked)(nil)

// Unwrap gives the node itself, for provider.As.
func (n *networked) Unwrap() provider.Node { return n.Node }

// Agent implements provider.Networked.
func (n *networked) Agent(ctx context.Context) (*agent.Client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.agent != nil && !n.agent.Gone() {
		return n.agent, nil
	}
	c, err := n.lan.startAgent(ctx, n.ns)
	if err != nil {
		return nil, fmt.Errorf("network of %s: %w", n.Name(), err)
	}
	n.agent = c
	return c, nil
}

// agentPipes are an agent's input and output. Closing ends the input; the
// output ends when the agent has.
type agentPipes struct {
	io.WriteCloser
	out *os.File
}

// Read reads to the agent's last word.
func (p agentPipes) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if err != nil {
		_ = p.out.Close()
	}
	return n, err
}

// startAgent runs `kbench netfault` in a namespace. It ends when its input does,
// and so does not outlive kbench.
func (l *lan) startAgent(ctx context.Context, ns *netns.Namespace) (*agent.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("the provider is closed")
	}
	cmd := exec.Command(l.binary, "netfault")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in the terminal reaches kbench alone
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, said, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	cmd.Stdout, cmd.Stderr = said, said
	err = ns.Do(cmd.Start)
	_ = said.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the network agent: %w", err), in.Close(), out.Close())
	}
	go func() { _ = cmd.Wait() }() // ends with the agent, which Close of the client waits for
	c, err := agent.Connect(ctx, agentPipes{in, out})
	if err != nil {
		return nil, err
	}
	l.agents = append(l.agents, c)
	return c, nil
}

// endAgents heals every network.
func (l *lan) endAgents() error {
	l.mu.Lock()
	agents := l.agents
	l.agents, l.closed = nil, true
	l.mu.Unlock()
	var errs []error
	for _, c := range agents {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
