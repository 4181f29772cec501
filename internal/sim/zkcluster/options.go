package zkcluster

import (
	"fmt"
	"math/rand/v2"
	"time"

	"kbench/kafka"
	"kbench/kafka/ibp"
)

// Options is a run. Everything else is drawn from Seed.
type Options struct {
	Seed   uint64
	Events int               // how many, before the world is healed; 0 means 3,000
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
	Node      kafka.BrokerID
	Detail    string
}

// String tells the violation and how to see it again.
func (v *Violation) String() string {
	return fmt.Sprintf("%s broken at %d, event %d (%v): %s; see it again with seed %d", v.Invariant, v.Node, v.Event, v.At, v.Detail, v.Seed)
}

// profile is the world of a seed.
type profile struct {
	brokers        int
	dedicated      bool // candidates are processes of their own
	perPartition   bool // requests of Kafka before 1.1
	heldStates     bool // elections begin from what the controller holds
	protocol       ibp.Version
	inFlight       int           // requests of a ZooKeeper client
	session        time.Duration // timeout
	zkDelay        time.Duration // of a message to or from ZooKeeper, mean
	netDelay       time.Duration // between nodes, mean
	redial         time.Duration // before a new connection
	retry          time.Duration // of a request to a broker
	requestTimeout time.Duration
	callTimeout    time.Duration // of a request to the controller
	isrTick        time.Duration
	admin          time.Duration // between requests of clients, mean
	fault          time.Duration // between faults, mean
	rebalance      time.Duration
	loss           float64 // of a message between nodes
}

func newProfile(rng *rand.Rand) profile {
	ms := func(lo, hi int) time.Duration {
		return time.Duration(lo+rng.IntN(hi-lo+1)) * time.Millisecond
	}
	us := func(lo, hi int) time.Duration {
		return time.Duration(lo+rng.IntN(hi-lo+1)) * time.Microsecond
	}
	p := profile{
		brokers:      3 + rng.IntN(3),
		dedicated:    rng.IntN(2) == 0,
		perPartition: rng.IntN(4) == 0,
		inFlight:     []int{10, 10, 3, 1}[rng.IntN(4)],
		session:      ms(40, 150),
		zkDelay:      us(100, 1500),
		netDelay:     us(100, 3000),
		isrTick:      ms(8, 30),
		admin:        ms(5, 30),
		fault:        ms(15, 80),
		rebalance:    ms(80, 300),
	}
	p.redial = 4*p.zkDelay + ms(1, 10)
	p.retry = p.netDelay*2 + ms(1, 10)
	p.requestTimeout = 12*p.netDelay + ms(10, 40)
	p.callTimeout = ms(100, 300)
	if rng.IntN(2) == 0 {
		p.loss = 0.05 * rng.Float64()
	}
	p.heldStates = !p.perPartition && p.isrTick%(2*time.Millisecond) == 0
	return p
}
