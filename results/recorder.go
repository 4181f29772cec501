package results

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of a recorded latency and its precision. Values outside are
// counted beside the histogram, never dropped or clamped. The histogram is
// built from 1 ns, since its digits hold relative to its lowest value: from
// 1 µs they would hold only above a millisecond.
const (
	LowestLatency  = time.Microsecond
	HighestLatency = time.Hour
	latencyDigits  = 3
)

// Recorder gathers one latency distribution from several workers: each writes
// to a shard of its own without a lock, and Merged adds them up when the
// workers have stopped. A shard takes 270 KB.
type Recorder struct {
	shards []Shard
}

// Shard is one worker's part of a Recorder. It must be used by one goroutine
// at a time.
type Shard struct {
	hist  *hdrhistogram.Histogram
	below int64
	above int64
	min   int64
	max   int64
	_     [64]byte // keeps the counters of two workers off one cache line
}

// NewRecorder makes a recorder with one shard for each worker, at least one.
func NewRecorder(workers int) *Recorder {
	r := &Recorder{shards: make([]Shard, max(workers, 1))}
	for i := range r.shards {
		r.shards[i] = Shard{hist: newHistogram(), min: math.MaxInt64, max: math.MinInt64}
	}
	return r
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(HighestLatency), latencyDigits)
}

// Shard returns the shard of worker i, counted from 0.
func (r *Recorder) Shard(i int) *Shard { return &r.shards[i] }

// Record adds one latency. It does not allocate.
func (s *Shard) Record(latency time.Duration) {
	v := int64(latency)
	if v < s.min {
		s.min = v
	}
	if v > s.max {
		s.max = v
	}
	switch {
	case v < int64(LowestLatency):
		s.below++
	case v > int64(HighestLatency):
		s.above++
	default:
		// In range by the cases above, so that it cannot fail.
		_ = s.hist.RecordValue(v)
	}
}

// Merged adds up all shards. No shard may be written to meanwhile.
func (r *Recorder) Merged() *Distribution {
	d := NewDistribution()
	for i := range r.shards {
		s := &r.shards[i]
		d.mustMerge(&Distribution{hist: s.hist, below: s.below, above: s.above, min: s.min, max: s.max})
	}
	return d
}
