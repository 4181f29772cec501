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
	"slices"
	"strings"
	"syscall"
	"time"

	"kbench/harness/child"
	"kbench/harness/provider"
	"kbench/internal/nodemetrics"
)

// The classes that java runs. The argument of each is named beside it.
const (
	mainClass   = "kafka.Kafka"             // server.properties
	formatClass = "kafka.tools.StorageTool" // format -t ID -c server.properties
)

// Config says what to start and where. All fields but those of Kafka that may
// be empty must be set.
type Config struct {
	Installation
	provider.Kafka
	Dir string // of this node alone
}

// Server is one process of Kafka. It implements provider.Node.
type Server struct {
	*child.Process
	cfg Config
}

var _ provider.Node = (*Server)(nil)

// Start writes the node's files, formats its storage where that is asked for,
// and starts it. It does not wait until it serves.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{Process: child.New(cfg.Name, filepath.Join(cfg.Dir, "pid")), cfg: cfg}
	err := s.configure()
	if err == nil && cfg.ClusterID != "" {
		err = s.format(ctx)
	}
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) configure() error {
	if err := os.MkdirAll(s.file("data"), 0o755); err != nil {
		return fmt.Errorf("make the directory of %s: %w", s.Name(), err)
	}
	p := Properties(s.cfg.Properties).With(Properties{{Key: "log.dirs", Value: s.file("data")}})
	for name, text := range map[string]string{
		"server.properties": p.File(), "log4j2.xml": log4j2, "log4j.properties": log4j1,
	} {
		if err := os.WriteFile(s.file(name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("configure %s: %w", s.Name(), err)
		}
	}
	return nil
}

// format prepares the storage of a KRaft node as kafka-storage.sh does.
func (s *Server) format(ctx context.Context) error {
	// A short life: the compiler that pays off late is left out.
	args := slices.Concat([]string{"-XX:TieredStopAtLevel=1"}, s.base(), []string{
		formatClass, "format", "-t", s.cfg.ClusterID, "-c", s.file("server.properties"),
	})
	out, err := exec.CommandContext(ctx, s.cfg.Java, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format the storage of %s: %w: %s", s.Name(), err, tail(out))
	}
	return nil
}

// base is what every program of Kafka needs of the JVM.
func (s *Server) base() []string {
	return []string{
		"-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true",
		"-Dlog4j2.configurationFile=" + s.file("log4j2.xml"), "-Dlog4j.configuration=file:" + s.file("log4j.properties"),
		"-cp", filepath.Join(s.cfg.Libs, "*"),
	}
}

// Flags are the options that Kafka's start script gives the JVM, with heap for
// both bounds of the heap.
func Flags(heap string) []string {
	return []string{
		"-Xms" + heap, "-Xmx" + heap, "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
	}
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
	args := slices.Concat(
		Flags(s.cfg.Heap), []string{"-XX:ErrorFile=" + s.file("hs_err.log")}, s.cfg.JVM, s.base(),
		[]string{mainClass, s.file("server.properties")},
	)
	cmd := exec.Command(s.cfg.Java, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.cfg.Dir, log, log
	// A group of its own, so that Ctrl-C in the terminal reaches kbench alone;
	// it is killed when kbench is.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	sampling, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	if err := s.Launch(cmd, func() { stop(); <-done }); err != nil {
		stop()
		close(done)
		return fmt.Errorf("start %s: %w", s.Name(), err)
	}
	go s.sample(sampling, s.Pid(), done)
	return nil
}

// sample writes what the process uses until it ends. A file that cannot be
// written costs the figures and not the run.
func (s *Server) sample(ctx context.Context, pid int, done chan<- struct{}) {
	defer close(done)
	_ = (&nodemetrics.Sampler{
		Node: s.Name(), File: s.file(metricsFile), DataDir: s.file("data"), Interval: time.Second, Pid: pid,
	}).Run(ctx)
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
	logFile     = "server.log"
	metricsFile = "metrics.jsonl"
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
	err = WriteTrace(&b, s.Name(), f, wallToMonotonic())
	return io.NopCloser(&b), err
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
	for from, to := range map[string]string{logFile: ".log", metricsFile: ".metrics.jsonl", "server.properties": ".properties"} {
		b, err := os.ReadFile(s.file(from))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, s.Name()+to), b, 0o644)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Server) file(name string) string { return filepath.Join(s.cfg.Dir, name) }

// tail is the end of what a program said, on one line.
func tail(out []byte) string {
	const most = 600
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return "it said nothing"
	}
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return strings.ReplaceAll(string(out), "\n", " | ")
}
