package child

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	stopWithin = 5 * time.Second // a thread that waits for a disk stops after it
	stopLook   = time.Millisecond
)

// awaitStopped waits until every thread of a child has stopped: SIGSTOP only
// asks for it, and threads that run go on for a while. A child that exits
// meanwhile is left to Wait.
func awaitStopped(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopWithin, fmt.Errorf("it has not stopped within %v of SIGSTOP", stopWithin))
	defer cancel()
	for {
		// The kernel is asked and not waited for: it does not tell a waiter for
		// stops that the child is gone.
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || info.Signo != 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(stopLook):
		}
	}
}
