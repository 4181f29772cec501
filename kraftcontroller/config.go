package kraftcontroller

import (
	"math/rand/v2"
	"time"

	"kbench/kafka/access"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/raftclient"
)

// Config says who a controller is.
type Config struct {
	// Raft is the node's part in the quorum; it must be one of the voters. Its
	// Listener is the controller's own and is overwritten. AppendLinger 0 means
	// no linger: Kafka's is raftclient.DefaultAppendLinger.
	Raft raftclient.Config
	// Machine is how the controller decides. ClusterID is taken from Raft where
	// empty, and Rand made from Raft's seed where nil. NodeID and StartMs are the
	// controller's own and are overwritten.
	Machine machine.Config

	// Authorizer guards the APIs by the ACLs of the metadata; nil lets everybody
	// do everything.
	Authorizer *access.Config

	SnapshotBytes    int64         // of log between two snapshots; 0 means snapshots.DefaultBytes
	SnapshotInterval time.Duration // a snapshot at least so often while the log grows; 0 means snapshots.DefaultInterval
}

func (c *Config) defaults() {
	if c.Raft.Now == nil {
		c.Raft.Now = time.Now
	}
	if c.Raft.Seed == 0 {
		c.Raft.Seed = uint64(c.Raft.Now().UnixNano())
	}
	if c.Machine.ClusterID == "" {
		c.Machine.ClusterID = c.Raft.ClusterID
	}
	c.Machine.NodeID = c.Raft.NodeID
	if c.Machine.Rand == nil {
		c.Machine.Rand = rand.New(rand.NewPCG(c.Raft.Seed, uint64(c.Raft.NodeID)))
	}
}
