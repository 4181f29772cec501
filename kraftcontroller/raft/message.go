package raft

import (
	"math"
	"time"

	"kbench/kafka"
)

// Message is one of Kafka's raft RPCs, request or response, as a value (not a
// pointer).
//
// Error is the top-level error code of a response and PartitionError that of
// its only partition; LeaderID (None where unknown) and LeaderEpoch are its
// CurrentLeader. A nil ClusterID is an absent one, which every node accepts.
type Message interface{ message() }

// VoteRequest is Vote (52). LastOffset is the candidate's log end offset and
// LastEpoch the epoch of its last record (0 in an empty log).
type VoteRequest struct {
	ClusterID  *string
	Voter      ReplicaKey // the receiver; ID None where the version has no field for it (v0)
	Epoch      kafka.LeaderEpoch
	Candidate  ReplicaKey
	LastEpoch  kafka.LeaderEpoch
	LastOffset kafka.Offset
	PreVote    bool // v2, KIP-996
}

// VoteResponse answers VoteRequest.
type VoteResponse struct {
	Error, PartitionError kafka.ErrorCode
	LeaderID              kafka.BrokerID
	LeaderEpoch           kafka.LeaderEpoch
	Granted               bool
}

// AddVoterRequest is AddRaftVoter (80).
type AddVoterRequest struct {
	ClusterID *string
	Timeout   time.Duration // not read, as by Kafka 4.4: the request timeout counts
	Voter     Voter         // with endpoints
	// AckWhenCommitted makes the answer wait until the change is committed (v1;
	// so does v0), instead of until it is appended.
	AckWhenCommitted bool
}

// AddVoterResponse answers AddVoterRequest.
type AddVoterResponse struct {
	Error kafka.ErrorCode
	Text  string // of the error, empty for none
}

// RemoveVoterRequest is RemoveRaftVoter (81).
type RemoveVoterRequest struct {
	ClusterID *string
	Voter     ReplicaKey
}

// RemoveVoterResponse answers RemoveVoterRequest, when the change is committed.
type RemoveVoterResponse struct {
	Error kafka.ErrorCode
	Text  string
}

// UpdateVoterRequest is UpdateRaftVoter (82).
type UpdateVoterRequest struct {
	ClusterID          *string
	CurrentLeaderEpoch kafka.LeaderEpoch
	Voter              Voter
}

// UpdateVoterResponse answers UpdateVoterRequest.
type UpdateVoterResponse struct {
	Error       kafka.ErrorCode
	LeaderID    kafka.BrokerID
	LeaderEpoch kafka.LeaderEpoch
}

// APIVersionsRequest is ApiVersions (18), to a node that is to be a voter and
// listens at Endpoints.
type APIVersionsRequest struct{ Endpoints []kafka.Endpoint }

// APIVersionsResponse is what its answer says of kraft.version: 0 to 0 where it
// does not name the feature.
type APIVersionsResponse struct {
	Error         kafka.ErrorCode
	KRaftVersions VersionRange
}

// UpgradeRequest asks the leader of Epoch to finalize a level of kraft.version.
// It comes from the controller of this node, not from the network.
type UpgradeRequest struct {
	Epoch        kafka.LeaderEpoch
	KRaftVersion int16
	ValidateOnly bool
}

// UpgradeResponse answers UpgradeRequest; the change is appended then, not yet
// committed.
type UpgradeResponse struct {
	Error kafka.ErrorCode
	Text  string
}

// BeginQuorumEpochRequest is BeginQuorumEpoch (53): the leader tells a voter
// that it was elected. The driver adds the leader's endpoints.
type BeginQuorumEpochRequest struct {
	ClusterID   *string
	Voter       ReplicaKey // the receiver; ID None in v0
	LeaderID    kafka.BrokerID
	LeaderEpoch kafka.LeaderEpoch
}

// BeginQuorumEpochResponse answers BeginQuorumEpochRequest.
type BeginQuorumEpochResponse struct {
	Error, PartitionError kafka.ErrorCode
	LeaderID              kafka.BrokerID
	LeaderEpoch           kafka.LeaderEpoch
}

// EndQuorumEpochRequest is EndQuorumEpoch (54): a resigning leader asks the
// voters to elect another, the first of PreferredSuccessors at once.
type EndQuorumEpochRequest struct {
	ClusterID           *string
	LeaderID            kafka.BrokerID
	LeaderEpoch         kafka.LeaderEpoch
	PreferredSuccessors []ReplicaKey // furthest fetched first; without directory ids in v0
}

// EndQuorumEpochResponse answers EndQuorumEpochRequest.
type EndQuorumEpochResponse struct {
	Error, PartitionError kafka.ErrorCode
	LeaderID              kafka.BrokerID
	LeaderEpoch           kafka.LeaderEpoch
}

// HighWatermarkUnsupported is the FetchRequest.HighWatermark of a version
// below 18: the leader then does not push high watermarks to this replica.
const HighWatermarkUnsupported kafka.Offset = math.MaxInt64

