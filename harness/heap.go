package harness

import (
	"context"
	"errors"
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
	var bytes int64
	err = poll(ctx, n.proc.Name()+" tells its live heap", func(ctx context.Context) error {
		r, err := n.proc.Trace(ctx)
		if err != nil {
			return err
		}
		events, err := trace.Read(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		for _, e := range events {
			if e.Kind == trace.HeapLive && e.T >= sent {
				bytes = e.N
				return nil
			}
		}
		return errors.New("its trace says nothing since the signal")
	})
	return bytes, err
}
