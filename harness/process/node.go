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
	"syscall"

	"kbench/harness/child"
	"kbench/internal/nodeconfig"
)

// Node is one child process.
type Node struct {
	*child.Process
	dir      string
	binary   string
	args     []string
	env      []string
	disk     string   // the file with the faults of its disk; "" where it reads none
	lifeline *os.File // our write end, closed when the child has exited
}

// Start implements provider.Node.
func (n *Node) Start(context.Context) error {
	if n.Running() {
		return fmt.Errorf("start %s: %w", n.Name(), child.ErrRunning)
	}
	log, err := os.OpenFile(n.file("node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name(), err)
	}
	defer func() { _ = log.Close() }()
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name(), err)
	}
	cmd := exec.Command(n.binary, n.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(append(os.Environ(), n.env...), nodeconfig.LifelineEnv+"=3")
	cmd.ExtraFiles = []*os.File{r}
	// A group of its own, so that Ctrl-C in the terminal reaches kbench alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	n.lifeline = w
	err = n.Launch(cmd, func() { _ = w.Close() })
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return fmt.Errorf("start %s: %w", n.Name(), err)
	}
	return nil
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
	return n.CopyFiles(dir, map[string]string{n.file("node.log"): ".log", n.file("trace.jsonl"): ".trace.jsonl", n.file("metrics.jsonl"): ".metrics.jsonl"})
}

func (n *Node) file(name string) string { return filepath.Join(n.dir, name) }

// DataDir is where the node keeps its data.
func (n *Node) DataDir() string { return n.file("data") }
