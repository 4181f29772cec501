package kafka

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
	"kbench/harness/jvm"
	"kbench/harness/provider"
)

// Config says what to start and where. All fields but those of Kafka that may
// be empty must be set.
type Config struct {
	Installation
	provider.Kafka
	Dir string // of this node alone
	// Within is where the process starts, see child.Process; nil is beside
	// kbench.
	Within func(start func() error) error
}

// Server is one process of Kafka. It implements provider.Node.
type Server struct {
	*child.Process
	cfg Config
}

var (
	_ provider.Emptied = (*Server)(nil)
	_ provider.Heaped  = (*Server)(nil)
)

// Start writes the node's files, formats its storage where that is asked for,
// and starts it. It does not wait until it serves.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil { // the node's own directory is another
		return nil, fmt.Errorf("start %s: %w", cfg.Name, err)
	}
	s := &Server{Process: child.New(cfg.Name, filepath.Join(cfg.Dir, "pid")), cfg: cfg}
	s.Process.Within = cfg.Within
	err = cfg.prepare(ctx)
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// prepare makes the node ready for its first start.
func (c Config) prepare(ctx context.Context) error {
	if err := c.configure(); err != nil || c.ClusterID == "" {
		return err
	}
	return c.format(ctx)
}

// Empty implements provider.Emptied.
func (s *Server) Empty(ctx context.Context) error {
	if s.Running() {
		return fmt.Errorf("remove the data of %s: %w", s.Name(), child.ErrRunning)
	}
	if err := os.RemoveAll(s.cfg.place().Data); err != nil {
		return err
	}
	return s.cfg.prepare(ctx)
}

// configure writes the node's files and makes its directories.
func (c Config) configure() error {
	if err := os.MkdirAll(c.place().Data, 0o755); err != nil {
		return fmt.Errorf("make the directory of %s: %w", c.Name, err)
	}
	for file, text := range c.place().Files(c.Properties) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("configure %s: %w", c.Name, err)
		}
	}
	return nil
}

// place is where the node's files are on this machine.
func (c Config) place() Place {
	return Place{Conf: c.Dir, Libs: c.Libs, Data: filepath.Join(c.Dir, "data")}
}

// Start implements provider.Node.
func (s *Server) Start(context.Context) error {
	if s.Running() {
		return fmt.Errorf("start %s: %w", s.Name(), child.ErrRunning)
	}
	log, err := os.OpenFile(s.file(logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Name(), err)
	}
	defer func() { _ = log.Close() }()
	place, own := s.cfg.place(), []string{"-XX:ErrorFile=" + s.file("hs_err.log")}
	if s.cfg.Record {
		own = append(own, jvm.RecordFlags(s.file(recordingDir))...)
	}
	args := place.Args(s.cfg.Heap, append(own, s.cfg.JVM...))
	cmd := exec.Command(s.cfg.Java, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.cfg.Dir, log, log
	// A group of its own, so that Ctrl-C in the terminal reaches kbench alone;
	// it is killed when kbench is.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := jvm.Launch(s.Process, cmd, s.file(metricsFile), s.file("data")); err != nil {
		return fmt.Errorf("start %s: %w", s.Name(), err)
	}
	return nil
}

// ordered is the exit code of a JVM that SIGTERM ended after its shutdown hooks
// had run, which is how Kafka stops in an orderly way.
const ordered = 128 + int(syscall.SIGTERM)

// Wait implements provider.Node. An orderly stop is code 0, as it is of other
// nodes.
func (s *Server) Wait(ctx context.Context) (int64, int, error) {
	seen, code, err := s.Process.Wait(ctx)
	if code == ordered {
		code = 0
	}
	return seen, code, err
}

// The node's files over all its starts.
const (
	logFile      = "server.log"
	metricsFile  = "metrics.jsonl"
	recordingDir = "recording"
)

// Trace implements provider.Node: what the log tells.
func (s *Server) Trace(context.Context) (io.ReadCloser, error) {
	f, err := os.Open(s.file(logFile))
	if errors.Is(err, os.ErrNotExist) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var b bytes.Buffer
	err = WriteTrace(&b, s.Name(), f, WallToMonotonic())
	return io.NopCloser(&b), err
}

// DumpRecording implements provider.Recorder.
func (s *Server) DumpRecording(ctx context.Context, file string) error {
	if !s.cfg.Record || !s.Running() {
		return nil
	}
	return jvm.Dump(ctx, s.cfg.Java, s.Pid(), file)
}

// Collect implements provider.Node. The configuration goes with the log.
func (s *Server) Collect(ctx context.Context, dir string) error {
	r, err := s.Trace(ctx)
	if err != nil {
		return err
	}
	var errs []error
	if b, err := io.ReadAll(r); err != nil {
		errs = append(errs, err)
	} else if len(b) > 0 {
		errs = append(errs, os.WriteFile(filepath.Join(dir, s.Name()+".trace.jsonl"), b, 0o644))
	}
	errs = append(errs, s.CopyFiles(dir, map[string]string{s.file(logFile): ".log", s.file(metricsFile): ".metrics.jsonl", s.file("server.properties"): ".properties"}))
	return errors.Join(errs...)
}

func (s *Server) file(name string) string { return filepath.Join(s.cfg.Dir, name) }
