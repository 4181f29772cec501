package raftclient

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// Machine decides about elections, commitment and truncation: raft's, or that
// of another Algorithm, which keeps to the same order of effects.
type Machine interface {
	Step(now time.Duration, in raft.Input) (raft.Effects, time.Duration)
	Role() raft.Role
	Voted() raft.ReplicaKey
	Quorum() raft.Quorum
	HighWatermark() kafka.Offset
	LogStart() kafka.Offset
	LogEnd() kafka.Offset
}

// Algorithm puts another Machine in the place of the pull-based one. The log,
// its fsyncs, the accumulator, the Listener and the requests of observers stay
// the Client's, so that two algorithms differ in nothing else. A value serves
// one Client.
type Algorithm interface {
	// Machine makes the machine of a node whose directory is open.
	Machine(Parts) (Machine, error)
	// Run carries messages between the voters until ctx ends, and hands deliver
	// those that come in. It joins what it starts.
	Run(ctx context.Context, deliver func(context.Context, raft.Foreign) error)
}

// Parts is what a Machine of an Algorithm is made of.
type Parts struct {
	Config    raft.Config
	Persisted raft.Persisted
	Log       *metalog.Log // written by the effects alone
	FS        metalog.FS
	Dir       string // of the log
	// Encode gives the bytes of an append that the leader's accumulator made.
	Encode func(at raft.Batch, records any) ([]byte, error)
	// EncodeChanges gives the bytes of a batch of control records that change the
	// quorum.
	EncodeChanges func(at raft.Batch, changes []raft.QuorumChange) ([]byte, error)
	// Dial is how a voter is reached, and TLS what it is spoken to by; nil for
	// plain TCP.
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	TLS    *tls.Config
	Talk   *Talk // counts what the voters tell each other
	Logger *slog.Logger
}

// newMachine makes the machine that the configuration asks for.
func (c *Client) newMachine(m raft.Config, p raft.Persisted, dir string) (Machine, error) {
	if c.cfg.Algorithm == nil {
		return raft.New(m, p)
	}
	dial := c.cfg.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return c.cfg.Algorithm.Machine(Parts{
		Config: m, Persisted: p, Log: c.log, FS: c.cfg.FS, Dir: dir,
		Encode: func(at raft.Batch, records any) ([]byte, error) {
			return c.encode(raft.LogAppend{Batches: []raft.Batch{at}, Records: records})
		},
		EncodeChanges: func(at raft.Batch, changes []raft.QuorumChange) ([]byte, error) {
			return c.encode(raft.LogAppend{Batches: []raft.Batch{at}, Changes: changes})
		},
		Dial: dial, TLS: c.cfg.Identity.TLS, Talk: &c.talk, Logger: c.cfg.Logger,
	})
}

// carry runs the algorithm's own transport.
func (c *Client) carry(ctx context.Context) {
	c.cfg.Algorithm.Run(ctx, func(ctx context.Context, f raft.Foreign) error { return c.post(ctx, f) })
}
