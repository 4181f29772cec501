package machine

import (
	"slices"

	"kbench/kafka"
)

// Sentinels of Kafka's controller protocol.
const (
	// LeaderDuringDelete in an UpdateMetadata removes the partition from a
	// broker's metadata.
	LeaderDuringDelete kafka.BrokerID = -2
	// EpochDuringDelete in a StopReplica is accepted by every broker (KAFKA-9539).
	EpochDuringDelete kafka.LeaderEpoch = -2
)

// PartitionState is where a partition stands. The legal transitions:
//
//	NonExistent -> New          a topic or partition was created
//	New         -> Online       first leader and ISR written
//	Online      -> Online       another leader elected, the old one alive
//	Offline     -> Online       a leader elected after the old one was lost
//	New, Online -> Offline      the leader is gone, or the topic is being deleted
//	Offline     -> Offline      the same again
//	Offline     -> NonExistent  the topic is being deleted
type PartitionState uint8

// The states; the values are Kafka's.
const (
	PartitionNew         PartitionState = 0
	PartitionOnline      PartitionState = 1
	PartitionOffline     PartitionState = 2
	PartitionNonExistent PartitionState = 3
)

var partitionStateNames = [...]string{"New", "Online", "Offline", "NonExistent"}

// String gives Kafka's name without its suffix.
func (s PartitionState) String() string { return partitionStateNames[s] }

func (s PartitionState) mayBecome(to PartitionState) bool {
	switch to {
	case PartitionNew:
		return s == PartitionNonExistent
	case PartitionOnline, PartitionOffline:
		return s != PartitionNonExistent
	}
	return s == PartitionOffline
}

// ReplicaState is where one replica of a partition stands. The legal
// transitions:
//
//	NonExistent                                      -> New
//	New, Online, Offline, DeletionIneligible         -> Online
//	New, Online, Offline, DeletionIneligible         -> Offline
//	Offline                                          -> DeletionStarted
//	DeletionStarted                                  -> DeletionSuccessful
//	Offline, DeletionStarted                         -> DeletionIneligible
//	DeletionSuccessful                               -> NonExistent
type ReplicaState uint8

// The states; the values are Kafka's.
const (
	ReplicaNew                ReplicaState = 1
	ReplicaOnline             ReplicaState = 2
	ReplicaOffline            ReplicaState = 3
	ReplicaDeletionStarted    ReplicaState = 4
	ReplicaDeletionSuccessful ReplicaState = 5
	ReplicaDeletionIneligible ReplicaState = 6
	ReplicaNonExistent        ReplicaState = 7
)

var replicaStateNames = [...]string{
	"?", "New", "Online", "Offline", "DeletionStarted",
	"DeletionSuccessful", "DeletionIneligible", "NonExistent",
}

// String gives Kafka's name without "Replica".
func (s ReplicaState) String() string { return replicaStateNames[s] }

func (s ReplicaState) mayBecome(to ReplicaState) bool {
	switch to {
	case ReplicaNew:
		return s == ReplicaNonExistent
	case ReplicaOnline, ReplicaOffline:
		return s == ReplicaNew || s == ReplicaOnline || s == ReplicaOffline || s == ReplicaDeletionIneligible
	case ReplicaDeletionStarted:
		return s == ReplicaOffline
	case ReplicaDeletionSuccessful:
		return s == ReplicaDeletionStarted
	case ReplicaDeletionIneligible:
		return s == ReplicaOffline || s == ReplicaDeletionStarted
	}
	return s == ReplicaDeletionSuccessful
}

// LeaderISR is the content of a state znode and its version. ISR is never
// changed in place.
type LeaderISR struct {
	Leader          kafka.BrokerID
	LeaderEpoch     kafka.LeaderEpoch
	ControllerEpoch kafka.ControllerEpoch
	Version         kafka.PartitionEpoch
	Recovery        kafka.LeaderRecoveryState
	ISR             []kafka.BrokerID
}

// Assignment says which brokers hold replicas; Adding and Removing are nil
// outside of a reassignment. The slices are never changed in place.
type Assignment struct {
	Replicas, Adding, Removing []kafka.BrokerID
}

// Moving reports whether a reassignment runs.
func (a Assignment) Moving() bool { return len(a.Adding)+len(a.Removing) > 0 }

// Origin gives the replicas from before the reassignment.
func (a Assignment) Origin() []kafka.BrokerID { return minus(a.Replicas, a.Adding) }

// Target gives the replicas that are to be when it is over.
func (a Assignment) Target() []kafka.BrokerID { return minus(a.Replicas, a.Removing) }

// To gives the assignment of a reassignment to target, from the same origin
// (KIP-455): the target's replicas first, then those of the origin that are
// not among them.
func (a Assignment) To(target []kafka.BrokerID) Assignment {
	origin := a.Origin()
	full := append(slices.Clone(target), minus(origin, target)...)
	return Assignment{Replicas: full, Adding: minus(target, origin), Removing: minus(origin, target)}
}

// Equal reports whether both are the same, order included.
func (a Assignment) Equal(b Assignment) bool {
	return slices.Equal(a.Replicas, b.Replicas) && slices.Equal(a.Adding, b.Adding) && slices.Equal(a.Removing, b.Removing)
}

// minus gives the ids that are not among the others; nil for none.
func minus(ids, others []kafka.BrokerID) []kafka.BrokerID {
	var out []kafka.BrokerID
	for _, id := range ids {
		if !slices.Contains(others, id) {
			out = append(out, id)
		}
	}
	return out
}

// Broker is a registered broker. It is not changed once the machine has it.
type Broker struct {
	ID        kafka.BrokerID
	Epoch     kafka.BrokerEpoch // czxid of its znode (KIP-380)
	Endpoints []kafka.Endpoint
	Protocols map[string]string // listener to security protocol; PLAINTEXT where absent
	Rack      string
	// Features are the finalizable features the broker supports; kept to be
	// compared.
	Features map[string][2]int16
}
