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

// outsider is a leader that removed itself from the voters.
type outsider struct {
	leader kafka.BrokerID
	epoch  kafka.LeaderEpoch
	end    kafka.Offset // of the batch that removed it; 0 for none
}

// voting follows the voters along the chain and gives the last ones: those that
// ran, as long as nothing else is known. A leader that is none of them any more
// may only commit that: a further change would come when it is committed.
func (g *logs) voting(c chain, ran []kafka.BrokerID) ([]kafka.BrokerID, outsider) {
	var set []kafka.BrokerID
	var out outsider
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
			case !next.same && out.end > 0 && out.epoch == e.epoch:
				g.fault("K7", "leader %d of epoch %d changes the voters at offset %d, of whom it is none", out.leader, e.epoch, e.base)
			}
			set, out = next.ids, outsider{}
			if leader, ok := g.leaders[e.epoch]; ok && !slices.Contains(set, leader) {
				out = outsider{leader, e.epoch, e.end}
			}
		}
	}
	if set == nil {
		set = ran
	}
	return set, out
}

// resigned looks at a leader that removed itself: once that is committed, below
// hw, the voters that are left elect another, unless one of them does not run.
func (g *logs) resigned(out outsider, set, stopped []kafka.BrokerID, hw kafka.Offset) {
	alone := slices.ContainsFunc(set, func(id kafka.BrokerID) bool { return slices.Contains(stopped, id) })
	if out.end > 0 && hw >= out.end && !alone {
		g.fault("K7", "leader %d of epoch %d goes on, though offset %d is committed, since which the voters are %v", out.leader, out.epoch, out.end-1, set)
	}
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
