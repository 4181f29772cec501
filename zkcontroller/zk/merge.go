package zk

import "context"

// Merge writes n items in multis of at most size items, as many of them
// outstanding as Pipeline has requests. The operations of one item are run in
// their order, and all of a multi are behind one check of their fence, which
// they must share. done takes the result of an item's last operation; what the
// others give is lost, so they should be creations of parents that may exist.
//
// Where a multi fails, each of its items is written on its own, so that one
// that fails leaves the others alone; the results are marked as Resent where
// the multi may have been executed unheard.
//
// With size 1 or less every operation is a request of its own. Errors are those
// of Pipeline.
func (s *Session) Merge(ctx context.Context, n, size int, ops func(i int) []Op, done func(i int, r Result)) error {
	size = max(size, 1)
	chunks := (n + size - 1) / size
	return s.each(ctx, chunks, func(c int) error {
		return s.merged(ctx, c*size, min(n, (c+1)*size), ops, done)
	})
}

// merged writes the items from lo to hi.
func (s *Session) merged(ctx context.Context, lo, hi int, ops func(i int) []Op, done func(i int, r Result)) error {
	items := make([][]Op, hi-lo)
	var all []Op
	for k := range items {
		items[k] = ops(lo + k)
		if fence := items[k][0].fence; k == 0 && fence != NoFence {
			all = append(all, Op{kind: opCheck, path: ControllerEpochPath, version: fence})
		}
		all = append(all, items[k]...)
	}
	resent := false
	if hi-lo > 1 {
		res, again, err := s.multi(ctx, all...)
		if err == nil {
			at := 0 // of the item's last operation
			if all[0].kind == opCheck {
				at++
			}
			for k := range items {
				at += len(items[k])
				r := res[at-1]
				r.Resent = again
				done(lo+k, r)
			}
			return nil
		}
		if ends(ctx, err) {
			return err
		}
		resent = again
	}
	for k := range items {
		var r Result
		for _, o := range items[k] {
			if r = s.do(ctx, &o); ends(ctx, r.Err) {
				return r.Err
			}
		}
		r.Resent = r.Resent || resent
		done(lo+k, r)
	}
	return nil
}
