package workloads

import (
	"context"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// Fault is what can be done to a node.
type Fault string

// The faults, and what undoes each.
const (
	FaultStop   Fault = "stop"   // SIGTERM: controlled shutdown, then exit 0; undone by FaultStart
	FaultKill   Fault = "kill"   // SIGKILL; undone by FaultStart
	FaultPause  Fault = "pause"  // SIGSTOP; undone by FaultResume
	FaultResume Fault = "resume" // SIGCONT
	FaultStart  Fault = "start"  // the same configuration and data again
	// FaultStartEmpty starts it with the same configuration and none of its data,
	// as a new machine with its id.
	FaultStartEmpty Fault = "start-empty"

	// Faults of the network. The node runs on; undone by FaultHeal.
	FaultIsolate Fault = "isolate" // no packet reaches the node or leaves it
	FaultCut     Fault = "cut"     // none passes between it and the store, or the other voters
	FaultCutIn   Fault = "cut-in"  // none comes to it from there
	FaultCutOut  Fault = "cut-out" // none goes from it to there
	FaultHeal    Fault = "heal"    // all packets pass again
)

// The faults that only a timeline has: they are made and undone by an Injector.
const (
	FaultRestart    Fault = "restart"        // SIGTERM, and a start as soon as it has exited
	FaultSplit      Fault = "split"          // no packet between one group of processes and all others
	FaultDelay      Fault = "delay"          // of every packet that leaves
	FaultLoss       Fault = "loss"           // a share of the packets that arrive is lost
	FaultRate       Fault = "rate"           // packets that leave share a bandwidth
	FaultFsyncDelay Fault = "fsync-delay"    // every fsync takes longer
	FaultFsyncError Fault = "fsync-error"    // every fsync fails
	FaultDiskFull   Fault = "disk-full"      // every write that needs room fails
	FaultLogDir     Fault = "fail-log-dir"   // every fsync in a log directory of a broker fails
	FaultCPU        Fault = "cpu"            // a quota of processor time
	FaultExpire     Fault = "session-expiry" // its session with ZooKeeper ends while it runs on
)

// Severs reports whether the fault cuts links of a node that runs on.
func (f Fault) Severs() bool {
	return f == FaultIsolate || f == FaultCut || f == FaultCutIn || f == FaultCutOut
}

// Starts reports whether the fault is the start of a node that has exited.
func (f Fault) Starts() bool { return f == FaultStart || f == FaultStartEmpty }

// Undo gives what undoes the fault, and nothing for what is no fault.
func (f Fault) Undo() Fault {
	switch {
	case f == FaultStop || f == FaultKill:
		return FaultStart
	case f == FaultPause:
		return FaultResume
	case f.Severs():
		return FaultHeal
	}
	return ""
}

// Node is one broker or controller of a running cluster.
type Node struct {
	ID   kafka.BrokerID
	Addr string // host:port of the listener the harness reaches
	Live bool   // not stopped, killed, paused or cut off by a fault
	// As is how clients show themselves at the listener, and whom they trust; nil
	// is plain TCP without a name. It is the same at every node of a cluster.
	As *wire.Identity
}

// Cluster is the running cluster as workloads need it. Methods that wait obey
// ctx and name what they waited for in their error.
type Cluster interface {
	// Mode says where admin requests go: zk, to the controller that Metadata
	// names; kraft, to any broker.
	Mode() nodeconfig.Mode
	// Brokers are the brokers that host replicas, by id. Dedicated candidates
	// are not among them.
	Brokers() []Node
	// Controllers are the nodes that may be the active controller, by id:
	// voters, dedicated candidates, or brokers where they are colocated.
	Controllers() []Node
	// ActiveController waits until exactly one controller is active.
	ActiveController(ctx context.Context) (Node, error)
	// Inject makes the fault and returns the CLOCK_MONOTONIC stamp in ns taken
	// just before it was sent. FaultHeal returns when packets were seen to pass.
	Inject(ctx context.Context, id kafka.BrokerID, f Fault) (sentNs int64, err error)
	// Exited waits until the node's process has exited after FaultStop or
	// FaultKill and returns the stamp at which that was seen, and the exit
	// code, -1 where a signal ended it.
	Exited(ctx context.Context, id kafka.BrokerID) (seenNs int64, code int, err error)
	// Severed looks whether packets are lost as the node's fault of the network
	// says, and only those, and returns the stamp at which that was seen.
	Severed(ctx context.Context, id kafka.BrokerID) (seenNs int64, err error)
	// WaitHealthy waits until every node is up, every broker serves the same
	// metadata and every partition has a leader and a full ISR. It is the gate
	// before and after each fault.
	WaitHealthy(ctx context.Context) error
	// LiveHeap has the process of the node collect its garbage, and gives the bytes
	// that are live on its heap then.
	LiveHeap(ctx context.Context, id kafka.BrokerID) (bytes int64, err error)
	// Events gives what the nodes' traces hold so far, in any order; none where
	// the nodes write no traces, as real Kafka does not.
	Events(ctx context.Context) ([]trace.Event, error)
}
