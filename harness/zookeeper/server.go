package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"kbench/harness/provider"
	"kbench/internal/trace"
)

// Server is one ZooKeeper process. It implements provider.Node.
type Server struct {
	name, dir, addr string
	java            string
	args            []string

	mu       sync.Mutex
	pid      int
	exited   chan struct{}
	exitNs   int64
	exitCode int
}

// Name implements provider.Node.
func (s *Server) Name() string { return s.name }

// Addr is its client address, host:port, the same after every restart.
func (s *Server) Addr() string { return s.addr }

// Start implements provider.Node. It does not wait until the server serves.
func (s *Server) Start(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runningLocked() {
		return fmt.Errorf("start %s: it is still running", s.name)
	}
	log, err := os.OpenFile(s.file("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(s.java, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	// A group of its own keeps Ctrl-C from it; the kernel kills it with the
	// thread that started it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	exited, started := make(chan struct{}), make(chan error, 1)
	s.exited = exited
	go s.keep(cmd, started, exited)
	if err := <-started; err != nil {
		close(exited)
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	s.pid = cmd.Process.Pid
	return writePID(s.file("pid"), s.pid)
}

// keep holds the thread that the child's life is tied to until it has exited.
func (s *Server) keep(cmd *exec.Cmd, started chan<- error, exited chan struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := provider.StartNice(cmd)
	started <- err
	if err != nil {
		return
	}
	_ = cmd.Wait()
	now := trace.Now()
	s.mu.Lock()
	s.exitNs, s.exitCode = now, cmd.ProcessState.ExitCode()
	s.mu.Unlock()
	close(exited)
}

// Signal implements provider.Node.
func (s *Server) Signal(_ context.Context, sig provider.Signal) (int64, error) {
	number, ok := map[provider.Signal]syscall.Signal{
		provider.Term: syscall.SIGTERM, provider.Kill: syscall.SIGKILL,
		provider.Pause: syscall.SIGSTOP, provider.Resume: syscall.SIGCONT,
	}[sig]
	if !ok {
		return 0, fmt.Errorf("signal %s: %q is not known", s.name, sig)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.runningLocked() {
		return 0, fmt.Errorf("signal %s: it has exited", s.name)
	}
	now := trace.Now()
	if err := syscall.Kill(s.pid, number); err != nil {
		return 0, fmt.Errorf("signal %s: %w", s.name, err)
	}
	return now, nil
}

// Wait implements provider.Node.
func (s *Server) Wait(ctx context.Context) (int64, int, error) {
	s.mu.Lock()
	exited := s.exited
	s.mu.Unlock()
	if exited == nil {
		return 0, 0, fmt.Errorf("wait for the exit of %s: it was never started", s.name)
	}
	select {
	case <-exited:
	case <-ctx.Done():
		return 0, 0, fmt.Errorf("wait for the exit of %s: %w", s.name, ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exitNs, s.exitCode, nil
}

// Running implements provider.Node.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runningLocked()
}

func (s *Server) code() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exitCode
}

func (s *Server) runningLocked() bool {
	if s.exited == nil {
		return false
	}
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// Trace implements provider.Node: ZooKeeper writes none.
func (s *Server) Trace(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

// Collect implements provider.Node.
func (s *Server) Collect(_ context.Context, dir string) error {
	b, err := os.ReadFile(s.file("server.log"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, s.name+".log"), b, 0o644)
}

// logTail is the end of the log for an error message.
func (s *Server) logTail() string {
	b, err := os.ReadFile(s.file("server.log"))
	if err != nil || len(bytes.TrimSpace(b)) == 0 {
		return "(empty)"
	}
	const tail = 600
	b = bytes.TrimSpace(b)
	if len(b) > tail {
		b = b[len(b)-tail:]
	}
	return strings.ReplaceAll(string(b), "\n", " | ")
}

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }

// writePID records pid and its start time, which the clean-up of a run whose
// owner was killed compares before it kills.
func writePID(file string, pid int) error {
	start := ""
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		if _, rest, ok := strings.Cut(string(b), ") "); ok {
			if f := strings.Fields(rest); len(f) > 19 {
				start = f[19] // field 22 of proc(5)
			}
		}
	}
	return os.WriteFile(file, fmt.Appendf(nil, "%d %s\n", pid, start), 0o644)
}
