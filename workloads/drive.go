package workloads

import (
	"context"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"kbench/internal/trace"
)

// maxNap bounds one sleep, so that the end of a context is seen soon.
const maxNap = 10 * time.Millisecond

// op is one operation of an open loop.
type op struct {
	n          int64
	intendedNs int64 // when it was due
	sentNs     int64 // when it was started
}

// slips counts how late operations were started. It belongs to one driver
// until that has ended.
type slips struct {
	ops, late, dropped int64 // ops are all that were due, dropped ones too
	maxNs              int64
	each               *hdrhistogram.Histogram // µs; nil before the first
}

// maxSlip is how late an operation may start; later ones are late, and a
// generator with more than two late operations and two in a hundred makes its
// trial invalid. It leaves room for a busy machine's scheduler and is well
// below what a recovery takes. It is no measure of how well times were kept:
// latencies start when operations were due, so that they hold each slip, and the
// 99th percentile and the maximum of slips are kept beside them.
const maxSlip = 100 * time.Millisecond

// slipRange bounds the histogram of slips, a minute; what is beyond counts as
// that. Two digits of it are kept.
const slipRange = int64(time.Minute / time.Microsecond)

// add counts one started operation.
func (s *slips) add(o op) {
	s.ops++
	slip := o.sentNs - o.intendedNs
	s.maxNs = max(s.maxNs, slip)
	if s.each == nil {
		s.each = hdrhistogram.New(1, slipRange, 2)
	}
	_ = s.each.RecordValue(min(slip/int64(time.Microsecond), slipRange)) // in range
	if slip > int64(maxSlip) {
		s.late++
	}
}

// merge adds the counts of another driver.
func (s *slips) merge(o slips) {
	s.ops += o.ops
	s.late += o.late
	s.dropped += o.dropped
	s.maxNs = max(s.maxNs, o.maxNs)
	switch {
	case s.each == nil:
		s.each = o.each
	case o.each != nil:
		s.each.Merge(o.each)
	}
}

// p99Ns is the slip that 99 of 100 operations were within, 0 without one.
func (s *slips) p99Ns() int64 {
	if s.each == nil {
		return 0
	}
	return min(s.each.ValueAtQuantile(99)*int64(time.Microsecond), s.maxNs)
}

// slipped reports whether the generator was too late to be believed.
func (s *slips) slipped() bool { return s.late > 2 && s.late*50 > s.ops }

func (s *slips) counts(prefix string) []Count {
	return []Count{
		{prefix + ".sent", s.ops - s.dropped},
		{prefix + ".late", s.late},
		{prefix + ".dropped", s.dropped},
		{prefix + ".p99SlipNs", s.p99Ns()},
		{prefix + ".maxSlipNs", s.maxNs},
	}
}

// drive starts operations when they are due, from startNs on, until the next
// one would be due at or after endNs (0: never) or ctx ends. start must not
// block: it hands the operation on and reports whether somebody took it. An
// operation behind time is started at once and keeps its intended time.
func drive(ctx context.Context, startNs, endNs int64, pacer Pacer, start func(op) bool) slips {
	defer enterPacing()()
	var s slips
	n := int64(0)
	for offset := range pacer.Due() {
		intended := startNs + int64(offset)
		if endNs != 0 && intended >= endNs {
			break
		}
		if !sleepUntil(ctx, intended) {
			break
		}
		o := op{n: n, intendedNs: intended, sentNs: trace.Now()}
		n++
		s.add(o)
		if !start(o) {
			s.dropped++
		}
	}
	return s
}

// sleepUntil sleeps until CLOCK_MONOTONIC reaches ns and reports false where
// ctx ended before. It sleeps in the kernel: Go's own timers round an idle
// process's sleeps up to a millisecond.
func sleepUntil(ctx context.Context, ns int64) bool {
	for {
		if ctx.Err() != nil {
			return false
		}
		now := trace.Now()
		if now >= ns {
			return true
		}
		ts := unix.NsecToTimespec(min(ns, now+int64(maxNap)))
		// An interrupted sleep is taken up by the loop.
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil)
	}
}

// pause waits d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
