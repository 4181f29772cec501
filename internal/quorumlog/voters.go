package quorumlog

import (
	"slices"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// voterSet is who votes from a record on. A LeaderChange record names them anew
// and changes nothing.
type voterSet struct {
	ids  []kafka.BrokerID
	same bool
}

// setsOf gives the sets that the Voters records of a batch make.
func setsOf(b metalog.Batch) ([]voterSet, error) {
	changes, err := b.QuorumChanges()
	var sets []voterSet
	for _, c := range changes {
		if c.Voters == nil {
			continue
		}
		var ids []kafka.BrokerID
		for _, v := range c.Voters {
			ids = append(ids, v.ID)
		}
		sets = append(sets, voterSet{ids: ids})
	}
	return sets, err
}

func keys(voters []metalog.VoterKey) (ids []kafka.BrokerID) {
	for _, v := range voters {
		ids = append(ids, v.ID)
	}
	return ids
}

// voting follows the voters along the chain and gives the last ones: those that
// ran, as long as nothing else is known.
func (g *logs) voting(c chain, ran []kafka.BrokerID) []kafka.BrokerID {
	var set []kafka.BrokerID
	if c.from > 0 {
		set = g.snapshots[c.first].voters
	}
	for i, e := range g.entries {
		if !c.holds(e.base, e.held) {
			continue
		}
		for _, next := range g.voters[i] {
			n := differ(set, next.ids)
			switch {
			case set == nil: // the first to be known
			case next.same && n > 0:
				g.fault("K7", "epoch %d begins with the voters %v, the log below offset %d has %v", e.epoch, next.ids, e.base, set)
			case n > 1:
				g.fault("K7", "the voters %v become %v at once, at offset %d", set, next.ids, e.base)
			}
			set = next.ids
		}
	}
	if set == nil {
		return ran
	}
	return set
}

// differ counts who is in one set alone.
func differ(a, b []kafka.BrokerID) (n int) {
	for _, pair := range [][2][]kafka.BrokerID{{a, b}, {b, a}} {
		for _, id := range pair[0] {
			if !slices.Contains(pair[1], id) {
				n++
			}
		}
	}
	return n
}
