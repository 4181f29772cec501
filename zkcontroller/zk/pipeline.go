package zk

import (
	"context"
	"sync"
	"sync/atomic"
)

// Pipeline sends n requests with at most MaxInFlight of them outstanding and
// waits for all replies. op makes the i-th request and done takes its result;
// both are called from several goroutines at once, for different i, so they
// may touch only what belongs to i. Requests are begun in the order of i but
// may be executed in another: none may depend on another of the same call.
//
// It returns the first error that ends the whole: a dead session, ErrFenced,
// or the end of ctx. All other errors are in the results. After an error done
// was not called for all i.
func (s *Session) Pipeline(ctx context.Context, n int, op func(i int) Op, done func(i int, r Result)) error {
	if n == 0 {
		return ctx.Err()
	}
	var next, failed atomic.Int64
	var mu sync.Mutex
	var first error
	work := func() {
		for failed.Load() == 0 {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			o := op(i)
			r := s.do(ctx, &o)
			if ends(ctx, r.Err) {
				failed.Store(1)
				mu.Lock()
				if first == nil {
					first = r.Err
				}
				mu.Unlock()
				return
			}
			done(i, r)
		}
	}
	var wg sync.WaitGroup
	for range min(n, s.cfg.MaxInFlight) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return first
}

// ends reports whether err ends a whole pipeline.
func ends(ctx context.Context, err error) bool {
	return err != nil && (IsDead(err) || err == ErrFenced || ctx.Err() != nil)
}
