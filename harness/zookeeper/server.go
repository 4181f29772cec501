package zookeeper

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"kbench/harness/child"
	"kbench/harness/jvm"
)

// Server is one ZooKeeper process. It implements provider.Node.
type Server struct {
	*child.Process
	dir, addr string
	java      string
	args      []string
	record    bool
}

// Addr is its client address, host:port, the same after every restart.
func (s *Server) Addr() string { return s.addr }

// Start implements provider.Node. It does not wait until the server serves.
func (s *Server) Start(context.Context) error {
	if s.Running() {
		return fmt.Errorf("start %s: %w", s.Name(), child.ErrRunning)
	}
	log, err := os.OpenFile(s.file(logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Name(), err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(s.java, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	// A group of its own keeps Ctrl-C from it; the kernel kills it with the
	// thread that started it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := jvm.Launch(s.Process, cmd, s.file(metricsFile), s.DataDir()); err != nil {
		return fmt.Errorf("start %s: %w", s.Name(), err)
	}
	return nil
}

// Trace implements provider.Node: ZooKeeper writes none.
func (s *Server) Trace(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), nil
}

// The server's files over all its starts.
const (
	logFile     = "server.log"
	metricsFile = "metrics.jsonl"
)

// Collect implements provider.Node.
func (s *Server) Collect(_ context.Context, dir string) error {
	return s.CopyFiles(dir, map[string]string{s.file(logFile): ".log", s.file(metricsFile): ".metrics.jsonl"})
}

// DumpRecording implements provider.Recorder.
func (s *Server) DumpRecording(ctx context.Context, file string) error {
	if !s.record || !s.Running() {
		return nil
	}
	return jvm.Dump(ctx, s.java, s.Pid(), file)
}

// logTail is the end of the log for an error message.
func (s *Server) logTail() string {
	b, err := os.ReadFile(s.file(logFile))
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
