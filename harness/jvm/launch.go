package jvm

import (
	"context"
	"os/exec"
	"time"

	"kbench/harness/child"
	"kbench/internal/nodemetrics"
)

// Launch starts cmd as the process, and writes what it uses to the file metrics each
// second until it ends: its data are those below the directory data. A file that
// cannot be written costs the figures and not the run.
func Launch(p *child.Process, cmd *exec.Cmd, metrics, data string) error {
	sampling, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	if err := p.Launch(cmd, func() { stop(); <-done }); err != nil {
		stop()
		close(done)
		return err
	}
	go func() {
		defer close(done)
		_ = (&nodemetrics.Sampler{Node: p.Name(), File: metrics, DataDir: data, Interval: time.Second, Pid: cmd.Process.Pid}).Run(sampling)
	}()
	return nil
}
