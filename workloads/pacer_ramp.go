package workloads

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"time"
)

// Ramp is a pacer whose rate goes evenly from one value to another within a
// time and stays at the second from then on.
type Ramp struct {
	From, To float64 // per second
	Within   time.Duration
}

// NewRamp checks the rates as NewConstant does; within is above 0.
func NewRamp(from, to float64, within time.Duration) (Ramp, error) {
	err := errors.Join(checkRate(from), checkRate(to))
	if within <= 0 {
		err = errors.Join(err, fmt.Errorf("a ramp within %v: write a time above 0", within))
	}
	return Ramp{from, to, within}, err
}

// At gives the offset of operation n, from 0. The operations due by t are the
// integral of the rate, From·t + (To-From)·t²/(2·Within); it is solved for t.
func (r Ramp) At(n int64) time.Duration {
	within := r.Within.Seconds()
	if ramped := (r.From + r.To) / 2 * within; float64(n) > ramped {
		return later(within + (float64(n)-ramped)/r.To)
	}
	slope := (r.To - r.From) / within
	root := r.From*r.From + 2*slope*float64(n)
	// The usual root of the equation, written so that nothing cancels out where
	// the slope is small.
	return later(2 * float64(n) / (r.From + math.Sqrt(max(root, 0))))
}

// Due implements Pacer.
func (r Ramp) Due() iter.Seq[time.Duration] { return from(r.At) }

// Period implements Pacer: that of the mean rate of the ramp.
func (r Ramp) Period() time.Duration { return Constant{(r.From + r.To) / 2}.Period() }

// Steps is a pacer whose rate goes from one value to another in equal steps,
// each as long as the others; it stays at the last.
type Steps struct {
	From, To float64 // per second
	Count    int     // at least 2
	Within   time.Duration
}

// NewSteps checks the rates as NewConstant does; there are 2 to 1000 steps.
func NewSteps(from, to float64, count int, within time.Duration) (Steps, error) {
	_, err := NewRamp(from, to, within)
	if count < 2 || count > 1000 {
		err = errors.Join(err, fmt.Errorf("%d steps: write 2 to 1000", count))
	}
	return Steps{from, to, count, within}, err
}

// Due implements Pacer. Each step begins with an operation at its beginning.
func (s Steps) Due() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		length := s.Within / time.Duration(s.Count)
		for i := 0; ; i++ {
			step, begin := Constant{s.rate(min(i, s.Count-1))}, time.Duration(i)*length
			for n := int64(0); step.At(n) < length; n++ {
				if begin < 0 || !yield(begin+step.At(n)) {
					return
				}
			}
		}
	}
}

func (s Steps) rate(i int) float64 {
	return s.From + (s.To-s.From)*float64(i)/float64(s.Count-1)
}

// Period implements Pacer: that of the mean rate of the steps.
func (s Steps) Period() time.Duration { return Constant{(s.From + s.To) / 2}.Period() }

// from ranges over the offsets that at gives.
func from(at func(int64) time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for n := int64(0); yield(at(n)); n++ {
		}
	}
}

// later turns seconds into an offset; past 292 years it stays there.
func later(seconds float64) time.Duration {
	ns := math.Round(seconds * float64(time.Second))
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
