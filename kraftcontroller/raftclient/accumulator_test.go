package raftclient

import (
	"slices"
	"testing"
	"time"
)

// Appends share a batch up to a bound of records, whole appends alone, and wait
// when too much is not drained.
func TestAppendsShareABatch(t *testing.T) {
	at := time.Unix(0, 0)
	a := newAccumulator(time.Second, func() time.Time { return at }, func() {})
	a.begin(1, 100)
	write := func(n, size int) {
		t.Helper()
		values := make([][]byte, n)
		for i := range values {
			values[i] = make([]byte, size)
		}
		if _, err := a.append(1, values); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{maxTogether / 2, maxTogether / 2, 1, maxTogether, maxTogether, 3} {
		write(n, 1)
	}
	at = at.Add(time.Second)
	ready, _ := a.drain()
	next := int64(100)
	var got []int
	for _, b := range ready {
		if int64(b.base) != next {
			t.Errorf("a batch begins at %d, want %d", b.base, next)
		}
		next += int64(len(b.records))
		got = append(got, len(b.records))
	}
	if want := []int{maxTogether, 1, maxTogether, maxTogether, 3}; !slices.Equal(got, want) {
		t.Errorf("batches of %v records, want %v", got, want)
	}
	for range maxWaitingBytes/maxBatchBytes + 1 {
		write(1, maxBatchBytes-1024)
	}
	waits := make(chan error)
	go func() {
		_, err := a.append(1, [][]byte{make([]byte, maxBatchBytes-1024)})
		waits <- err
	}()
	select {
	case err := <-waits:
		t.Fatalf("nothing holds an append back: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	at = at.Add(time.Second)
	a.drain()
	if err := <-waits; err != nil {
		t.Error(err)
	}
}
