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
	"strings"
	"syscall"

	"kbench/harness/child"
)

// Server is one ZooKeeper process. It implements provider.Node.
type Server struct {
	*child.Process
	dir, addr string
	java      string
	args      []string
}

// Addr is its client address, host:port, the same after every restart.
func (s *Server) Addr() string { return s.addr }

// Start implements provider.Node. It does not wait until the server serves.
func (s *Server) Start(context.Context) error {
	if s.Running() {
		return fmt.Errorf("start %s: %w", s.Name(), child.ErrRunning)
	}
	log, err := os.OpenFile(s.file("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Name(), err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(s.java, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	// A group of its own keeps Ctrl-C from it; the kernel kills it with the
	// thread that started it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.Launch(cmd, nil); err != nil {
		return fmt.Errorf("start %s: %w", s.Name(), err)
	}
	return nil
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
	return os.WriteFile(filepath.Join(dir, s.Name()+".log"), b, 0o644)
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

// DataDir is where it keeps snapshots and its transaction log.
func (s *Server) DataDir() string { return s.file("data") }
