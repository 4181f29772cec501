package raftclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// DefaultAppendLinger is Kafka's controller.quorum.append.linger.ms.
const DefaultAppendLinger = 25 * time.Millisecond

// ControllerListener is the listener of the controllers where Config.Listener
// names no other.
const ControllerListener = raft.DefaultListener

// Voter is a member of the static voter set and where it listens.
type Voter struct {
	ID   kafka.BrokerID
	Host string
	Port uint16
}

// Addr gives host:port.
func (v Voter) Addr() string { return kafka.Endpoint{Host: v.Host, Port: v.Port}.Addr() }

// LeaderAndEpoch is who leads the quorum in an epoch: -1 while nobody is known
// to.
type LeaderAndEpoch = raft.LeaderAndEpoch

// Listener hears what the quorum committed. Its methods are called one at a
// time on one goroutine of the client, and may take their time. An error is
// final: the client stops and Run returns it.
type Listener interface {
	// HandleCommit gets committed batches in order and without gaps, each
	// once. Control batches are among them, since they take offsets too; their
	// records are not metadata. The records alias a buffer that is never
	// written again.
	HandleCommit(batches []metalog.Batch) error
	// HandleLoadSnapshot replaces all state by the snapshot's; batches go on at
	// its end offset. The client closes the reader afterwards.
	HandleLoadSnapshot(r *metalog.SnapshotReader) error
	// HandleLeaderChange tells of a new epoch or leader. This node hears that
	// it leads only once everything up to the start of its own epoch was
	// handed to HandleCommit (KAFKA-15345); intermediate leaders may be left
	// out, epochs never go back.
	HandleLeaderChange(LeaderAndEpoch)
}

// Config says who a node is. Zero durations mean Kafka's defaults, see
// raft.Config, except AppendLinger.
type Config struct {
	NodeID    kafka.BrokerID
	ClusterID string
	// Voters is the static voter set (controller.quorum.voters). The node is an
	// observer if it is not in it. Empty with dynamic voters, which the log has
	// or the snapshot that formatting wrote (KIP-853).
	Voters []Voter
	// Bootstrap are servers, host:port, that know who leads
	// (controller.quorum.bootstrap.servers); empty asks the voters.
	Bootstrap []string
	// Controller is set where this node may become a voter: its log is always
	// durable. A static voter is one in any case.
	Controller bool
	// AutoJoin makes a Controller that is no voter ask to be one
	// (controller.quorum.auto.join.enable).
	AutoJoin bool
	// Endpoints is where a controller listens, among them the listener named
	// ListenerName, by which controllers reach each other; ControllerListener
	// where that is empty. A static voter's are taken from Voters where empty.
	Endpoints    []kafka.Endpoint
	ListenerName string
	Listener     Listener
	// Dir is the data directory, made where absent. Empty keeps the log in
	// memory, only what the Listener has not seen yet: for observers only, who
	// fetch a snapshot or the whole log again after a restart.
	Dir string
	FS  metalog.FS // nil: the machine's file system
	// SegmentBytes is the size of a log file; 0 means Kafka's.
	SegmentBytes int64
	// SegmentAge is how much later than its first record the last one of a log file
	// may be; 0 means Kafka's.
	SegmentAge time.Duration
	// RetentionBytes is how much log may be kept below the latest snapshot;
	// 0 means Kafka's 100 MiB.
	RetentionBytes int64
	// RetentionAge is how old a snapshot may get that is not the latest; it goes with
	// the log up to the next one. 0 means Kafka's 7 days.
	RetentionAge time.Duration

	// AppendLinger is how long an append waits for company before it is
	// written. 0 writes at once; DefaultAppendLinger is Kafka's.
	AppendLinger       time.Duration
	ElectionTimeout    time.Duration
	FetchTimeout       time.Duration
	ElectionBackoffMax time.Duration
	RequestTimeout     time.Duration
	RetryBackoff       time.Duration
	FetchMaxWait       time.Duration

	DisableHWPush  bool // Kafka before 4.1: replicas hear of a commit with the next record (KIP-1166)
	DisablePreVote bool // Kafka before 4.0

	Seed   uint64 // of the election timeouts; 0 takes one from the node id and the clock
	Logger *slog.Logger
	Trace  *trace.Writer // nil: none
	Now    func() time.Time
	// Algorithm replaces the pull-based machine of a voter; nil keeps it. The
	// configuration must name every node that may ever vote.
	Algorithm Algorithm
	// Dial opens connections to voters; nil dials TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Identity is how this node shows itself to the others' listener and whom it
	// trusts there; Protocol is that listener's security protocol.
	Identity wire.Identity
	Protocol kafka.SecurityProtocol
}

