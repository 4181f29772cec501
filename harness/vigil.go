package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kbench/harness/provider"
)

// vigilPeriod is how long the end of a process may go unseen.
const vigilPeriod = 200 * time.Millisecond

// died is a process that has ended although no fault is made on it.
type died struct{ error }

// vigil watches the processes of the cluster until end is called. One that ends
// unasked ends the context it gives, with a died for its cause: nothing brings it
// back, and a workload would wait for each answer as long as it may.
func (c *cluster) vigil(ctx context.Context) (watched context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(vigilPeriod)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := c.unasked(); err != nil {
				cancel(err)
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-over }
}

// unasked looks for a process that has ended although no fault is made on it. It
// says nothing of one of real Kafka that a health gate starts again.
func (c *cluster) unasked() error {
	for _, proc := range append(c.processes(), c.store.nodes...) {
		// Looked at again: it may have been started in between.
		if !proc.Running() && !c.mayEnd(proc) && !proc.Running() {
			return c.deathOf(proc)
		}
	}
	return nil
}

func (c *cluster) deathOf(proc provider.Node) error {
	return died{fmt.Errorf("%s has exited, and no fault of this run had ended it; the end of nodes/*/%s.log may say why", proc.Name(), proc.Name())}
}

// mayEnd reports whether a fault is made on a process, or it has starts left.
func (c *cluster) mayEnd(proc provider.Node) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if n.proc == proc && c.excluded[n.id] {
			return true
		}
	}
	return c.hurt[proc] > 0 || c.unserved[proc] > 0
}

// hurting marks processes that may end, since a fault is made on them or they are
// started again, until done is called.
func (c *cluster) hurting(procs ...provider.Node) (done func()) {
	count := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.hurt == nil {
			c.hurt = map[provider.Node]int{}
		}
		for _, proc := range procs {
			c.hurt[proc] += n
		}
	}
	count(1)
	return func() { count(-1) }
}

// whileAll does what needs every process of the cluster. Where one dies
// meanwhile, that is the error, and not what came of it.
func (run *cellRun) whileAll(ctx context.Context, do func(context.Context) error) error {
	ctx, end := run.cluster.vigil(ctx)
	defer end()
	err := do(ctx)
	if death, ok := errors.AsType[died](context.Cause(ctx)); ok {
		return death
	}
	return err
}
