package harness

import (
	"time"

	"kbench/internal/trace"
)

// wallClock turns stamps of CLOCK_MONOTONIC into times of day for people. It
// is never used to measure.
type wallClock struct {
	wall   time.Time
	monoNs int64
}

func newWallClock() wallClock { return wallClock{wall: time.Now(), monoNs: trace.Now()} }

func (c wallClock) at(monoNs int64) time.Time {
	return c.wall.Add(time.Duration(monoNs - c.monoNs)).Round(0)
}
