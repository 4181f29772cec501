package quorumlog

import (
	"cmp"
	"slices"

	"kbench/kafka"
)

// chain is the log that the others are compared with and that is replayed: that
// of the voter which would win an election among all.
type chain struct {
	voter      kafka.BrokerID
	start, end kafka.Offset
}

// judge compares the logs of a file, all of which were seen.
func (g *logs) judge(head line) chain {
	c := g.newest(head.Voters)
	set := head.Voters
	for i, e := range g.entries {
		if ids, ok := g.voters[i]; ok && slices.Contains(e.held, c.voter) {
			set = ids
		}
	}
	hw := g.committed(c, set)
	for _, id := range head.Voters {
		if slices.Contains(head.Stopped, id) {
			g.compare(id, c, 0)
		} else {
			g.compare(id, c, hw)
		}
	}
	return c
}

// newest gives the log with the newest epoch, and of those the longest.
func (g *logs) newest(voters []kafka.BrokerID) chain {
	best := slices.MaxFunc(voters, func(a, b kafka.BrokerID) int {
		x, y := g.places[a], g.places[b]
		return cmp.Or(cmp.Compare(x.epoch, y.epoch), cmp.Compare(x.end, y.end), cmp.Compare(y.start, x.start))
	})
	return chain{voter: best, start: g.places[best].start, end: g.places[best].end}
}

// committed is up to where a majority of the voters hold records of the newest
// epoch: those, and all before them, are in the log of every leader to come. It
// is 0 where that epoch has none yet; what is committed then is not known.
func (g *logs) committed(c chain, set []kafka.BrokerID) (hw kafka.Offset) {
	for _, e := range g.entries {
		holders := 0
		for _, id := range set {
			if slices.Contains(e.held, id) {
				holders++
			}
		}
		if slices.Contains(e.held, c.voter) && e.epoch == g.places[c.voter].epoch && holders*2 > len(set) {
			hw = e.end
		}
	}
	return hw
}

// compare follows the log of a voter along the chain, which it must hold below hw.
func (g *logs) compare(id kafka.BrokerID, c chain, hw kafka.Offset) {
	differs := kafka.NoOffset
	for _, e := range g.entries {
		if e.base < c.start || !slices.Contains(e.held, id) {
			continue
		}
		same := slices.Contains(e.held, c.voter)
		switch {
		case !same && differs == kafka.NoOffset:
			differs = e.base
			if e.base < hw {
				g.fault("K3", "voter %d holds records of epoch %d at offset %d that a majority does not, which holds all below %d", id, e.epoch, e.base, hw)
			}
		case same && differs != kafka.NoOffset:
			g.fault("K2", "voters %d and %d hold the same at offset %d, and not at %d", id, c.voter, e.base, differs)
			return
		}
	}
}
