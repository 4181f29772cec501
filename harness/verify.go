package harness

import (
	"context"
	"fmt"
)

// verify waits for the cluster to settle, then judges it from outside: what
// every broker serves, against what was acknowledged.
func (run *cellRun) verify(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, verifyTimeout, fmt.Errorf("not within %s", verifyTimeout))
	defer cancel()
	run.phase("verify")
	if err := run.cluster.WaitHealthy(ctx); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return nil
}
