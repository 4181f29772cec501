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

// logs compares the logs of all voters, without what their records mean. It holds
// some 50 bytes for each batch.
type logs struct {
	entries   []entry
	places    map[kafka.BrokerID]place
	snapshots map[kafka.BrokerID]taken // the newest of each voter
	leaders   map[kafka.LeaderEpoch]kafka.BrokerID
	voters    map[int][]voterSet // as a batch tells of them, by its entry
	looked    int64
	broken    []checker.Broken
}

// taken is what a snapshot says beside the metadata.
type taken struct {
	end    kafka.Offset
	voters []kafka.BrokerID // nil for static ones
}

func newLogs() *logs {
	return &logs{
		places: map[kafka.BrokerID]place{}, snapshots: map[kafka.BrokerID]taken{},
		leaders: map[kafka.LeaderEpoch]kafka.BrokerID{}, voters: map[int][]voterSet{},
	}
}

func (g *logs) fault(invariant, format string, args ...any) {
	if len(g.broken) < maxBroken {
		g.broken = append(g.broken, checker.Broken{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
	}
}

// see takes a batch or a snapshot; batches come in order of offset.
func (g *logs) see(l line, raw []byte) error {
	if l.Told != nil {
		return nil
	}
	b, _, err := metalog.ReadBatch(raw)
	if err != nil {
		return err
	}
	if l.Snapshot != "" {
		return g.snapshot(l, b)
	}
	e := entry{b.BaseOffset, b.EndOffset(), b.Epoch, l.Held}
	for i := len(g.entries) - 1; i >= 0 && g.entries[i].base == e.base; i-- {
		if o := g.entries[i]; o.epoch == e.epoch {
			g.fault("K2", "voters %v and %v hold other records of offset %d and epoch %d", o.held, e.held, e.base, e.epoch)
		}
	}
	if n := len(g.entries); n > 0 && slices.Equal(g.entries[n-1].held, e.held) {
		e.held = g.entries[n-1].held // most batches are held by all: one slice for them
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
	sets, err := setsOf(b)
	if change != nil && len(change.Voters) > 0 {
		sets = append([]voterSet{{keys(change.Voters), true}}, sets...)
	}
	if len(sets) > 0 {
		g.voters[len(g.entries)] = sets
	}
	g.entries = append(g.entries, e)
	return err
}

// snapshot takes note of one, by its first batch.
func (g *logs) snapshot(l line, first metalog.Batch) error {
	id, ok := metalog.ParseSnapshotFileName(l.Snapshot)
	if !ok {
		return fmt.Errorf("%q is no name of a snapshot", l.Snapshot)
	}
	sets, err := setsOf(first)
	if err != nil {
		return err
	}
	s := taken{end: id.EndOffset}
	if n := len(sets); n > 0 {
		s.voters = sets[n-1].ids
	}
	for _, voter := range l.Held {
		g.snapshots[voter] = s
	}
	return nil
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
	if !slices.ContainsFunc(m.Voters, func(v metalog.VoterKey) bool { return v.ID == m.Leader }) {
		g.fault("K7", "leader %d of epoch %d is none of its voters %v", m.Leader, b.Epoch, keys(m.Voters))
	}
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
