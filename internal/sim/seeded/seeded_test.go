package seeded

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQueueIsByTimeAndThenByOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q Queue[int]
	var want []Entry[int]
	for i := range 500 {
		at := time.Duration(rng.IntN(20))
		q.Push(at, i)
		want = append(want, Entry[int]{at, uint64(i + 1), i})
	}
	slices.SortStableFunc(want, func(a, b Entry[int]) int { return int(a.At - b.At) })
	for i, w := range want {
		if at, ok := q.Next(); !ok || at != w.At {
			t.Fatalf("entry %d is next at %v, %v; want %v", i, at, ok, w.At)
		}
		if got := q.Pop(); got != w {
			t.Fatalf("entry %d: %v, want %v", i, got, w)
		}
	}
	if at, ok := q.Next(); ok {
		t.Errorf("an empty queue has an entry at %v", at)
	}
}

func TestHashIsOfTheOrderToo(t *testing.T) {
	a, b, c := NewHash, NewHash, NewHash
	a.Add(1, 2)
	b.Add(1)
	b.Add(2)
	c.Add(2, 1)
	if a != b || a == c || a == NewHash {
		t.Errorf("%d, %d, %d", a, b, c)
	}
}

func TestTally(t *testing.T) {
	tally := func(crashes, losses int64) Tally { return Tally{{"crashes", &crashes}, {"losses", &losses}} }
	sum, floor := tally(3, 4), tally(2000, 5000)
	sum.Add(tally(1, 1))
	floor.Scale(2)
	if low := sum.Below(floor); !slices.Equal(low, []string{"losses: 5, floor 10"}) {
		t.Errorf("below: %v", low)
	}
	if got, want := sum.String(), "crashes                               4\nlosses                                5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
