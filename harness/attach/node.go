package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"kbench/harness/provider"
	"kbench/internal/trace"
	"kbench/kafka"
)

// hookWithin bounds one command of the user's.
const hookWithin = 2 * time.Minute

// Hooks gives the user's command for a hook, "" where there is none.
type Hooks func(name string) string

// Node is a node of a cluster that was found. What is done to it is done by the
// user's hooks. It implements provider.Node.
type Node struct {
	name  string
	id    kafka.BrokerID
	addr  string // "" for a controller, whose listener brokers do not tell
	roles []string
	hooks Hooks

	mu   sync.Mutex
	down bool // a hook ended it
}

var _ provider.Node = (*Node)(nil)

// NewNode makes a node with its roles, broker or controller, in the order in
// which their hooks are looked for.
func NewNode(id kafka.BrokerID, addr string, hooks Hooks, roles ...string) *Node {
	return &Node{name: fmt.Sprintf("%s-%d", roles[0], id), id: id, addr: addr, roles: roles, hooks: hooks}
}

// Name implements provider.Node.
func (n *Node) Name() string { return n.name }

// hookOf is what each signal is called in the names of hooks.
var hookOf = map[provider.Signal]string{
	provider.Term: "stop", provider.Kill: "kill", provider.Pause: "pause", provider.Resume: "resume",
}

// Signal implements provider.Node: it runs the hook to its end. The stamp is
// that of the hook's start.
func (n *Node) Signal(ctx context.Context, s provider.Signal) (int64, error) {
	now := trace.Now()
	if err := n.run(ctx, hookOf[s]); err != nil {
		return 0, err
	}
	n.setDown(s == provider.Term || s == provider.Kill)
	return now, nil
}

// Start implements provider.Node.
func (n *Node) Start(ctx context.Context) error {
	if err := n.run(ctx, "start"); err != nil {
		return err
	}
	n.setDown(false)
	return nil
}

func (n *Node) setDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

// run runs the hook of a fault. Its output goes into the error alone.
func (n *Node) run(ctx context.Context, fault string) error {
	command := ""
	for _, role := range n.roles {
		if command = n.hooks(fault + "-" + role); command != "" {
			break
		}
	}
	if command == "" {
		return fmt.Errorf("%s %s: there is no hook for it; write attach: {hooks: {%s-%s: 'command'}}", fault, n.name, fault, n.roles[0])
	}
	ctx, cancel := context.WithTimeoutCause(ctx, hookWithin, fmt.Errorf("not done within %v", hookWithin))
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = append(os.Environ(), "KBENCH_NODE="+strconv.Itoa(int(n.id)), "KBENCH_ADDR="+n.addr, "KBENCH_FAULT="+fault)
	// A group of its own, so that Ctrl-C in the terminal reaches kbench alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // a hook may leave a child that holds its output
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("hook %s of %s: %w: %s", fault, n.name, errors.Join(err, context.Cause(ctx)), lastOf(out))
	}
	return nil
}

// lastOf is the end of what a hook said, on one line.
func lastOf(out []byte) string {
	const most = 300
	text := strings.Join(strings.Fields(string(out)), " ")
	if text == "" {
		return "it said nothing"
	}
	return text[max(0, len(text)-most):]
}

// Wait implements provider.Node: a node is gone when nothing accepts connections
// at its address. Where that is not known the end of the hook must do.
func (n *Node) Wait(ctx context.Context) (int64, int, error) {
	const pause = 20 * time.Millisecond
	for n.addr != "" && accepts(ctx, n.addr) {
		select {
		case <-ctx.Done():
			return 0, 0, fmt.Errorf("%s still accepts connections at %s after the hook has ended: %w", n.name, n.addr, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
	return trace.Now(), 0, ctx.Err()
}

func accepts(ctx context.Context, addr string) bool {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return ctx.Err() != nil // an end of the context tells nothing of the node
	}
	_ = conn.Close()
	return true
}

// Running implements provider.Node.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.down
}

// Trace implements provider.Node: there is none.
func (n *Node) Trace(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

// Collect implements provider.Node: its files are the user's.
func (n *Node) Collect(context.Context, string) error { return nil }
