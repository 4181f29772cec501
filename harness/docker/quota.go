package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"kbench/harness/cpuquota"
	"kbench/harness/provider"
)

var _ provider.Limited = (*Node)(nil)

// cpuPeriod is the engine's and the kernel's default, in microseconds.
const cpuPeriod = 100_000

// LimitCPU implements provider.Limited. A container that was made with a bound
// gets that one back.
func (n *Node) LimitCPU(ctx context.Context, percent int) error {
	r := container.Resources{CPUPeriod: cpuPeriod, CPUQuota: int64(percent) * cpuPeriod / 100}
	switch {
	case n.cpus > 0 && percent == 0:
		r = container.Resources{NanoCPUs: int64(n.cpus * 1e9)}
	case n.cpus > 0:
		r = container.Resources{NanoCPUs: int64(percent) * 1e7}
	case percent == 0:
		r.CPUQuota = -1
	}
	if _, err := n.engine.api.ContainerUpdate(ctx, n.ID(), client.ContainerUpdateOptions{Resources: &r}); err != nil {
		return fmt.Errorf("bound the processor time of %s: %w", n.name, err)
	}
	return nil
}

// CPUPeriods implements provider.Limited.
func (n *Node) CPUPeriods(ctx context.Context) (periods, throttled int64, err error) {
	info, err := n.tc.Inspect(ctx)
	if err != nil {
		return 0, 0, err
	}
	if info.State == nil || info.State.Pid == 0 {
		return 0, 0, fmt.Errorf("%s has exited", n.name)
	}
	n.mu.Lock()
	seen := n.run != nil && n.run.proc != nil
	n.mu.Unlock()
	if !seen {
		return 0, 0, errors.New("the engine is on another host: its control groups cannot be read")
	}
	return cpuquota.Of(info.State.Pid)
}
