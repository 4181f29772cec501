package workloads

import (
	"context"
	"fmt"
	"time"
)

// tidyTimeout bounds what is removed once nothing more is measured: after an
// interrupt, or the death of a node, the cluster may answer no more.
const tidyTimeout = 10 * time.Second

// tidily has clean remove what a workload made: also where ctx has ended, and then
// for so long at most.
func tidily(ctx context.Context, clean func(context.Context) error) error {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(tidyTimeout):
			cancel(fmt.Errorf("not within %v", tidyTimeout))
		case <-out.Done():
		}
	})
	defer stop()
	return clean(out)
}
