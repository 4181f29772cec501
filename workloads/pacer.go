package workloads

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// Pacer says when each operation is due, as an offset from the start. The
// offsets never go back and do not depend on what happens: that is what makes
// the loop open.
type Pacer interface {
	// Due yields the offset of each operation in turn, the same ones each time
	// it is called.
	Due() iter.Seq[time.Duration]
	// Period is the mean time between two operations.
	Period() time.Duration
}

// Constant is a pacer of evenly spaced operations, the first at offset 0.
type Constant struct{ PerSecond float64 }

// NewConstant checks the rate: above 0 and at most one operation a microsecond.
func NewConstant(perSecond float64) (Constant, error) {
	return Constant{perSecond}, checkRate(perSecond)
}

// At gives the offset of operation n, from 0. It is rounded to ns once, so
// that no error adds up; past 292 years it stays there.
func (c Constant) At(n int64) time.Duration {
	ns := math.Round(float64(n) * (float64(time.Second) / c.PerSecond))
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// Due implements Pacer.
func (c Constant) Due() iter.Seq[time.Duration] {
	return from(c.At)
}

// Period implements Pacer.
func (c Constant) Period() time.Duration { return c.At(1) }

// Poisson is a pacer of independent arrivals: exponential gaps around the
// rate, drawn from the seed.
type Poisson struct {
	PerSecond float64
	Seed      uint64
}

// NewPoisson checks the rate as NewConstant does.
func NewPoisson(perSecond float64, seed uint64) (Poisson, error) {
	return Poisson{perSecond, seed}, checkRate(perSecond)
}

// Due implements Pacer.
func (p Poisson) Due() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		rng := rand.New(rand.NewPCG(p.Seed, streamArrivals))
		at := 0.0 // seconds
		for yield(time.Duration(at * float64(time.Second))) {
			at += rng.ExpFloat64() / p.PerSecond
		}
	}
}

// Period implements Pacer.
func (p Poisson) Period() time.Duration { return Constant{p.PerSecond}.Period() }

func checkRate(perSecond float64) error {
	if !(perSecond > 0) || perSecond > 1e6 {
		return fmt.Errorf("rate %v per second is not above 0 and at most 1,000,000", perSecond)
	}
	return nil
}

// Streams of random numbers drawn from one seed, so that one use does not
// shift another.
const (
	streamArrivals = iota + 1
	streamVictims
	streamSample
	streamPlacement
	streamMix
	streamSeek
)
