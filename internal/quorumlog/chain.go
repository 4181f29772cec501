package quorumlog

import (
	"cmp"
	"slices"

	"kbench/kafka"
)

// chain is the log that the others are compared with and that is replayed: that
// of the voter which would win an election among all. A voter that came later, or
// was far behind, has what went before in a snapshot alone; that is taken from
// the log of one which holds the same where its own begins.
type chain struct {
	voter kafka.BrokerID
	start kafka.Offset // of its log
	first kafka.BrokerID
	from  kafka.Offset // of the log of first; start where no other goes further back
}

// holds reports whether a batch at an offset that these voters hold is of the
// chain.
func (c chain) holds(base kafka.Offset, held []kafka.BrokerID) bool {
	if base < c.start {
		return slices.Contains(held, c.first)
	}
	return slices.Contains(held, c.voter)
}

// judge compares the logs of a file, all of which were seen.
func (g *logs) judge(head line) chain {
	c := g.newest(head.Voters)
	set, out := g.voting(c, head.Voters)
	hw := g.committed(c, set)
	g.resigned(out, set, head.Stopped, hw)
	for _, id := range head.Voters {
		if s := g.snapshots[id]; g.places[id].start > s.end {
			g.fault("K9", "the log of voter %d begins at offset %d, its newest snapshot ends at %d", id, g.places[id].start, s.end)
		}
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
	start := g.places[best].start
	c := chain{voter: best, start: start, first: best, from: start}
	for _, e := range g.entries {
		if e.base != start || !slices.Contains(e.held, best) {
			continue
		}
		for _, id := range e.held {
			if at := g.places[id].start; at < c.from {
				c.first, c.from = id, at
			}
		}
	}
	return c
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
		if e.base < c.from || !slices.Contains(e.held, id) {
			continue
		}
		same := c.holds(e.base, e.held)
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
