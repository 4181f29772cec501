package child

import (
	"context"
	"errors"
	"fmt"

	"kbench/harness/cpuquota"
)

// LimitCPU implements provider.Limited.
func (p *Process) LimitCPU(_ context.Context, percent int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.quota; g != nil {
		p.quota = nil
		if err := g.Close(); err != nil {
			return err
		}
	}
	if percent == 0 {
		return nil
	}
	if !p.runningLocked() {
		return fmt.Errorf("bound the processor time of %s: it has exited", p.name)
	}
	g, err := cpuquota.Limit(p.name, p.cmd.Process.Pid, percent)
	p.quota = g
	return err
}

// CPUPeriods implements provider.Limited.
func (p *Process) CPUPeriods(context.Context) (periods, throttled int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quota == nil {
		return 0, 0, errors.New("it has no bound")
	}
	return p.quota.Periods()
}