// FetchRequest is Fetch (1) of the metadata log. It acknowledges that the
// replica holds everything below FetchOffset durably, and is its sign of life.
type FetchRequest struct {
	ClusterID          *string
	Replica            ReplicaKey // ID None: an anonymous reader, never tracked
	CurrentLeaderEpoch kafka.LeaderEpoch
	FetchOffset        kafka.Offset      // the replica's log end offset
	LastFetchedEpoch   kafka.LeaderEpoch // epoch of its last record, 0 in an empty log
	MaxWait            time.Duration     // how long the leader may park it; 0: answer at once
	MaxBytes           int32
	// HighWatermark is the one the replica knows (v18, KIP-1166): NoOffset
	// where it knows none, HighWatermarkUnsupported below v18.
	HighWatermark kafka.Offset
}

// FetchResponse answers FetchRequest. At most one of Diverging, Snapshot and
// records is present.
type FetchResponse struct {
	Error, PartitionError kafka.ErrorCode
	LeaderID              kafka.BrokerID
	LeaderEpoch           kafka.LeaderEpoch
	HighWatermark         kafka.Offset // NoOffset where the leader knows none
	LogStartOffset        kafka.Offset
	Diverging             *EpochEndOffset // where the replica's last epoch ended at the leader (KIP-595)
	Snapshot              *SnapshotID     // fetch this snapshot first (KIP-630)

	// Read says, in a response that the machine sends, which records go with
	// it. Nil means none.
	Read *Read
	// Batches and Records are the records in a response that the machine
	// receives: the driver has checked sums and offsets, cut off a partial
	// batch at the end, and describes each batch; Records is handed back
	// untouched in the LogAppend.
	Batches []Batch
	Records any
}

// EpochEndOffset is the end of an epoch in a leader's log.
type EpochEndOffset struct {
	Epoch     kafka.LeaderEpoch
	EndOffset kafka.Offset // exclusive
}

// Read asks the driver for whole batches from From (inclusive; it may be
// inside the first batch) to the log end, at most MaxBytes but at least one
// batch.
type Read struct {
	From     kafka.Offset
	MaxBytes int32
}

// Batch describes one record batch of the log.
type Batch struct {
	BaseOffset kafka.Offset // of the first record
	LastOffset kafka.Offset // of the last record, inclusive
	Epoch      kafka.LeaderEpoch
	Changes    []QuorumChange // what its control records change of the quorum
}

// FetchSnapshotRequest is FetchSnapshot (59): bytes of a snapshot from
// Position on.
type FetchSnapshotRequest struct {
	ClusterID          *string
	Replica            ReplicaKey
	CurrentLeaderEpoch kafka.LeaderEpoch
	Snapshot           SnapshotID
	Position           int64
	MaxBytes           int32
}

// FetchSnapshotResponse answers FetchSnapshotRequest.
//
// When the machine sends it with ReadChunk set, the driver reads up to MaxBytes
// from Position and fills in Size and Data; if it has no such snapshot it sends
// SNAPSHOT_NOT_FOUND instead, and POSITION_OUT_OF_RANGE if Position is not
// below the size.
type FetchSnapshotResponse struct {
	Error, PartitionError kafka.ErrorCode
	LeaderID              kafka.BrokerID
	LeaderEpoch           kafka.LeaderEpoch
	Snapshot              SnapshotID
	Position              int64
	MaxBytes              int32 // outgoing only, not on the wire
	ReadChunk             bool  // outgoing only, not on the wire
	Size                  int64 // of the whole snapshot
	Data                  []byte
}

// DescribeQuorumRequest is DescribeQuorum (55).
type DescribeQuorumRequest struct{}

// DescribeQuorumResponse answers DescribeQuorumRequest; voters and observers
// are ordered by id.
type DescribeQuorumResponse struct {
	Error, PartitionError kafka.ErrorCode
	LeaderID              kafka.BrokerID
	LeaderEpoch           kafka.LeaderEpoch
	HighWatermark         kafka.Offset
	Voters, Observers     []ReplicaState
}

// ReplicaState is what a leader knows of a replica.
type ReplicaState struct {
	ReplicaKey
	LogEndOffset kafka.Offset  // NoOffset where it never fetched
	LastFetch    time.Duration // time of its last good fetch; -1 where it never fetched
	LastCaughtUp time.Duration // time when it last had all that the log had; -1 where never
}

func (VoteRequest) message()              {}
func (VoteResponse) message()             {}
func (BeginQuorumEpochRequest) message()  {}
func (BeginQuorumEpochResponse) message() {}
func (EndQuorumEpochRequest) message()    {}
func (EndQuorumEpochResponse) message()   {}
func (FetchRequest) message()             {}
func (FetchResponse) message()            {}
func (FetchSnapshotRequest) message()     {}
func (FetchSnapshotResponse) message()    {}
func (DescribeQuorumRequest) message()    {}
func (DescribeQuorumResponse) message()   {}
func (AddVoterRequest) message()          {}
func (AddVoterResponse) message()         {}
func (RemoveVoterRequest) message()       {}
func (RemoveVoterResponse) message()      {}
func (UpdateVoterRequest) message()       {}
func (UpdateVoterResponse) message()      {}
func (APIVersionsRequest) message()       {}
func (APIVersionsResponse) message()      {}
func (UpgradeRequest) message()           {}
func (UpgradeResponse) message()          {}
