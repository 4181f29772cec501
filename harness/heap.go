package harness

import (
	"context"
	"fmt"

	"kbench/harness/provider"
	"kbench/internal/trace"
	"kbench/kafka"
)

// LiveHeap implements workloads.Cluster. A node of kbench is told to look by a
// signal and answers in its trace; a JVM is asked.
func (c *cluster) LiveHeap(ctx context.Context, id kafka.BrokerID) (int64, error) {
	n, err := c.find(id)
	if err != nil {
		return 0, err
	}
	if jvm, ok := provider.As[provider.Heaped](n.proc); ok {
		bytes, err := jvm.LiveHeap(ctx)
		if err != nil {
			err = fmt.Errorf("live heap of %s: %w", n.proc.Name(), err)
		}
		return bytes, err
	}
	sent, err := n.proc.Signal(ctx, provider.Weigh)
	if err != nil {
		return 0, err
	}
	told, err := tells(ctx, n.proc, n.proc.Name()+" tells its live heap", func(e trace.Event) bool { return e.Kind == trace.HeapLive && e.T >= sent })
	return told.N, err
}
