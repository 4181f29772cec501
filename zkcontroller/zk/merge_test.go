package zk

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// merging is a session that holds the controllership, over znodes /t/0 and so
// on.
type merging struct {
	*Session
	fence int32
}

func newMerging(t *testing.T, cfg Config) merging {
	t.Helper()
	s := connect(t, cfg)
	fresh(t, s)
	e, err := s.Elect(t.Context(), 1, 5)
	if err != nil || !e.Won {
		t.Fatal(e, err)
	}
	if r := s.Do(t.Context(), Create("/t", nil)); r.Err != nil {
		t.Fatal(r.Err)
	}
	return merging{s, e.EpochVersion}
}

func numbered(i int) string { return fmt.Sprintf("/t/%d", i) }

// create makes n parents with a child each, size of them in a multi.
func (m merging) create(ctx context.Context, n, size int) ([]Result, error) {
	out := make([]Result, n)
	err := m.Merge(ctx, n, size, func(i int) []Op {
		return []Op{Create(numbered(i), nil).Fenced(m.fence), Create(numbered(i)+"/state", []byte("0")).Fenced(m.fence)}
	}, func(i int, r Result) { out[i] = r })
	return out, err
}

// set writes the children, each where it has the version given.
func (m merging) set(ctx context.Context, n, size int, version func(i int) int32) ([]Result, error) {
	out := make([]Result, n)
	err := m.Merge(ctx, n, size, func(i int) []Op {
		return []Op{Set(numbered(i)+"/state", []byte("1"), version(i)).Fenced(m.fence)}
	}, func(i int, r Result) { out[i] = r })
	return out, err
}

// Whatever goes into one multi, each item has the outcome it has on its own.
func TestMerge(t *testing.T) {
	const n = 23
	for _, size := range []int{0, 1, 2, 10, 100} {
		t.Run(fmt.Sprintf("size=%d", size), func(t *testing.T) {
			m := newMerging(t, Config{MaxInFlight: 3})
			ctx := t.Context()
			if r := m.Do(ctx, Create(numbered(5), nil)); r.Err != nil { // a parent that exists
				t.Fatal(r.Err)
			}
			before, _ := m.Requests()
			created, err := m.create(ctx, n, size)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range created {
				if r.Err != nil || r.Version != 0 {
					t.Errorf("create %d: %+v", i, r)
				}
			}
			if after, _ := m.Requests(); size == 100 && after-before != 1+2*n { // one that fails, then each on its own
				t.Errorf("%d requests", after-before)
			}
			before, _ = m.Requests()
			one, err := m.set(ctx, n, size, func(int) int32 { return 0 })
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range one {
				if r.Err != nil || r.Version != 1 || r.Resent {
					t.Errorf("set %d: %+v", i, r)
				}
			}
			if after, _ := m.Requests(); after-before != int64((n+max(size, 1)-1)/max(size, 1)) {
				t.Errorf("%d requests for %d writes", after-before, n)
			}
			two, err := m.set(ctx, n, size, func(i int) int32 {
				if i == 7 {
					return 0 // another has written it
				}
				return 1
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range two {
				if i == 7 && !errors.Is(r.Err, ErrBadVersion) || i != 7 && (r.Err != nil || r.Version != 2) {
					t.Errorf("set %d again: %+v", i, r)
				}
			}
			if r := m.Do(ctx, Set(ControllerEpochPath, []byte("9"), AnyVersion)); r.Err != nil {
				t.Fatal(r.Err)
			}
			if _, err := m.set(ctx, n, size, func(int) int32 { return AnyVersion }); !errors.Is(err, ErrFenced) {
				t.Errorf("a deposed controller's writes: %v", err)
			}
			for i := range n {
				want := int32(2)
				if i == 7 {
					want = 1
				}
				if r := m.Do(ctx, Get(numbered(i)+"/state")); r.Version != want {
					t.Errorf("/t/%d has version %d, want %d", i, r.Version, want)
				}
			}
		})
	}
}

// A multi whose reply is lost was executed: its items say that they may be
// their own conflict.
func TestMergeWithLostReply(t *testing.T) {
	c := &cable{}
	m := newMerging(t, Config{MaxInFlight: 1, Dial: c.dial})
	if _, err := m.create(t.Context(), 4, 4); err != nil {
		t.Fatal(err)
	}
	var lost atomic.Bool
	got, err := m.set(t.Context(), 4, 4, func(int) int32 {
		if lost.CompareAndSwap(false, true) {
			c.loseReplies()
		}
		return 0
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		if !r.Resent || !errors.Is(r.Err, ErrBadVersion) {
			t.Errorf("item %d: %+v", i, r)
		}
	}
}
