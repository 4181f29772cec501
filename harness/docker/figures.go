package docker

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kbench/internal/nodemetrics"
)

// figures are what a program that writes none itself uses, over all its starts, as
// this host's kernel tells it: some 200 bytes a second. They are safe for concurrent
// use.
type figures struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

// Write implements io.Writer.
func (f *figures) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines.Write(b)
}

// follow samples a process of this host until end is called. The size of its data is
// not known: they are on a volume.
func (f *figures) follow(node string, pid int) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = (&nodemetrics.Sampler{Node: node, Interval: time.Second, Pid: pid}).RunTo(ctx, f) // which takes all
	}()
	return func() { stop(); <-done }
}

// keep writes the figures as a node of kbench has them, and nothing where there are
// none.
func (f *figures) keep(dir, node string) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines.Len() == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, node+".metrics.jsonl"), f.lines.Bytes(), 0o644)
}
