package metadata

import (
	"slices"

	"kbench/kafka"
)

// ElectionStrategy is why a leader is chosen. Both controllers choose by
// ElectLeader, so that no difference between them comes from the choice.
type ElectionStrategy uint8

// The four strategies of the ZooKeeper controller; KRaft's elections are
// ElectOffline and ElectPreferred on an ISR that has been reduced before.
const (
	// ElectOffline replaces a leader that is gone: the first replica that is
	// live and in sync; the new ISR is what of it is live. Where none is and
	// Unclean is set, the first live replica, alone in the ISR, recovering.
	ElectOffline ElectionStrategy = iota
	// ElectReassign takes the first of Target that is live and in sync.
	ElectReassign
	// ElectPreferred takes the first replica if it is live and in sync.
	ElectPreferred
	// ElectControlledShutdown takes the first replica that is in sync, live
	// and not shutting down; those that are leave the ISR.
	ElectControlledShutdown
)

// Ballot is what an election depends on.
type Ballot struct {
	Replicas []kafka.BrokerID // in order of preference
	Target   []kafka.BrokerID // for ElectReassign
	ISR      []kafka.BrokerID
	// Live reports whether a broker is up and may lead. A broker that is
	// shutting down is not live.
	Live func(kafka.BrokerID) bool
	// ShuttingDown reports whether a broker is in controlled shutdown; nil
	// means that none is.
	ShuttingDown func(kafka.BrokerID) bool
	// Unclean allows ElectOffline a leader that is not in sync.
	Unclean bool
}

// Elected is the outcome of an election. The ISR may be the ballot's own
// slice.
type Elected struct {
	Leader  kafka.BrokerID
	ISR     []kafka.BrokerID
	Unclean bool // the leader was not in sync; it must recover
}

// ElectLeader chooses a leader, or reports false where none may lead; what
// the ISR then becomes is for the controller to say.
func ElectLeader(strategy ElectionStrategy, b Ballot) (Elected, bool) {
	inSync := func(id kafka.BrokerID) bool { return slices.Contains(b.ISR, id) && b.Live(id) }
	switch strategy {
	case ElectOffline:
		if leader, ok := first(b.Replicas, inSync); ok {
			return Elected{Leader: leader, ISR: keep(b.ISR, b.Live)}, true
		}
		if leader, ok := first(b.Replicas, b.Live); ok && b.Unclean {
			return Elected{Leader: leader, ISR: []kafka.BrokerID{leader}, Unclean: true}, true
		}
	case ElectReassign:
		if leader, ok := first(b.Target, inSync); ok {
			return Elected{Leader: leader, ISR: b.ISR}, true
		}
	case ElectPreferred:
		if len(b.Replicas) > 0 && inSync(b.Replicas[0]) {
			return Elected{Leader: b.Replicas[0], ISR: b.ISR}, true
		}
	case ElectControlledShutdown:
		staying := func(id kafka.BrokerID) bool { return b.ShuttingDown == nil || !b.ShuttingDown(id) }
		if leader, ok := first(b.Replicas, func(id kafka.BrokerID) bool { return staying(id) && inSync(id) }); ok {
			return Elected{Leader: leader, ISR: keep(b.ISR, staying)}, true
		}
	}
	return Elected{Leader: kafka.NoLeader}, false
}

func first(ids []kafka.BrokerID, ok func(kafka.BrokerID) bool) (kafka.BrokerID, bool) {
	for _, id := range ids {
		if ok(id) {
			return id, true
		}
	}
	return kafka.NoLeader, false
}

// keep gives ids itself where all are kept.
func keep(ids []kafka.BrokerID, ok func(kafka.BrokerID) bool) []kafka.BrokerID {
	for i, id := range ids {
		if ok(id) {
			continue
		}
		kept := slices.Clone(ids[:i])
		for _, id := range ids[i+1:] {
			if ok(id) {
				kept = append(kept, id)
			}
		}
		return kept
	}
	return ids
}
