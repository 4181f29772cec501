package heldtest

import (
	"testing"

	"kbench/internal/heldport"
)

// Port is held until the test ends.
func Port(t testing.TB) uint16 {
	t.Helper()
	p, err := heldport.Hold("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Release(); err != nil {
			t.Errorf("release port %d: %v", p.Number, err)
		}
	})
	return p.Number
}

// Ports are n that are held.
func Ports(t testing.TB, n int) []uint16 {
	t.Helper()
	out := make([]uint16, n)
	for i := range out {
		out[i] = Port(t)
	}
	return out
}
