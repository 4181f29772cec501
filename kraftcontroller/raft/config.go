package raft

import (
	"errors"
	"fmt"
	"time"

	"kbench/kafka"
)

// ReplicaKey names one incarnation of a replica: the node and the directory it
// writes to (KIP-853). A zero DirectoryID is an unknown one and matches any.
type ReplicaKey struct {
	ID          kafka.BrokerID
	DirectoryID kafka.UUID
}

// Voter is a member of the voter set.
type Voter struct {
	ReplicaKey
	Endpoints     []kafka.Endpoint // where it listens; the driver connects to them
	KRaftVersions VersionRange     // that it supports
}

// Config is what a Machine is made of. Zero durations and sizes mean Kafka's
// defaults. The machine keeps the slices and does not write to them.
type Config struct {
	NodeID      kafka.BrokerID // this node, 0 or above
	DirectoryID kafka.UUID     // this node's metadata directory; zero in one that keeps no directory
	ClusterID   string         // requests of another cluster are refused; empty accepts only requests without one

	// Voters is the static voter set (kraft.version 0). The node is a voter if
	// its id is in it, else an observer. At most MaxVoters. Empty where the log
	// or its first snapshot has the voters, which count before these in any case
	// (KIP-853).
	Voters []Voter
	// Endpoints is where this node listens as a controller, and Listener the
	// name of the listener that controllers use among themselves;
	// DefaultListener where empty.
	Endpoints []kafka.Endpoint
	Listener  string
	// AutoJoin makes an observer ask to be a voter (KIP-853,
	// controller.quorum.auto.join.enable). Controllers may have it, brokers not.
	AutoJoin bool
	// Bootstrap are the ids that a node without a leader fetches from, one at
	// random each time. Empty means the voters of the moment. A driver that knows addresses
	// only uses ids below -1, as Kafka does.
	Bootstrap []kafka.BrokerID

	ElectionTimeout    time.Duration // base T of the random timeout in [T, 2T); 1 s
	FetchTimeout       time.Duration // a follower without a good fetch for so long campaigns; 2 s
	ElectionBackoffMax time.Duration // upper bound of the wait after a lost election; 1 s
	RequestTimeout     time.Duration // a request without an answer is given up; 2 s
	RetryBackoff       time.Duration // wait after a failed request; 20 ms
	FetchMaxWait       time.Duration // how long a leader may park our fetch; 500 ms
	FetchMaxBytes      int32         // records we ask for per fetch; 8 MiB
	SnapshotMaxBytes   int32         // bytes we ask for per FetchSnapshot; 8 MiB
	ObserverExpiry     time.Duration // a leader forgets an observer that is silent for so long; 300 s

	MaxParked    int // parked fetches; one more is answered at once, empty; 10,000
	MaxObservers int // observers whose progress a leader tracks; 10,000

	// DisablePreVote turns off the Prospective state (KIP-996, Kafka 4.0), as
	// it must be while a voter does not know Vote version 2.
	DisablePreVote bool
	// DisableHWPush answers a parked fetch when the log grows only, as Kafka
	// before 4.1 does, and not when the high watermark passes the one that the
	// replica knows (KIP-1166, Fetch version 18). On an idle log a replica then
	// learns of a commit with the next record.
	DisableHWPush bool
	// NoFlush lets an observer fetch on without waiting for its disk. Brokers
	// may, controllers must not. Ignored on voters.
	NoFlush bool

	// Seed of the machine's own random numbers: election timeouts, back-off,
	// choice of the bootstrap server. Nodes of a quorum need different seeds,
	// else their elections collide.
	Seed [2]uint64
}

// MaxVoters bounds the voter set.
const MaxVoters = 101

// Defaults of the Config, Kafka's (controller.quorum.*).
const (
	DefaultElectionTimeout    = 1000 * time.Millisecond
	DefaultFetchTimeout       = 2000 * time.Millisecond
	DefaultElectionBackoffMax = 1000 * time.Millisecond
	DefaultRequestTimeout     = 2000 * time.Millisecond
	DefaultRetryBackoff       = 20 * time.Millisecond
	DefaultFetchMaxWait       = 500 * time.Millisecond
	DefaultFetchMaxBytes      = 8 << 20
	DefaultSnapshotMaxBytes   = 8 << 20
	DefaultObserverExpiry     = 300 * time.Second
	DefaultMaxParked          = 10_000
	DefaultMaxObservers       = 10_000
	DefaultListener           = "CONTROLLER"
)

func (c Config) withDefaults() Config {
	duration := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	duration(&c.ElectionTimeout, DefaultElectionTimeout)
	duration(&c.FetchTimeout, DefaultFetchTimeout)
	duration(&c.ElectionBackoffMax, DefaultElectionBackoffMax)
	duration(&c.RequestTimeout, DefaultRequestTimeout)
	duration(&c.RetryBackoff, DefaultRetryBackoff)
	duration(&c.FetchMaxWait, DefaultFetchMaxWait)
	duration(&c.ObserverExpiry, DefaultObserverExpiry)
	if c.FetchMaxBytes == 0 {
		c.FetchMaxBytes = DefaultFetchMaxBytes
	}
	if c.SnapshotMaxBytes == 0 {
		c.SnapshotMaxBytes = DefaultSnapshotMaxBytes
	}
	if c.MaxParked == 0 {
		c.MaxParked = DefaultMaxParked
	}
	if c.MaxObservers == 0 {
		c.MaxObservers = DefaultMaxObservers
	}
	if c.Listener == "" {
		c.Listener = DefaultListener
	}
	return c
}

// validate reports every fault of c, after defaults, in one error.
func (c *Config) validate() error {
	var faults []error
	fault := func(format string, a ...any) { faults = append(faults, fmt.Errorf(format, a...)) }
	if c.NodeID < 0 {
		fault("node id %d: must be 0 or above", c.NodeID)
	}
	if len(c.Voters) > MaxVoters {
		fault("%d voters: at most %d", len(c.Voters), MaxVoters)
	}
	seen := map[kafka.BrokerID]bool{}
	for _, v := range c.Voters {
		if v.ID < 0 {
			fault("voter id %d: must be 0 or above", v.ID)
		}
		if seen[v.ID] {
			fault("voter id %d is given twice", v.ID)
		}
		seen[v.ID] = true
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"election timeout", c.ElectionTimeout},
		{"fetch timeout", c.FetchTimeout},
		{"election backoff max", c.ElectionBackoffMax},
		{"request timeout", c.RequestTimeout},
		{"retry backoff", c.RetryBackoff},
		{"fetch max wait", c.FetchMaxWait},
		{"observer expiry", c.ObserverExpiry},
	} {
		if d.d < 0 {
			fault("%s %v: must be above 0", d.name, d.d)
		}
	}
	if c.FetchMaxWait >= c.FetchTimeout {
		fault("fetch max wait %v must be below the fetch timeout %v, else parked fetches look like a dead leader", c.FetchMaxWait, c.FetchTimeout)
	}
	if c.FetchMaxBytes < 0 || c.SnapshotMaxBytes < 0 || c.MaxParked < 0 || c.MaxObservers < 0 {
		fault("sizes and bounds must be above 0")
	}
	return errors.Join(faults...)
}
