package workloads

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

// changeTimeout bounds the wait for one change on every broker.
const changeTimeout = 30 * time.Second

// maxBrokersApart bounds the brokers whose own propagation is kept beside the
// first, the median and the last.
const maxBrokersApart = 32

// maxChangesInFlight bounds the changes whose acknowledgement is awaited.
const maxChangesInFlight = 1024

var propagation = Workload{
	Kind:   "propagation",
	Doc:    "create small topics at a rate and watch every broker serve them",
	Clock:  "from the intended time of a change until the first, the median and the last live broker serves it",
	Params: []Param{rateParam, durationParam, probeRateParam, probePartitionsParam, timeoutParam},
	run:    func(ctx context.Context, r *run) error { return r.trial(func() error { return r.propagate(ctx) }) },
}

// change is one topic on its way to the brokers.
type change struct {
	name       string
	intendedNs int64
	seen       []int64 // when each broker that serves it was seen to, ns
	seenBy     map[kafka.BrokerID]int64
}

// spread follows changes until every broker serves them.
type spread struct {
	*trialRun
	nodes  []Node
	limit  int // names in one probe
	first  func(int64)
	median func(int64)
	last   func(int64)
	apart  map[kafka.BrokerID]func(int64) // by broker, of the first maxBrokersApart

	mu      sync.Mutex
	open    map[string]*change // sent and not served everywhere
	pending map[kafka.BrokerID][]string
	sent    int64
	served  int64
	failed  int64
	failure error
	endNs   int64
}

// propagate creates topics in an open loop while every broker is probed for
// those it does not serve yet.
func (r *run) propagate(ctx context.Context) error {
	t := r.newTrial(1)
	defer func() { t.record(ctx) }()
	t.phase("gate")
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy before: %v", err)
		return err
	}
	s := &spread{
		trialRun: t, nodes: liveBrokers(r.Cluster), limit: r.p.ProbePartitions,
		first:  r.Recorder.Histogram(MetricPropagation, PhaseFirst),
		median: r.Recorder.Histogram(MetricPropagation, PhaseMedian),
		last:   r.Recorder.Histogram(MetricPropagation, PhaseLast),
		open:   map[string]*change{}, pending: map[kafka.BrokerID][]string{},
		apart: map[kafka.BrokerID]func(int64){},
	}
	for _, n := range s.nodes[:min(len(s.nodes), maxBrokersApart)] {
		s.apart[n.ID] = r.Recorder.Histogram(MetricPropagation, PhaseBroker(n.ID))
	}
	s.drive(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy after: %v", err)
		return err
	}
	return nil
}

// drive sends the changes, waits for the last of them and takes the counts.
func (s *spread) drive(ctx context.Context) {
	watch := startProbes(ctx, s.nodes, s.p.ProbeRate, s.topics, s.observe)
	warmed := s.warm(ctx, watch)
	if warmed {
		s.phase("drive")
		changes, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		window := make(chan struct{}, maxChangesInFlight)
		due := int(s.p.Rate * s.p.Duration.Seconds())
		progressEvery := int64(1 + s.p.Rate/10)
		start := trace.Now()
		s.out.StartNs = start
		faults := s.playFaults(ctx, start)
		slipped := drive(ctx, start, start+int64(s.p.Duration), Constant{s.p.Rate}, func(o op) bool {
			select {
			case window <- struct{}{}:
			default:
				return false
			}
			c := s.opened(o)
			if o.n%progressEvery == 0 {
				s.progress(1, "drive", int(o.n), due)
			}
			wg.Go(func() {
				defer func() { <-window }()
				s.send(changes, c)
			})
			return true
		})
		faults.join()
		// Every change has its own deadline, so this wait has one.
		if err := await(ctx, changeTimeout, "every broker to serve every change", s.settled); err != nil {
			s.invalid("%v", err)
		}
		cancel()
		wg.Wait()
		s.judge("change", slipped)
		if slipped.dropped > 0 {
			s.invalid("%d of %d changes were dropped: %d were waiting for their acknowledgement", slipped.dropped, slipped.ops, maxChangesInFlight)
		}
	}
	s.judge("probe", watch.stop())
	if warmed {
		s.take()
	}
}

