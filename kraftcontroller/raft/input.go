package raft

import (
	"time"

	"kbench/kafka"
)

// Input is what a driver steps a Machine with.
type Input interface{ input() }

// Tick says that time has passed: the deadline of the last Step, or any time.
type Tick struct{}

// Request hands in a request that arrived from a peer. The answer comes as a
// Reply with the same ID, in this Step or, for a parked fetch, in a later one.
// IDs are the driver's; an ID must not be used again before its Reply.
type Request struct {
	ID      uint64
	Message Message
}

// Cancel says that nobody waits for the answer of Request ID any more, its
// connection is closed. A parked fetch is dropped; no Reply follows.
type Cancel struct{ ID uint64 }

// Response hands in the answer to the Send with this ID.
type Response struct {
	ID      uint64
	Message Message
}

// RequestFailed says that the Send with this ID got no answer and will get
// none: connection refused or broken, malformed answer, unsupported version.
type RequestFailed struct{ ID uint64 }

// Append asks for records to be appended by the leader of Epoch. The answer is
// an AppendResult with the same Token in the same Step. Count is the number of
// records, at least 1; they become one batch. Records is handed back untouched
// in the LogAppend.
type Append struct {
	Token   uint64
	Epoch   kafka.LeaderEpoch // the epoch in which the caller believes this node leads
	Count   int32
	Records any
}

// FlushDone says that the Flush with this Seq is durable.
type FlushDone struct{ Seq uint64 }

// Resign makes the leader of Epoch step down and hand over. On any other node
// or epoch it does nothing.
type Resign struct{ Epoch kafka.LeaderEpoch }

// Shutdown asks a node to leave in good order: a leader resigns and goes on
// answering votes until the next leader is known or Timeout has passed.
// Effects.ShutdownDone says when the driver may stop; on a node that does not
// lead that is at once.
type Shutdown struct{ Timeout time.Duration }

// SnapshotTaken says that a snapshot of this node's own state is complete and
// durable. ID.EndOffset must not be above the high watermark.
type SnapshotTaken struct{ ID SnapshotID }

// LogStartMoved says that the driver deleted the log below Offset, which must
// not be above the EndOffset of the latest snapshot.
type LogStartMoved struct{ Offset kafka.Offset }

// SnapshotInstalled answers a Snapshot effect with Done set: the fetched
// snapshot is durable, the log is emptied and starts and ends at ID.EndOffset.
type SnapshotInstalled struct {
	ID     SnapshotID
	Quorum Quorum // what it says of the quorum
}

func (Tick) input()              {}
func (Request) input()           {}
func (Cancel) input()            {}
func (Response) input()          {}
func (RequestFailed) input()     {}
func (Append) input()            {}
func (FlushDone) input()         {}
func (Resign) input()            {}
func (Shutdown) input()          {}
func (SnapshotTaken) input()     {}
func (LogStartMoved) input()     {}
func (SnapshotInstalled) input() {}
