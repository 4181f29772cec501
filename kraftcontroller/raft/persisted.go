package raft

import "kbench/kafka"

// None is the id of no node: no leader known, no vote given.
const None kafka.BrokerID = -1

// QuorumState is the content of Kafka's quorum-state file.
type QuorumState struct {
	LeaderID    kafka.BrokerID // None where unknown
	LeaderEpoch kafka.LeaderEpoch
	VotedKey    ReplicaKey // ID None where no vote was given in LeaderEpoch
}

// EmptyQuorumState is the state of a node that has no quorum-state file.
func EmptyQuorumState() QuorumState {
	return QuorumState{LeaderID: None, VotedKey: ReplicaKey{ID: None}}
}

// EpochStart is an entry of the leader-epoch checkpoint: records from Start on
// have Epoch, until the next entry's Start.
type EpochStart struct {
	Epoch kafka.LeaderEpoch
	Start kafka.Offset
}

// SnapshotID names a snapshot: EndOffset is exclusive, Epoch is that of the
// last record in it.
type SnapshotID struct {
	EndOffset kafka.Offset
	Epoch     kafka.LeaderEpoch
}

// IsBootstrap reports whether id is 0-0, the snapshot that formatting writes
// and that is never served to others. It is also the zero value, no snapshot.
func (id SnapshotID) IsBootstrap() bool { return id == SnapshotID{} }

// Persisted is what a node found on its disk when it started. The log must be
// durable up to LogEnd: after a crash of the process alone, bytes that recovery
// read may still be in the page cache only, so the driver fsyncs before New.
type Persisted struct {
	QuorumState QuorumState
	LogStart    kafka.Offset // first offset held; 0 in a log never cut
	LogEnd      kafka.Offset // exclusive
	// StartEpoch is the epoch of the record before LogStart, that of the
	// snapshot that ends there; 0 if LogStart is 0.
	StartEpoch kafka.LeaderEpoch
	// Epochs lists the epochs of the records held, in ascending order of both
	// fields; empty in an empty log. The first Start is at most LogStart.
	Epochs []EpochStart
	// Snapshot is the latest complete snapshot, zero where there is none. Its
	// EndOffset is in [LogStart, LogEnd]: a driver whose log ends before it, as
	// after a crash between the two, starts the log anew behind it.
	Snapshot SnapshotID
	// Quorum is what the snapshot says, also the one that formatting wrote (0-0);
	// zero where it says nothing, and the voters are those of the Config.
	Quorum Quorum
	// Changes are the control records of the log that change the quorum, in
	// order.
	Changes []QuorumChange
}
