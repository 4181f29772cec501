package machine

import "kbench/kafka"

// AlterReassignments asks to begin, replace or cancel reassignments. The reply
// is an AlterReassignmentsReply, when they have begun.
type AlterReassignments struct {
	Call    CallID
	Changes []Reassign
}

// Reassign is one partition of it.
type Reassign struct {
	Partition kafka.TopicPartition
	Replicas  []kafka.BrokerID // the target; ignored where Cancel
	Cancel    bool             // go back to the replicas from before
}

// AlterReassignmentsReply answers each change, in the order of the request.
type AlterReassignmentsReply struct {
	Code    kafka.ErrorCode // NOT_CONTROLLER for all of them
	Results []ReassignResult
}

// ReassignResult is the outcome for one partition.
type ReassignResult struct {
	Code kafka.ErrorCode
	Text string
}

// ListReassignments asks which reassignments run: All, or those of Partitions.
// The reply is a ListReassignmentsReply.
type ListReassignments struct {
	Call       CallID
	All        bool
	Partitions []kafka.TopicPartition
}

// ListReassignmentsReply has the partitions being reassigned, in order.
type ListReassignmentsReply struct {
	Code       kafka.ErrorCode
	Partitions []Reassigning
}

// Reassigning is a partition and its assignment of the moment.
type Reassigning struct {
	Partition  kafka.TopicPartition
	Assignment Assignment
}

// ZnodeReassignment: /admin/reassign_partitions was created.
type ZnodeReassignment struct{}

// ReassignISRChanged: a leader wrote the state of a partition being reassigned.
type ReassignISRChanged struct{ Partition kafka.TopicPartition }

func (AlterReassignments) input() {}
func (ListReassignments) input()  {}
func (ZnodeReassignment) input()  {}
func (ReassignISRChanged) input() {}
