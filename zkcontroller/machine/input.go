package machine

import (
	"errors"

	"kbench/kafka"
)

// Input is what Step takes: an event, or the result of the Batch that is out.
type Input interface{ input() }

// CallID names a request that waits for a Reply; the caller chooses it.
type CallID int64

// The errors that end a Batch as a whole.
var (
	// ErrFenced: the controller epoch's znode was written by another.
	ErrFenced = errors.New("another controller has taken over")
	// ErrLost: the session with the store is over.
	ErrLost = errors.New("the session with the store is over")
)

// Done says that the Batch that was out is finished and its results are in it.
// Err is nil, ErrFenced, ErrLost, or anything that stopped it.
type Done struct{ Err error }

// Elected begins a failover: this controller holds the epoch.
type Elected struct{ Epoch kafka.ControllerEpoch }

// Resign makes the machine forget everything, at any time: the session
// expired, or another broker is controller. Calls are answered NOT_CONTROLLER.
type Resign struct{}

// BrokerChange: the children of /brokers/ids changed.
type BrokerChange struct{}

// BrokerModified: the registration of a broker was rewritten.
type BrokerModified struct{ Broker kafka.BrokerID }

// TopicChange: the children of /brokers/topics changed.
type TopicChange struct{}

// TopicModified: the znode of a topic was rewritten.
type TopicModified struct{ Topic string }

// TopicDeletion: the children of /admin/delete_topics changed.
type TopicDeletion struct{}

// ISRNotified: the children of /isr_change_notification changed. From
// inter-broker protocol 2.7 on no broker writes there.
type ISRNotified struct{}

// PreferredElection: /admin/preferred_replica_election was created.
type PreferredElection struct{}

// Rebalance is the periodic check of preferred leaders
// (auto.leader.rebalance.enable).
type Rebalance struct{}

// LeaderAndISRDone is a broker's answer to a LeaderAndISR that had errors.
type LeaderAndISRDone struct {
	Broker kafka.BrokerID
	// Epoch and Controller are those of the request: the answer to one of an
	// older registration or of a former term says nothing.
	Epoch      kafka.BrokerEpoch
	Controller kafka.ControllerEpoch
	Failed     []kafka.TopicPartition // with KAFKA_STORAGE_ERROR
}

// StopReplicaDone is a broker's answer to the deletions of a StopReplica.
type StopReplicaDone struct {
	Broker kafka.BrokerID
	// Epoch and Controller are those of the request, as in LeaderAndISRDone.
	Epoch      kafka.BrokerEpoch
	Controller kafka.ControllerEpoch
	Deleted    []kafka.TopicPartition
	Failed     []kafka.TopicPartition
}

// Resync asks to send a broker everything anew, because its queue of requests
// overflowed and was dropped.
type Resync struct{ Broker kafka.BrokerID }

// ControlledShutdown asks to move all leadership off a broker. The reply is a
// ControlledShutdownReply.
type ControlledShutdown struct {
	Call   CallID
	Broker kafka.BrokerID
	Epoch  kafka.BrokerEpoch // NoBrokerEpoch from requests without one
}

// ControlledShutdownReply lists what the broker still leads.
type ControlledShutdownReply struct {
	Code      kafka.ErrorCode
	Remaining []kafka.TopicPartition
}

// AlterPartition asks for new ISRs (KIP-497). The reply is an
// AlterPartitionReply.
type AlterPartition struct {
	Call    CallID
	Version int16 // of the request: from 2 on, INELIGIBLE_REPLICA is understood
	Broker  kafka.BrokerID
	Epoch   kafka.BrokerEpoch
	Changes []ISRChange
}

// ISRChange is one partition of an AlterPartition. Topic is empty where TopicID
// names it.
type ISRChange struct {
	Topic          string
	TopicID        kafka.UUID
	Partition      int32
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	Recovery       kafka.LeaderRecoveryState
	ISR            []ISRMember
}

// ISRMember is a broker of a new ISR. Epoch is NoBrokerEpoch in requests
// without one.
type ISRMember struct {
	ID    kafka.BrokerID
	Epoch kafka.BrokerEpoch
}

// AlterPartitionReply answers each change, in the order of the request.
type AlterPartitionReply struct {
	Code    kafka.ErrorCode
	Results []ISRResult
}

// ISRResult is the outcome for one partition; State holds where Code is None.
type ISRResult struct {
	Code  kafka.ErrorCode
	State LeaderISR
}

// ElectLeaders asks for elections; All stands for every partition. The reply
// is an ElectLeadersReply.
type ElectLeaders struct {
	Call       CallID
	Unclean    bool
	All        bool
	Partitions []kafka.TopicPartition
}

// ElectLeadersReply gives the outcome by partition, sorted.
type ElectLeadersReply struct {
	Code    kafka.ErrorCode
	Results []ElectionResult
}

// ElectionResult is the outcome of one election.
type ElectionResult struct {
	Partition kafka.TopicPartition
	Code      kafka.ErrorCode
	Text      string
}

// AllocateProducerIDs asks for a block of producer ids. The reply is an
// AllocateProducerIDsReply.
type AllocateProducerIDs struct {
	Call   CallID
	Broker kafka.BrokerID
	Epoch  kafka.BrokerEpoch
}

// AllocateProducerIDsReply is the block.
type AllocateProducerIDsReply struct {
	Code  kafka.ErrorCode
	First int64
	Count int32
}

// Abandon says that nobody waits for a call any more.
type Abandon struct{ Call CallID }

func (Done) input()                {}
func (Elected) input()             {}
func (Resign) input()              {}
func (BrokerChange) input()        {}
func (BrokerModified) input()      {}
func (TopicChange) input()         {}
func (TopicModified) input()       {}
func (TopicDeletion) input()       {}
func (ISRNotified) input()         {}
func (PreferredElection) input()   {}
func (Rebalance) input()           {}
func (LeaderAndISRDone) input()    {}
func (StopReplicaDone) input()     {}
func (Resync) input()              {}
func (ControlledShutdown) input()  {}
func (AlterPartition) input()      {}
func (ElectLeaders) input()        {}
func (AllocateProducerIDs) input() {}
func (Abandon) input()             {}
