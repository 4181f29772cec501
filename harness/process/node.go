package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
)

// Node is one child process.
type Node struct {
	name   string
	dir    string
	binary string
	args   []string
	env    []string

	mu       sync.Mutex
	cmd      *exec.Cmd
	lifeline *os.File // our write end, closed when the child has exited
	exited   chan struct{}
	exitNs   int64
	exitCode int
}

// Name implements provider.Node.
func (n *Node) Name() string { return n.name }

// Start implements provider.Node.
func (n *Node) Start(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runningLocked() {
		return fmt.Errorf("start %s: it is still running", n.name)
	}
	log, err := os.OpenFile(n.file("node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	defer func() { _ = log.Close() }()
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	cmd := exec.Command(n.binary, n.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(append(os.Environ(), n.env...), nodeconfig.LifelineEnv+"=3")
	cmd.ExtraFiles = []*os.File{r}
	// A group of its own, so that Ctrl-C in the terminal reaches kbench alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = provider.StartNice(cmd)
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	n.cmd, n.lifeline, n.exited = cmd, w, make(chan struct{})
	go n.reap(cmd, w, n.exited)
	return writePID(n.file("pid"), cmd.Process.Pid)
}

func (n *Node) reap(cmd *exec.Cmd, lifeline *os.File, exited chan struct{}) {
	_ = cmd.Wait()
	now := trace.Now()
	_ = lifeline.Close()
	n.mu.Lock()
	n.exitNs, n.exitCode = now, cmd.ProcessState.ExitCode()
	n.mu.Unlock()
	close(exited)
}

// Signal implements provider.Node.
func (n *Node) Signal(_ context.Context, s provider.Signal) (int64, error) {
	sig, ok := map[provider.Signal]syscall.Signal{
		provider.Term: syscall.SIGTERM, provider.Kill: syscall.SIGKILL,
		provider.Pause: syscall.SIGSTOP, provider.Resume: syscall.SIGCONT,
	}[s]
	if !ok {
		return 0, fmt.Errorf("signal %s: %q is not known", n.name, s)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.runningLocked() {
		return 0, fmt.Errorf("signal %s: it has exited", n.name)
	}
	now := trace.Now()
	if err := n.cmd.Process.Signal(sig); err != nil {
		return 0, fmt.Errorf("signal %s: %w", n.name, err)
	}
	return now, nil
}

// Wait implements provider.Node.
func (n *Node) Wait(ctx context.Context) (int64, int, error) {
	n.mu.Lock()
	exited := n.exited
	n.mu.Unlock()
	select {
	case <-exited:
	case <-ctx.Done():
		return 0, 0, fmt.Errorf("wait for the exit of %s: %w", n.name, ctx.Err())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.exitNs, n.exitCode, nil
}

// Running implements provider.Node.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runningLocked()
}

func (n *Node) runningLocked() bool {
	if n.exited == nil {
		return false
	}
	select {
	case <-n.exited:
		return false
	default:
		return true
	}
}

// Trace implements provider.Node.
func (n *Node) Trace(context.Context) (io.ReadCloser, error) {
	f, err := os.Open(n.file("trace.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	return f, err
}

// Collect implements provider.Node.
func (n *Node) Collect(_ context.Context, dir string) error {
	var errs []error
	for from, to := range map[string]string{"node.log": ".log", "trace.jsonl": ".trace.jsonl", "metrics.jsonl": ".metrics.jsonl"} {
		err := copyFile(n.file(from), filepath.Join(dir, n.name+to))
		if !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (n *Node) file(name string) string { return filepath.Join(n.dir, name) }

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
