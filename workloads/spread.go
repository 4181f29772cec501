package workloads

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
)

const (
	// changeTimeout bounds the wait for one change on every broker.
	changeTimeout = 30 * time.Second
	// maxChangesInFlight bounds the changes of one kind that are not
	// acknowledged yet, maxChangesOpen those that are not served everywhere.
	maxChangesInFlight = 2048
	maxChangesOpen     = 4 * maxChangesInFlight
)

// spread makes changes of one kind when an open loop says so, and follows each
// until every live broker serves it: all that were there before the load, but for
// those that a fault of the timeline has taken away.
type spread struct {
	*trialRun
	source changer
	nodes  []Node // the brokers that are to serve the changes
	limit  int    // changes in one probe
	probes string // begins the names of the probes' counts
	// finished hears of each change that every broker serves and that was
	// acknowledged, one at a time.
	finished func(*change)

	watch  *probes
	window chan struct{}
	wg     sync.WaitGroup
	cancel context.CancelFunc // of the changes that are still to be acknowledged
	ctx    context.Context

	curve availability // of the changes: served or not

	mu      sync.Mutex
	open    map[string]*change // sent and not served everywhere
	pending map[kafka.BrokerID][]string
	absent  absent
	counts  spreadCounts
	failure error // the newest
	endNs   int64 // when the last change was served everywhere
}

// spreadCounts are what became of the changes that count.
type spreadCounts struct {
	sent, acked, served, failed, busy int64
	lost                              int64 // not served by every broker in time; known when all is over
	behind, behindMax                 int64 // brokers that served the old view beside the new one: of all changes, of one at most
}

// and adds up the counts of two kinds of changes.
func (n spreadCounts) and(o spreadCounts) spreadCounts {
	return spreadCounts{
		sent: n.sent + o.sent, acked: n.acked + o.acked, served: n.served + o.served, failed: n.failed + o.failed, busy: n.busy + o.busy, lost: n.lost + o.lost,
		behind: n.behind + o.behind, behindMax: max(n.behindMax, o.behindMax),
	}
}

func newSpread(t *trialRun, kind string, nodes []Node, finished func(*change)) *spread {
	return &spread{
		trialRun: t, source: changersOf[kind](t), nodes: nodes, limit: t.p.ProbePartitions, probes: "probe", finished: finished,
		window: make(chan struct{}, maxChangesInFlight),
		open:   map[string]*change{}, pending: map[kafka.BrokerID][]string{},
		absent: absent{gone: map[kafka.BrokerID]bool{}, asked: map[kafka.BrokerID]string{}},
	}
}

// begin starts the probes and takes one change through, so that everything
// works before the clock starts.
func (s *spread) begin(ctx context.Context) error {
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.watch = startProbes(ctx, s.nodes, s.p.ProbeRate, s.ask)
	if len(s.Faults) > 0 {
		s.wg.Go(func() { s.lookForAbsent(s.ctx) })
	}
	subject, ok := s.source.next(-1)
	if !ok {
		return fmt.Errorf("nothing was prepared")
	}
	c := s.opened(op{}, subject, true)
	one, cancel := context.WithTimeout(ctx, s.gate())
	defer cancel()
	if err := s.source.send(one, subject); err != nil {
		s.mu.Lock()
		s.drop(c)
		s.mu.Unlock()
		return err
	}
	s.acked(c)
	return await(one, s.gate(), "every broker to serve a first change", s.settled)
}

// start makes the change of one operation; false where there is no room.
func (s *spread) start(o op) bool {
	if s.full() {
		return s.noRoom()
	}
	select {
	case s.window <- struct{}{}:
	default:
		return s.noRoom()
	}
	subject, ok := s.source.next(o.n)
	if !ok {
		<-s.window
		return s.noRoom()
	}
	c := s.opened(o, subject, false)
	s.wg.Go(func() {
		defer func() { <-s.window }()
		s.send(c)
	})
	return true
}

// full reports whether so many changes are not served everywhere that a probe
// could not keep up with them.
func (s *spread) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) >= maxChangesOpen
}

func (s *spread) noRoom() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.busy++
	return false
}

