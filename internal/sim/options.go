package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// Options is a run. Everything else is drawn from Seed.
type Options struct {
	Seed   uint64
	Events int // how many, before the world is healed; 0 means 5,000
	// Metadata runs the machine of a controller on every node, and brokers that
	// observe them; without it clients append what has no meaning.
	Metadata bool
	Log      func(line string) // gets the trace as text, line by line; nil for none
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

	// Of a world with metadata.
	brokers int
	beat    time.Duration // between the heartbeats of a broker, mean
	session time.Duration // of a broker
	noOp    time.Duration // between NoOp records
	level   metadata.MetadataVersion
}

// controllers is how many nodes are, or may become, voters; brokers have the ids
// behind theirs.
func (p *profile) controllers() int { return p.voters + p.observers }

// withMetadata adds brokers.
func (p *profile) withMetadata(rng *rand.Rand) {
	p.brokers = 3 + rng.IntN(2)
	p.beat = p.fetchTimeout/2 + time.Duration(rng.Int64N(int64(p.fetchTimeout)))
	p.session = p.beat * time.Duration(4+rng.IntN(4))
	p.noOp = p.beat / 2
	p.level = levels[rng.IntN(len(levels))]
}

// levels are the levels of metadata.version that clusters begin with and are set
// to.
var levels = []metadata.MetadataVersion{metadata.V3_3_IV3, metadata.V3_6_IV0, metadata.V4_0_IV3, metadata.V4_4_IV2}

// bootstrap is what the directory of a controller was formatted with: where there
// are metadata transactions, so much that it takes more than one batch, and
// nothing that the next controller would write again behind an abort.
func (p *profile) bootstrap(id int) []metadata.Record {
	var out []metadata.Record
	for i := 0; p.level.HasTransactions() && i < 2*maxRecords; i++ {
		out = append(out, &metadata.ClientQuotaRecord{
			Entity: metadata.QuotaEntity{{Type: admin.QuotaClientID, Name: fmt.Sprintf("client %d of %d", i, id)}}.Record(), Name: "producer_byte_rate", Value: 1000,
		})
	}
	return out
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
