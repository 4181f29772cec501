package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"kbench/harness/cpuquota"
	"kbench/harness/provider"
	"kbench/internal/trace"
)

// ErrRunning is the error of a start of a process that has not exited.
var ErrRunning = errors.New("it is still running")

// Process is a child that may be started again after it has exited. It has the
// methods Name, Signal, Wait and Running of provider.Node.
type Process struct {
	// Within calls start where the process shall live, such as in a network of
	// its own, and gives its error; nil calls it where kbench lives. It is set
	// before the first start.
	Within func(start func() error) error

	name    string
	pidFile string

	mu       sync.Mutex
	cmd      *exec.Cmd
	exited   chan struct{} // nil before the first start
	exitNs   int64
	exitCode int
	quota    *cpuquota.Group // nil without a bound of its processor time
}

// New names a process that is not started yet. Each start is recorded in
// pidFile.
func New(name, pidFile string) *Process { return &Process{name: name, pidFile: pidFile} }

// Name implements provider.Node.
func (p *Process) Name() string { return p.name }

// Launch starts cmd at the nodes' priority, and calls ended, which may be nil,
// when it has exited. The thread that starts it is held until then, since the
// child may be tied to it (Pdeathsig).
func (p *Process) Launch(cmd *exec.Cmd, ended func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runningLocked() {
		return ErrRunning
	}
	started, exited := make(chan error, 1), make(chan struct{})
	go p.keep(cmd, started, exited, ended)
	if err := <-started; err != nil {
		return err
	}
	p.cmd, p.exited = cmd, exited
	return Record(p.pidFile, cmd.Process.Pid)
}

func (p *Process) keep(cmd *exec.Cmd, started chan<- error, exited chan struct{}, ended func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := func() error { return provider.StartNice(cmd) }
	if p.Within != nil {
		inside := start
		start = func() error { return p.Within(inside) }
	}
	err := start()
	started <- err
	if err != nil {
		return
	}
	_ = cmd.Wait()
	now := trace.Now()
	if ended != nil {
		ended()
	}
	p.mu.Lock()
	p.exitNs, p.exitCode = now, cmd.ProcessState.ExitCode()
	p.mu.Unlock()
	close(exited)
}

// Signal implements provider.Node. Pause returns once the process stands still.
func (p *Process) Signal(ctx context.Context, s provider.Signal) (int64, error) {
	sig, ok := map[provider.Signal]syscall.Signal{
		provider.Term: syscall.SIGTERM, provider.Kill: syscall.SIGKILL,
		provider.Pause: syscall.SIGSTOP, provider.Resume: syscall.SIGCONT,
		provider.Reread: syscall.SIGUSR1, provider.Weigh: syscall.SIGUSR2,
	}[s]
	if !ok {
		return 0, fmt.Errorf("signal %s: %q is not known", p.name, s)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.runningLocked() {
		return 0, fmt.Errorf("signal %s: it has exited", p.name)
	}
	now := trace.Now()
	if err := p.cmd.Process.Signal(sig); err != nil {
		return 0, fmt.Errorf("signal %s: %w", p.name, err)
	}
	if s == provider.Pause {
		if err := awaitStopped(ctx, p.cmd.Process.Pid); err != nil {
			return 0, fmt.Errorf("signal %s: %w", p.name, err)
		}
	}
	return now, nil
}

// Wait implements provider.Node.
func (p *Process) Wait(ctx context.Context) (int64, int, error) {
	p.mu.Lock()
	exited := p.exited
	p.mu.Unlock()
	if exited == nil {
		return 0, 0, fmt.Errorf("wait for the exit of %s: it was never started", p.name)
	}
	select {
	case <-exited:
	case <-ctx.Done():
		return 0, 0, fmt.Errorf("wait for the exit of %s: %w", p.name, ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exitNs, p.exitCode, nil
}

// Running implements provider.Node.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runningLocked()
}

// Pid is that of the latest start, 0 before the first.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Code is the exit code of the latest end, -1 where a signal ended it.
func (p *Process) Code() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exitCode
}

func (p *Process) runningLocked() bool {
	if p.exited == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}
