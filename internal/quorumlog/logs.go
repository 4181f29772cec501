package quorumlog

import (
	"fmt"
	"slices"

	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// maxBroken bounds what is listed: the first ones tell.
const maxBroken = 10

// entry is a batch and who holds it.
type entry struct {
	base, end kafka.Offset
	epoch     kafka.LeaderEpoch
	held      []kafka.BrokerID
}

// place is how far the log of a voter was read.
type place struct {
	start, end kafka.Offset
	epoch      kafka.LeaderEpoch
}

// logs compares the logs of all voters, without what their records mean.
type logs struct {
	entries []entry
	places  map[kafka.BrokerID]place
	leaders map[kafka.LeaderEpoch]kafka.BrokerID
	voters  map[int][]kafka.BrokerID // as a batch changes them, by its entry
	looked  int64
	broken  []checker.Broken
}

func newLogs() *logs {
	return &logs{places: map[kafka.BrokerID]place{}, leaders: map[kafka.LeaderEpoch]kafka.BrokerID{}, voters: map[int][]kafka.BrokerID{}}
}

func (g *logs) fault(invariant, format string, args ...any) {
	if len(g.broken) < maxBroken {
		g.broken = append(g.broken, checker.Broken{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
	}
}

// see takes a batch; they come in order of offset.
func (g *logs) see(l line, raw []byte) error {
	if l.Snapshot != "" {
		return nil
	}
	b, _, err := metalog.ReadBatch(raw)
	if err != nil {
		return err
	}
	e := entry{b.BaseOffset, b.EndOffset(), b.Epoch, l.Held}
	for i := len(g.entries) - 1; i >= 0 && g.entries[i].base == e.base; i-- {
		if o := g.entries[i]; o.epoch == e.epoch {
			g.fault("K2", "voters %v and %v hold other records of offset %d and epoch %d", o.held, e.held, e.base, e.epoch)
		}
	}
	change, err := leaderChange(b)
	if err != nil {
		return err
	}
	if change != nil {
		g.elected(b, *change)
	}
	for _, id := range l.Held {
		g.looked++
		g.follows(id, e, change != nil)
	}
	changes, err := b.QuorumChanges()
	for _, c := range changes {
		if c.Voters == nil {
			continue
		}
		var ids []kafka.BrokerID
		for _, v := range c.Voters {
			ids = append(ids, v.ID)
		}
		g.voters[len(g.entries)] = ids
	}
	g.entries = append(g.entries, e)
	return err
}

// leaderChange gives the record that opens an epoch, nil for another batch.
func leaderChange(b metalog.Batch) (*metalog.LeaderChange, error) {
	if !b.Control {
		return nil, nil
	}
	t, err := metalog.ControlTypeOf(b.Records[0].Key)
	if err != nil || t != metalog.LeaderChangeType {
		return nil, err
	}
	m, err := metalog.ParseLeaderChange(b.Records[0].Value)
	return &m, err
}

func (g *logs) elected(b metalog.Batch, m metalog.LeaderChange) {
	if m.Leader == kafka.NoLeader {
		return // the empty entry of a Raft whose log does not say who leads
	}
	if other, ok := g.leaders[b.Epoch]; ok && other != m.Leader {
		g.fault("K1", "epoch %d has the leaders %d and %d", b.Epoch, other, m.Leader)
	}
	g.leaders[b.Epoch] = m.Leader
	granted := 0
	for _, v := range m.Voters {
		if slices.ContainsFunc(m.GrantingVoters, func(o metalog.VoterKey) bool { return o.ID == v.ID }) {
			granted++
		}
	}
	if granted*2 <= len(m.Voters) {
		g.fault("K1", "leader %d of epoch %d was voted for by %d of %d voters", m.Leader, b.Epoch, granted, len(m.Voters))
	}
}

// follows looks at a batch as the next one of a voter's log.
func (g *logs) follows(id kafka.BrokerID, e entry, opens bool) {
	p, ok := g.places[id]
	if !ok {
		p = place{start: e.base, end: e.base, epoch: -1}
		if e.base > 0 && !opens { // what came before is in a snapshot
			p.epoch = e.epoch
		}
	}
	switch {
	case e.base != p.end:
		g.fault("K2", "the log of voter %d goes from offset %d to %d", id, p.end, e.base)
	case e.epoch < p.epoch:
		g.fault("K8", "the log of voter %d goes from epoch %d back to %d at offset %d", id, p.epoch, e.epoch, e.base)
	case e.epoch > p.epoch && !opens:
		g.fault("K8", "epoch %d begins without a LeaderChange record in the log of voter %d, at offset %d", e.epoch, id, e.base)
	case e.epoch == p.epoch && opens:
		g.fault("K8", "epoch %d has a second LeaderChange record in the log of voter %d, at offset %d", e.epoch, id, e.base)
	}
	p.end, p.epoch = e.end, e.epoch
	g.places[id] = p
}
