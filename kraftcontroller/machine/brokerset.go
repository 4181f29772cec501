package machine

import (
	"slices"

	"kbench/kafka"
)

// Lists of replicas are short, so walks beat sets.

func containsAll(set, of []kafka.BrokerID) bool {
	for _, b := range of {
		if !slices.Contains(set, b) {
			return false
		}
	}
	return true
}

// sameSet compares without regard to order, as lists without repetition.
func sameSet(a, b []kafka.BrokerID) bool {
	return len(a) == len(b) && distinct(a) && containsAll(a, b)
}

func distinct(ids []kafka.BrokerID) bool {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return false
		}
	}
	return true
}

// without gives ids without id; ids stays as it is.
func without(ids []kafka.BrokerID, id kafka.BrokerID) []kafka.BrokerID {
	i := slices.Index(ids, id)
	if i < 0 {
		return ids
	}
	return slices.Concat(ids[:i], ids[i+1:])
}

// except gives ids without those of gone; ids stays as it is.
func except(ids, gone []kafka.BrokerID) []kafka.BrokerID {
	for _, id := range gone {
		ids = without(ids, id)
	}
	return ids
}

// notNil gives an empty list for none: in a record nil leaves a list as it is.
func notNil(ids []kafka.BrokerID) []kafka.BrokerID {
	if ids == nil {
		return []kafka.BrokerID{}
	}
	return ids
}

func brokerIDs(ids []int32) []kafka.BrokerID {
	out := make([]kafka.BrokerID, len(ids))
	for i, id := range ids {
		out[i] = kafka.BrokerID(id)
	}
	return out
}

func int32s(ids []kafka.BrokerID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}
