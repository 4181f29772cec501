package provider

import (
	"context"
	"errors"
	"io"
	"time"

	"kbench/internal/nodeconfig"
)

// Signal is what can be done to a running node.
type Signal string

// The signals, and what they are: SIGTERM, SIGKILL, SIGSTOP and SIGCONT, or
// the engine's stop, kill, pause and unpause.
const (
	Term   Signal = "term"
	Kill   Signal = "kill"
	Pause  Signal = "pause"
	Resume Signal = "resume"
	Reread Signal = "reread" // SIGUSR1: the node reads the faults of its disk anew
	Weigh  Signal = "weigh"  // SIGUSR2: the node collects its garbage and tells in its trace what is live
)

// ErrUnavailable is in the error of ZooKeeper and Kafka where this machine has
// none, so that a caller may choose another store; its text says how to get it.
var ErrUnavailable = errors.New("not available here")

// Provider runs the nodes of one cluster.
type Provider interface {
	// Name is process or docker.
	Name() string
	// Separate gives every node a network of its own, in which links can be
	// cut: nodes and servers are Networked then. It is called before anything
	// else or not at all. Its error says why that cannot be here.
	Separate(ctx context.Context) error
	// Reserve gives the host and ports where a node will listen, before it
	// starts; both stay the node's own over every restart.
	Reserve(ctx context.Context, node string, ports int) (host string, port []uint16, err error)
	// Put places files for a node that is not launched yet and gives the
	// directory in which the node finds them. None but the node and this user can
	// read them, and Close removes them.
	Put(ctx context.Context, node string, files ...File) (dir string, err error)
	// Launch starts `kbench node` with cfg. It fills in the paths of cfg
	// (DataDir, TraceFile, Metrics.File) and does not wait for readiness.
	Launch(ctx context.Context, cfg nodeconfig.Config) (Node, error)
	// ZooKeeper starts a real ensemble and waits until it serves. Its error says
	// what is missing and how to get it.
	ZooKeeper(ctx context.Context, z ZooKeeper) (Ensemble, error)
	// Kafka starts a process of real Apache Kafka and does not wait for
	// readiness. Its error says what is missing and how to get it.
	Kafka(ctx context.Context, k Kafka) (Node, error)
	// Close ends every node and removes what the provider made, the files of
	// stopped nodes included. It is idempotent and bounded by ctx.
	Close(ctx context.Context) error
}

// File is a file that a node needs beside its configuration.
type File struct {
	Name string // without a directory
	Data []byte
}

// ZooKeeper is a real ensemble that is to be started.
type ZooKeeper struct {
	Size     int           // servers: 1, 3, 5 or 7
	TickTime time.Duration // clients negotiate sessions of 2 to 20 of it
	Record   bool          // has the JVMs record themselves: its members are Recorders
}

// Ensemble is a running real ZooKeeper.
type Ensemble interface {
	// Servers are host:port of every server.
	Servers() []string
	// Description names version and size for reports.
	Description() string
	// Members are the server processes, for faults and resource figures.
	Members() []Node
}

// Node is one process or container of kbench, ZooKeeper or Kafka.
type Node interface {
	Name() string
	// Signal sends s and returns the CLOCK_MONOTONIC stamp in nanoseconds
	// taken just before it was sent.
	Signal(ctx context.Context, s Signal) (sentNs int64, err error)
	// Start starts the node again with the same configuration and data. It is
	// an error where the node has not exited.
	Start(ctx context.Context) error
	// Wait waits until the node has exited and returns the CLOCK_MONOTONIC
	// stamp at which that was seen and the exit code, -1 for a signal's end.
	Wait(ctx context.Context) (seenNs int64, code int, err error)
	// Running reports whether the node has not exited.
	Running() bool
	// Trace opens what the node's event trace holds so far; it is empty where
	// the node writes none.
	Trace(ctx context.Context) (io.ReadCloser, error)
	// Collect copies the node's log, trace and metrics files into dir, named
	// <node>.log, <node>.trace.jsonl and <node>.metrics.jsonl. A file the node
	// does not write is left out.
	Collect(ctx context.Context, dir string) error
}