func (c *Config) defaults() {
	if c.FS == nil {
		c.FS = metalog.OS()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = raft.DefaultRequestTimeout
	}
	if c.FetchMaxWait == 0 {
		c.FetchMaxWait = raft.DefaultFetchMaxWait
		if c.FetchTimeout > 0 { // a parked fetch must not look like a dead leader
			c.FetchMaxWait = min(c.FetchMaxWait, c.FetchTimeout/2)
		}
	}
	if c.RetentionBytes == 0 {
		c.RetentionBytes = 100 << 20
	}
	if c.RetentionAge == 0 {
		c.RetentionAge = 7 * 24 * time.Hour
	}
	if c.Seed == 0 {
		c.Seed = uint64(c.Now().UnixNano())
	}
	if c.ListenerName == "" {
		c.ListenerName = ControllerListener
	}
	for _, v := range c.Voters {
		if v.ID == c.NodeID && len(c.Endpoints) == 0 {
			c.Endpoints = []kafka.Endpoint{{Listener: c.ListenerName, Host: v.Host, Port: v.Port}}
		}
	}
}

func (c *Config) check() error {
	var faults []error
	if c.Listener == nil {
		faults = append(faults, errors.New("no Listener"))
	}
	if c.Dir == "" && c.syncs() {
		faults = append(faults, fmt.Errorf("node %d may vote and needs a data directory: a vote in memory is forgotten in a crash", c.NodeID))
	}
	if c.Algorithm != nil && !c.isVoter() {
		faults = append(faults, fmt.Errorf("node %d runs another algorithm than KRaft's and is not among the static voters: name it in Voters", c.NodeID))
	}
	for _, v := range c.Voters {
		if v.Host == "" || v.Port == 0 {
			faults = append(faults, fmt.Errorf("voter %d has no address", v.ID))
		}
	}
	if _, ok := endpointOf(c.Endpoints, cmp.Or(c.ListenerName, ControllerListener)); c.Controller && !ok && !c.isVoter() {
		faults = append(faults, fmt.Errorf("controller %d has no endpoint named %s", c.NodeID, cmp.Or(c.ListenerName, ControllerListener)))
	}
	for _, addr := range c.Bootstrap {
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
			faults = append(faults, fmt.Errorf("bootstrap server %q is not host:port", addr))
		}
	}
	return errors.Join(faults...)
}

// syncs reports whether the log must be durable: others may count on it.
func (c *Config) syncs() bool { return c.Controller || c.isVoter() }

func (c *Config) isVoter() bool {
	for _, v := range c.Voters {
		if v.ID == c.NodeID {
			return true
		}
	}
	return false
}

func (c *Config) machine() raft.Config {
	m := raft.Config{
		NodeID: c.NodeID, ClusterID: c.ClusterID,
		ElectionTimeout: c.ElectionTimeout, FetchTimeout: c.FetchTimeout,
		ElectionBackoffMax: c.ElectionBackoffMax, RequestTimeout: c.RequestTimeout,
		RetryBackoff: c.RetryBackoff, FetchMaxWait: c.FetchMaxWait,
		DisablePreVote: c.DisablePreVote, DisableHWPush: c.DisableHWPush,
		NoFlush: !c.syncs(), AutoJoin: c.AutoJoin && c.Controller,
		Endpoints: c.Endpoints, Listener: c.ListenerName,
		Seed: [2]uint64{c.Seed, uint64(c.NodeID)},
	}
	for _, v := range c.Voters {
		m.Voters = append(m.Voters, raft.Voter{
			ReplicaKey: raft.ReplicaKey{ID: v.ID},
			Endpoints:  []kafka.Endpoint{{Listener: c.ListenerName, Host: v.Host, Port: v.Port}},
		})
	}
	return m
}
