package report

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// An envelope keeps every extreme where it was, in few bins, whatever the
// order in which values come.
func TestEnvelope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 40).Draw(t, "most")
		width := rapid.Int64Range(1, 1000).Draw(t, "width")
		at := rapid.SliceOfN(rapid.Int64Range(0, 1_000_000), 1, 200).Draw(t, "at")
		e := newEnvelope(most, width)
		lo, hi := math.Inf(1), math.Inf(-1)
		for i, ns := range at {
			v := float64((i*7919)%1009) - 500
			e.add(ns, v)
			e.add(ns, math.NaN())
			lo, hi = min(lo, v), max(hi, v)
		}
		if shrunk := rapid.IntRange(0, 40).Draw(t, "shrunk"); shrunk > 0 {
			e.shrink(shrunk)
			most = min(most, shrunk)
		}
		if len(e.bins) > most {
			t.Fatalf("%d bins, want at most %d", len(e.bins), most)
		}
		gotLo, gotHi := math.Inf(1), math.Inf(-1)
		for _, b := range e.bins {
			gotLo, gotHi = min(gotLo, b.lo), max(gotHi, b.hi)
		}
		if gotLo != lo || gotHi != hi {
			t.Fatalf("extremes %v and %v, want %v and %v", gotLo, gotHi, lo, hi)
		}
		for i, ns := range at {
			v := float64((i*7919)%1009) - 500
			if b := e.bins[ns/e.width-e.first]; v < b.lo || v > b.hi {
				t.Fatalf("the value %v at %d is not within its bin %v", v, ns, b)
			}
		}
	})
}
