package kraftcontroller

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// latencies counts durations in buckets of twice the size of the one before,
// the first up to 1 µs. Adding one does not allocate; all methods may be called
// from any goroutine.
type latencies struct {
	buckets [40]atomic.Int64
	max     atomic.Int64 // ns
}

func (l *latencies) add(d time.Duration) {
	d = max(d, 0)
	i := min(bits.Len64(uint64(d/time.Microsecond)), len(l.buckets)-1)
	l.buckets[i].Add(1)
	for old := l.max.Load(); int64(d) > old && !l.max.CompareAndSwap(old, int64(d)); old = l.max.Load() {
	}
}

// count is how many were added.
func (l *latencies) count() int64 {
	n := int64(0)
	for i := range l.buckets {
		n += l.buckets[i].Load()
	}
	return n
}

// percentileMs gives an upper bound of a percentile, at most twice too high and
// never above the largest; 0 without any.
func (l *latencies) percentileMs(percent int64) int64 {
	n := l.count()
	rank, seen := (n*percent+99)/100, int64(0)
	for i := range l.buckets {
		if seen += l.buckets[i].Load(); n > 0 && seen >= rank {
			return min(int64(time.Microsecond)<<i, l.max.Load()) / int64(time.Millisecond)
		}
	}
	return 0
}

func (l *latencies) maxMs() int64 { return l.max.Load() / int64(time.Millisecond) }
