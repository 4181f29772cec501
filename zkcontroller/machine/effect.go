package machine

import "kbench/kafka"

// Effect is something the machine wants done. Effects must be carried out in
// their order; a Batch is always the last of its step. The slices in effects
// are shared and must not be changed.
type Effect interface{ effect() }

// LeaderAndISR is a request to one broker: what it leads and follows.
type LeaderAndISR struct {
	Broker      kafka.BrokerID
	BrokerEpoch kafka.BrokerEpoch
	Partitions  []LeaderAndISRPartition // by topic and partition
	Leaders     []*Broker               // those of the partitions' leaders that are up, by id
}

// LeaderAndISRPartition is one partition of a LeaderAndISR.
type LeaderAndISRPartition struct {
	Topic      string
	TopicID    kafka.UUID
	Partition  int32
	State      LeaderISR
	Assignment Assignment
	IsNew      bool
}

// UpdateMetadata is a request to one broker: partition states to merge, and
// the list of all live brokers.
type UpdateMetadata struct {
	Broker      kafka.BrokerID
	BrokerEpoch kafka.BrokerEpoch
	Partitions  []MetadataPartition // by topic and partition; shared by the requests of one batch
	Live        []*Broker           // by id; shared too
}

// MetadataPartition is one partition of an UpdateMetadata.
type MetadataPartition struct {
	Topic     string
	TopicID   kafka.UUID
	Partition int32
	State     LeaderISR // Leader is LeaderDuringDelete for one being deleted
	Replicas  []kafka.BrokerID
	Offline   []kafka.BrokerID
}

// StopReplica is a request to one broker: replicas to stop, and those to
// delete.
type StopReplica struct {
	Broker      kafka.BrokerID
	BrokerEpoch kafka.BrokerEpoch
	Partitions  []StopReplicaPartition // by topic and partition
}

// StopReplicaPartition is one partition of a StopReplica.
type StopReplicaPartition struct {
	Topic       string
	Partition   int32
	LeaderEpoch kafka.LeaderEpoch
	Delete      bool
}

// AddBroker opens the queue of requests to a broker, or gives an open one the
// broker's new endpoints.
type AddBroker struct{ Broker *Broker }

// RemoveBroker drops the queue of a broker with all that is in it.
type RemoveBroker struct{ Broker kafka.BrokerID }

// Reply answers a call. A call may get several; the last has Final set, and
// one that is not final says what holds if the caller stops waiting.
type Reply struct {
	Call  CallID
	Final bool
	// AfterMetadata asks to hold the reply until this controller's own broker
	// has the UpdateMetadata sent before it, as Kafka answers admin requests
	// when the broker's own metadata shows the outcome.
	AfterMetadata bool
	Body          any // the reply type of the call's event
}

// Moment is a phase change for the event trace.
type Moment struct {
	Kind   MomentKind
	Epoch  kafka.ControllerEpoch
	Broker kafka.BrokerID
}

// MomentKind says which.
type MomentKind uint8

// The moments.
const (
	Loaded          MomentKind = iota + 1 // the context is read: failover step 8 done
	Active                                // failover is done
	Resigned                              // the epoch is given up
	BrokerDead                            // a broker is counted as gone
	BrokerLive                            // a broker is counted as up
	ShutdownGranted                       // a broker may stop
)

// GiveUp asks to delete /controller, fenced, and to start anew: the failover
// failed, or another controller was seen.
type GiveUp struct{ Reason string }

// Queue asks to put an event at the end of the queue.
type Queue struct{ Event Input }

// WatchState asks to watch a state znode from its next read on, or to stop.
type WatchState struct {
	Partition kafka.TopicPartition
	On        bool
}

// Note is a line for the log.
type Note struct{ Text string }

func (*LeaderAndISR) effect()   {}
func (*UpdateMetadata) effect() {}
func (*StopReplica) effect()    {}
func (*AddBroker) effect()      {}
func (*RemoveBroker) effect()   {}
func (*Reply) effect()          {}
func (*Moment) effect()         {}
func (*GiveUp) effect()         {}
func (*Queue) effect()          {}
func (*WatchState) effect()     {}
func (*Note) effect()           {}
