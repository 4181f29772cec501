package workloads

import (
	"fmt"

	"kbench/kafka"
)

// The metrics and phases that workloads record. The names are those of the
// catalogue in results; durations are ns, the creation rate is per second.
const (
	MetricCreation           = "creation"
	MetricControlledShutdown = "controlled-shutdown"
	MetricPropagation        = "propagation"
	MetricControllerRecovery = "recovery.controller"
	MetricBrokerRecovery     = "recovery.broker"
	MetricUnavailability     = "unavailability"
	MetricDivergence         = "divergence"
	MetricDisagreement       = "disagreement"
	MetricDeletion           = "deletion"
	MetricEnlargement        = "enlargement"
	MetricElection           = "election.preferred"
	MetricReassignment       = "reassignment"
	MetricRolling            = "rolling-restart"
	MetricISR                = "isr-churn"
	MetricJoin               = "broker-join"
	MetricSeek               = "leader-seek"
	MetricFailedTries        = "failed-tries"
	MetricInterference       = "interference"
	MetricQuorum             = "quorum-change"
	MetricMixed              = "mixed"
	MetricSustained          = "sustained"
	MetricReconcile          = "reconcile"
	MetricTraffic            = "traffic"
	MetricRemovedVoter       = "removed-voter"
	MetricDisturbance        = "disturbance"
	MetricMemory             = "memory.controller"

	PhaseRate          = "rate"
	PhaseGranted       = "granted"
	PhaseMoved         = "moved"
	PhaseExit          = "exit"
	PhaseFirst         = "first"
	PhaseMedian        = "median"
	PhaseLast          = "last"
	PhaseDetect        = "detect"
	PhaseElect         = "elect"
	PhaseLoad          = "load"
	PhasePush          = "push"
	PhaseFirstAdmin    = "first-admin"
	PhaseTotal         = "total"
	PhaseRest          = "rest"
	PhasePartition     = "partition"
	PhaseAcked         = "acked"
	PhaseService       = "service"
	PhaseViews         = "views"
	PhaseBrokers       = "brokers"
	PhaseMost          = "most"
	PhaseStale         = "stale"
	PhaseNoLeader      = "no-leader"
	PhaseUnanswered    = "unanswered"
	PhaseTimedOut      = "timed-out"
	PhaseServed        = "served"
	PhaseCaughtUp      = "caught-up"
	PhaseBroken        = "broken"
	PhaseShrunk        = "shrunk"
	PhaseExpanded      = "expanded"
	PhaseRegistered    = "registered"
	PhaseFound         = "found"
	PhaseQuiet         = "quiet"
	PhaseLoaded        = "loaded"
	PhaseProduce       = "produce"
	PhaseRemoved       = "removed"
	PhaseAdded         = "added"
	PhaseLost          = "lost"
	PhaseAll           = "all"
	PhaseInSync        = "in-sync"
	PhaseBrokerRestart = "broker"
	PhaseAgreed        = "agreed"
	PhaseMessages      = "messages"
	PhaseBytes         = "bytes"
	PhaseRoundTrips    = "round-trips"
	PhaseStall         = "stall"
	PhaseSettled       = "settled"
	PhaseElections     = "elections"
	PhaseEpochs        = "epochs"
	PhaseCampaigns     = "campaigns"
	PhaseHeap          = "heap"
	PhasePerPartition  = "per-partition"
)

// PhaseBroker names the distribution of one broker's own propagation.
func PhaseBroker(id kafka.BrokerID) string { return fmt.Sprintf("broker.%d", id) }

// Recorder stores what is measured. Its methods are safe for concurrent use
// and do not block for long.
type Recorder interface {
	// Histogram gives the function that records values of a metric's phase
	// that come many to a trial: propagation (one value a change) and
	// unavailability (one value a partition). Values are ns. A phase that the
	// catalogue does not know, such as PhaseBroker's, is kept as raw material.
	Histogram(metric, phase string) func(ns int64)
	// Trial stores one injected event, valid or not.
	Trial(Trial)
	// Event stores one line of what happened, for people and for verify.
	Event(Event)
	// Acked appends to the history of acknowledged metadata changes, from
	// which the checker proves that nothing was lost.
	Acked(Operation)
	// Unanswered appends a change that may have happened or not: no answer came,
	// or one that does not say. AckedNs is when waiting ended.
	Unanswered(Operation)
	// Refused appends a change that was not made, and the code that says why: it
	// may tell what was there. AckedNs is when the answer was read.
	Refused(Operation, kafka.ErrorCode)
}

// Trial is one injected event and what was measured of it.
type Trial struct {
	Workload string
	How      string         // "" where the workload has one way only
	N        int            // from 1
	Victim   kafka.BrokerID // 0 where no node was hurt
	StartNs  int64          // the clock's start, CLOCK_MONOTONIC ns
	EndNs    int64          // when the last measured thing ended
	// Valid trials alone enter statistics; Reason says which rule made one
	// invalid. What was measured of it is kept all the same.
	Valid  bool
	Reason string
	// Slipped says that the trial is invalid for its generator alone: it says
	// nothing about the cluster, and another trial takes its place while there
	// are spare ones.
	Slipped bool
	Values  []Value
	Counts  []Count // in a fixed order for each workload
}

// Value is one measured phase of a trial.
type Value struct {
	Metric, Phase string
	V             float64 // ns, per second, or a number
}

// Count is a figure beside the measured ones: partitions moved, probes sent.
type Count struct {
	Name string
	N    int64
}

// Event is one line of a run's history.
type Event struct {
	Ns       int64 // CLOCK_MONOTONIC
	Kind     string
	Workload string
	Trial    int
	Node     kafka.BrokerID // 0 where the event is not of one node
	Detail   string
	Counts   []Count // figures of the event, for programs
}

// The kinds of Event.
const (
	EventFault      = "fault"      // a fault was injected
	EventHealed     = "healed"     // the fault was undone: the node runs again
	EventRestored   = "restored"   // the cluster is healthy again
	EventPhase      = "phase"      // a phase of a recovery ended
	EventController = "controller" // a node is the active controller
	// EventAvailability is one step of a curve, which begins at Ns and is stepNs
	// wide: the produces that were due in it, and how many were acknowledged.
	EventAvailability = "availability"
	EventNote         = "note" // something the reader of a report should know
)

// Operation is one metadata change that was asked for.
type Operation struct {
	Kind       string // OpCreateTopic and its like
	Topic      string
	TopicID    kafka.UUID // zero where the node did not say
	Partitions int32      // of a creation; of OpCreatePartitions the new total
	Config     string     // of OpAlterConfig: the name
	Value      string     // and the new value
	SentNs     int64      // CLOCK_MONOTONIC, when it was sent; 0 where that is not known
	AckedNs    int64      // CLOCK_MONOTONIC, when the acknowledgement was read
}

// The kinds of Operation. The values are those of the history in a run folder.
const (
	OpCreateTopic      = "create-topic"
	OpDeleteTopic      = "delete-topic"
	OpCreatePartitions = "create-partitions"
	OpAlterConfig      = "alter-config"
)