// warm has the probes and one creation work before the clock starts.
func (s *spread) warm(ctx context.Context, watch *probes) bool {
	s.phase("probe")
	name := numbered(s.topicPrefix()+"-warm", 0)
	s.mu.Lock()
	for _, n := range s.nodes {
		s.pending[n.ID] = []string{name}
	}
	s.mu.Unlock()
	one, cancel := context.WithTimeout(ctx, s.gate())
	defer cancel()
	_, err := s.admin.create(one, []newTopic{{name, 1, s.replication()}}, s.Recorder)
	if err == nil {
		err = watch.warm(one, s.gate())
	}
	s.mu.Lock()
	clear(s.pending)
	s.mu.Unlock()
	if err != nil {
		s.invalid("before the first change: %v", err)
	}
	return err == nil
}

// opened makes the change of one operation and has every broker probed for it.
func (s *spread) opened(o op) *change {
	c := &change{
		name: numbered(s.topicPrefix(), int(o.n)), intendedNs: o.intendedNs,
		seenBy: make(map[kafka.BrokerID]int64, len(s.nodes)),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	s.open[c.name] = c
	for _, n := range s.nodes {
		s.pending[n.ID] = append(s.pending[n.ID], c.name)
	}
	return c
}

// send has the topic created; a change that was not acknowledged is failed.
func (s *spread) send(ctx context.Context, c *change) {
	one, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err := s.admin.create(one, []newTopic{{c.name, 1, s.replication()}}, s.Recorder)
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	s.failure = err
	s.drop(c)
}

// drop stops following a change.
func (s *spread) drop(c *change) {
	delete(s.open, c.name)
	for id, names := range s.pending {
		s.pending[id] = slices.DeleteFunc(names, func(n string) bool { return n == c.name })
	}
}

// topics gives the oldest changes that a broker does not serve yet.
func (s *spread) topics(n Node) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.pending[n.ID]
	if len(names) == 0 {
		return nil
	}
	return slices.Clone(names[:min(len(names), s.limit)])
}

// observe takes one answer of one broker.
func (s *spread) observe(id kafka.BrokerID, m *kmsg.MetadataResponse, doneNs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	eachPartition(m, func(tp kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
		c := s.open[tp.Topic]
		if c == nil || p.Leader < 0 || c.seenBy[id] != 0 {
			return
		}
		c.seenBy[id] = doneNs
		c.seen = append(c.seen, doneNs)
		s.pending[id] = slices.DeleteFunc(s.pending[id], func(n string) bool { return n == tp.Topic })
		if len(c.seen) == len(s.nodes) {
			s.finish(c)
		}
	})
}

// finish records a change that every broker serves. The median of an even
// number of brokers is the lower of the middle two: a time that was measured.
func (s *spread) finish(c *change) {
	delete(s.open, c.name)
	slices.Sort(c.seen)
	s.first(c.seen[0] - c.intendedNs)
	s.median(lowerMedian(c.seen) - c.intendedNs)
	s.last(c.seen[len(c.seen)-1] - c.intendedNs)
	for id, record := range s.apart {
		record(c.seenBy[id] - c.intendedNs)
	}
	s.served++
	s.endNs = max(s.endNs, c.seen[len(c.seen)-1])
}

// settled reports whether no change is on its way.
func (s *spread) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) == 0
}

// take takes the counts and judges the whole.
func (s *spread) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended(s.endNs)
	s.count("changes.sent", s.sent)
	s.count("changes.served", s.served)
	s.count("changes.failed", s.failed)
	s.count("changes.lost", int64(len(s.open)))
	if s.failed > 0 {
		s.invalid("%d of %d changes were not acknowledged: %v", s.failed, s.sent, s.failure)
	}
	if len(s.open) > 0 {
		s.invalid("%d of %d changes were not served by every broker within %v", len(s.open), s.sent, changeTimeout)
	}
	if s.served == 0 {
		s.invalid("no sample came")
	}
}
