package raft

import (
	"time"

	"kbench/kafka"
)

// Never is the deadline of a machine that waits for no time.
const Never time.Duration = 1<<63 - 1

// Effects is what one Step asks of the driver, to be carried out in the order
// that the package documentation states. The slices are the machine's and are
// valid until the next Step; what they point to is never written again.
type Effects struct {
	Fatal    error        // an invariant is broken: stop, carry out nothing
	Persist  *QuorumState // write quorum-state and fsync before anything leaves
	Log      []LogOp      // truncations and appends, in order
	Snapshot *Snapshot    // work on a snapshot being fetched
	Flush    *Flush       // start an fsync of the log
	Send     []Send
	Reply    []Reply
	Appended []AppendResult
	Role     *Role // the role, the leader or the epoch changed
	// HighWatermark is the new high watermark, NoOffset where it did not move.
	// It never moves back while a machine lives.
	HighWatermark kafka.Offset
	ShutdownDone  bool // the node may stop now
}

// LogOp is LogTruncate or LogAppend.
type LogOp interface{ logOp() }

// LogTruncate drops every record at To and above.
type LogTruncate struct{ To kafka.Offset }

// LogAppend appends at the log end. On a leader it has one batch: either the
// Records of an Append input, or, if LeaderChange or Changes is set, those
// control records for the driver to encode, in this order. On a follower it has the batches and the Records
// of a FetchResponse.
type LogAppend struct {
	Batches      []Batch
	LeaderChange *LeaderChange
	// Changes are, on a leader, control records for the driver to encode: behind
	// the LeaderChange, or in a batch of their own.
	Changes []QuorumChange
	Records any
}

// LeaderChange is the control record that opens an epoch in the log.
type LeaderChange struct {
	LeaderID       kafka.BrokerID
	Voters         []ReplicaKey // by id
	GrantingVoters []ReplicaKey // by id, the leader among them
}

func (LogTruncate) logOp() {}
func (LogAppend) logOp()   {}

// Flush asks for an fsync of the log as it is now.
type Flush struct{ Seq uint64 }

// Snapshot is a step of fetching a snapshot. If Position is 0, a new temporary
// file is started and an older one of any snapshot removed; Data is written at
// Position. If Done is set too, the snapshot is complete: the driver fsyncs
// and renames it, truncates the whole log so that it starts and ends at
// ID.EndOffset, and hands in SnapshotInstalled when all that is durable.
type Snapshot struct {
	ID       SnapshotID
	Position int64
	Data     []byte
	Done     bool
}

// Send is a request to a peer. Its answer comes back as Response or
// RequestFailed with this ID.
type Send struct {
	ID      uint64
	To      kafka.BrokerID // a voter, the leader, an id of Config.Bootstrap, or the node of an APIVersionsRequest
	Message Message
}

// Reply is the answer to the Request with this ID.
type Reply struct {
	ID      uint64
	Message Message
}

// AppendResult answers the Append with this Token.
type AppendResult struct {
	Token      uint64
	Err        kafka.ErrorCode // None, or NOT_LEADER_OR_FOLLOWER: nothing was appended
	BaseOffset kafka.Offset
	LastOffset kafka.Offset // inclusive; committed once the high watermark is above it
}

// State is a state of the raft state machine.
type State uint8

// The states. See machine.go for the legal transitions.
const (
	Unattached State = iota
	Prospective
	Candidate
	Leader
	Resigned
	Follower
)

// String gives the name of the state.
func (s State) String() string {
	return [...]string{"Unattached", "Prospective", "Candidate", "Leader", "Resigned", "Follower"}[s]
}

// Role is where a node stands in the quorum.
//
// A leader must not serve as one before it has applied the log past
// EpochStart, that is, before the high watermark is above EpochStart
// (KAFKA-15345); in Resigned it must have stopped.
type Role struct {
	State      State
	Observer   bool // the node is not in the voter set
	Epoch      kafka.LeaderEpoch
	LeaderID   kafka.BrokerID // None where unknown; this node's id if it leads; None when Resigned
	EpochStart kafka.Offset   // offset of the LeaderChange record on a leader, else NoOffset
}
