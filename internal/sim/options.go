package sim

import (
	"math/rand/v2"
	"time"
)

// Options is a run. Everything else is drawn from Seed.
type Options struct {
	Seed   uint64
	Events int               // how many, before the world is healed; 0 means 5,000
	Log    func(line string) // gets the trace as text, line by line; nil for none
}

// Result is what came of a run.
type Result struct {
	Violation *Violation // nil if every invariant held
	Trace     uint64     // hash of the whole trace
	Coverage  Coverage
}

// Violation says which invariant broke.
type Violation struct {
	Invariant string
	Seed      uint64
	Event     int // the how-manyth
	At        time.Duration
	Node      int
	Detail    string
}

// profile is the world of a seed.
type profile struct {
	voters, observers int
	noPreVote, hwPush bool
	electionTimeout   time.Duration
	fetchTimeout      time.Duration
	delay             time.Duration // of a message, mean
	loss, dup         float64       // of a message, in calm times
	storm             float64       // of a message, in a stormy time
	fsync             time.Duration // mean
	append            time.Duration // between client appends, mean
	fault             time.Duration // between faults, mean
	snapshots         bool
	dynamic           bool          // the voters are those of the log, and change
	skew              time.Duration // of clocks, at most so much in a second
}

func newProfile(rng *rand.Rand) profile {
	ms := func(lo, hi int) time.Duration {
		return time.Duration(lo+rng.IntN(hi-lo+1)) * time.Millisecond
	}
	us := func(lo, hi int) time.Duration {
		return time.Duration(lo+rng.IntN(hi-lo+1)) * time.Microsecond
	}
	p := profile{
		voters:          []int{3, 3, 3, 3, 5, 5, 2, 4, 1}[rng.IntN(9)],
		observers:       rng.IntN(3),
		noPreVote:       rng.IntN(3) == 0,
		hwPush:          rng.IntN(2) == 0,
		electionTimeout: ms(50, 150),
		fetchTimeout:    ms(120, 300),
		delay:           us(200, 5000),
		fsync:           us(100, 8000),
		append:          ms(2, 40),
		fault:           ms(40, 400),
		snapshots:       rng.IntN(2) == 0,
		storm:           0.05 + 0.4*rng.Float64(),
	}
	if rng.IntN(2) == 0 {
		p.loss, p.dup = 0.03*rng.Float64(), 0.05*rng.Float64()
	}
	if p.dynamic = rng.IntN(2) == 0; p.dynamic {
		// A voter that was removed while it was away campaigns by its old log. Without
		// pre-vote it takes others into epochs that the leader never hears of.
		p.noPreVote = false
	}
	if rng.IntN(2) == 0 {
		p.skew = ms(1, 50)
	}
	return p
}
