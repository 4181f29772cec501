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
	return s.each(ctx, n, func(i int) error {
		o := op(i)
		r := s.do(ctx, &o)
		if ends(ctx, r.Err) {
			return r.Err
		}
		done(i, r)
		return nil
	})
}

// each calls work for every i below n, from as many goroutines as requests may
// be outstanding, until all are done or one fails. It gives the first error.
func (s *Session) each(ctx context.Context, n int, work func(i int) error) error {
	if n == 0 {
		return ctx.Err()
	}
	var next, failed atomic.Int64
	var mu sync.Mutex
	var first error
	run := func() {
		for failed.Load() == 0 {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := work(i); err != nil {
				failed.Store(1)
				mu.Lock()
				if first == nil {
					first = err
				}
				mu.Unlock()
				return
			}
		}
	}
	var wg sync.WaitGroup
	for range min(n, s.cfg.MaxInFlight) - 1 {
		wg.Go(run)
	}
	run()
	wg.Wait()
	return first
}

// ends reports whether err ends a whole pipeline.
func ends(ctx context.Context, err error) bool {
	return err != nil && (IsDead(err) || err == ErrFenced || ctx.Err() != nil)
}