// opened has every broker probed for a change.
func (s *spread) opened(o op, subject string, quiet bool) *change {
	c := &change{
		op: o, subject: subject, quiet: quiet,
		seenBy: make(map[kafka.BrokerID]int64, len(s.nodes)), behind: map[kafka.BrokerID]bool{}, absent: map[kafka.BrokerID]bool{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !quiet {
		s.counts.sent++
	}
	s.open[subject] = c
	for _, n := range s.nodes {
		s.awaits(n, c)
	}
	return c
}

// send has the change made; one that was not acknowledged is failed.
func (s *spread) send(c *change) {
	one, cancel := context.WithTimeout(s.ctx, changeTimeout)
	defer cancel()
	err := s.source.send(one, c.subject)
	if err == nil {
		s.acked(c)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.failed++
	s.curve.add(c.intendedNs, 1, false)
	s.failure = err
	s.drop(c)
}

func (s *spread) acked(c *change) {
	now := trace.Now() // before others are waited for
	s.mu.Lock()
	defer s.mu.Unlock()
	c.ackedNs = now
	if !c.quiet {
		s.counts.acked++
	}
	s.finish(c)
}

// drop stops following a change.
func (s *spread) drop(c *change) {
	delete(s.open, c.subject)
	for id := range s.pending {
		s.askNoMore(id, c.subject)
	}
	maps.DeleteFunc(s.absent.asked, func(_ kafka.BrokerID, n string) bool { return n == c.subject })
}

// ask gives the question about the oldest changes that a broker does not serve
// yet.
func (s *spread) ask(n Node) (question, bool) {
	s.mu.Lock()
	pending := s.pending[n.ID]
	subjects := slices.Clone(pending[:min(len(pending), s.limit)])
	s.mu.Unlock()
	if len(subjects) == 0 {
		return question{}, false
	}
	return s.source.question(n, subjects, func(subject string, served bool, doneNs int64) {
		s.told(n.ID, subject, served, doneNs)
	}), true
}

// told hears from one broker about one change.
func (s *spread) told(id kafka.BrokerID, subject string, served bool, doneNs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open[subject]
	switch {
	case c == nil || c.seenBy[id] != 0:
		return
	case c.absent[id]:
		if served && s.absent.asked[id] == subject {
			s.servesAgain(id, c)
		}
		return
	case !served:
		if len(c.seen) > 0 && doneNs > c.seen[0] {
			c.behind[id] = true
		}
		return
	}
	c.seenBy[id] = doneNs
	c.seen = append(c.seen, doneNs)
	s.askNoMore(id, subject)
	s.finish(c)
}

// askNoMore ends the probing of a broker for a change. The oldest are served
// first, so that a long list is not searched to its end for each.
func (s *spread) askNoMore(id kafka.BrokerID, subject string) {
	if i := slices.Index(s.pending[id], subject); i >= 0 {
		s.pending[id] = slices.Delete(s.pending[id], i, i+1)
	}
}

// finish takes a change that is acknowledged and that every live broker serves.
// It stays open while one that is back is asked about it.
func (s *spread) finish(c *change) {
	if c.ackedNs == 0 || len(c.seen) == 0 || len(c.seen)+len(c.absent) < len(s.nodes) || s.open[c.subject] != c {
		return
	}
	if !s.absent.tells(c) {
		delete(s.open, c.subject)
		s.source.over(c.subject)
	}
	if c.quiet || c.taken {
		return
	}
	c.taken = true
	slices.Sort(c.seen)
	s.counts.served++
	s.curve.add(c.intendedNs, 1, true)
	s.counts.behind += int64(len(c.behind))
	s.counts.behindMax = max(s.counts.behindMax, int64(len(c.behind)))
	s.endNs = max(s.endNs, c.lastNs())
	s.finished(c)
}

// settled reports whether no change is on its way.
func (s *spread) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.underWayLocked() == 0
}

// underWayLocked is how many changes are not served everywhere.
func (s *spread) underWayLocked() (n int) {
	for _, c := range s.open {
		if !c.taken {
			n++
		}
	}
	return n
}

// end waits for the last changes, each of which has a deadline, and ends the
// probes.
func (s *spread) end(ctx context.Context) {
	if err := await(ctx, changeTimeout, "every broker to serve every change", s.settled); err != nil && len(s.Faults) == 0 {
		s.invalid("%v", err)
	}
	s.stop()
}

// stop ends everything at once and judges the probes. It may be called again.
func (s *spread) stop() {
	if s.cancel == nil {
		return
	}
	s.countGenerator()
	s.cancel()
	s.cancel = nil
	s.wg.Wait()
	s.judge(s.probes, s.watch.stop())
}

// take takes the counts and judges the whole. They begin with the name of the
// stream: change, or the kind where there are several.
func (s *spread) take(stream string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.lost = int64(s.underWayLocked())
	for _, c := range s.open {
		if !c.taken {
			s.curve.add(c.intendedNs, 1, false)
		}
	}
	n := s.counts
	s.ended(s.endNs)
	s.countChanges(stream, n)
	name := "changes"
	if stream != streamChange {
		name = stream + " changes"
	}
	// Beside faults some changes cannot come through.
	if len(s.Faults) > 0 {
		s.judgeLost(name, &s.curve)
	} else if n.failed > 0 {
		s.invalid("%d of %d %s were not acknowledged: %v", n.failed, n.sent, name, s.failure)
	} else if n.lost > 0 {
		s.invalid("%d of %d %s were not served by every broker within %v", n.lost, n.sent, name, changeTimeout)
	}
	if n.busy > 0 {
		s.invalid("%d of %d %s were dropped: %d were on their way, or all that was prepared was in use; lower the rate, or shorten the fault that holds them up", n.busy, n.sent+n.busy, name, maxChangesInFlight)
	}
	if n.served == 0 {
		s.invalid("no sample came")
	}
}

// streamChange names the stream of changes of any kind.
const streamChange = "change"

// countChanges keeps what became of changes.
func (t *trialRun) countChanges(stream string, n spreadCounts) {
	t.count(stream+".acked", n.acked)
	t.count(stream+".served", n.served)
	t.count(stream+".failed", n.failed)
	t.count(stream+".lost", n.lost)
}

// disagreement records on how many brokers views of a change disagreed.
func (t *trialRun) disagreement(n spreadCounts) {
	if n.served == 0 {
		return
	}
	t.value(MetricDisagreement, PhaseBrokers, float64(n.behind)/float64(n.served))
	t.value(MetricDisagreement, PhaseMost, float64(n.behindMax))
}
