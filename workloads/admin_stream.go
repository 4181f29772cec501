package workloads

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
)

const (
	// maxAdminRate bounds the admin stream: 10 ms of resolution, and a load
	// that a controller does not feel.
	maxAdminRate = 100
	// maxAdminInFlight bounds the admin requests that wait for their answer,
	// each on a connection of its own.
	maxAdminInFlight = 256
	// adminTimeout bounds one admin request, as Kafka's request.timeout.ms.
	adminTimeout = 30 * time.Second
)

// adminStream creates topics of one partition in an open loop and keeps which
// creations succeeded. Creations under way share one name, and the next name
// comes when one was created, so that a stream that waits through an outage
// leaves one topic behind and not one for each request.
type adminStream struct {
	admin       *admin
	rec         Recorder
	name        func(n int) string
	replication int16
	// target gives where a request goes now; false sends none.
	target func() (addr string, ok bool)

	mu       sync.Mutex
	current  int // number of the name in use
	inFlight map[*attempt]struct{}
	acks     []acks
	existing int64 // answers that another request had created the topic
	failures int64
	latest   error
	given    int64 // requests given up for room

	cancel context.CancelFunc
	done   chan struct{}
	slips  slips
}

// attempt is one request under way.
type attempt struct {
	op
	addr   string
	n      int // number of the name
	cancel context.CancelFunc
}

// start begins the stream; fields above the lock are set.
func (s *adminStream) start(ctx context.Context, rate float64) {
	ctx, cancel := context.WithCancel(ctx)
	s.cancel, s.done, s.inFlight = cancel, make(chan struct{}), map[*attempt]struct{}{}
	go func() {
		defer close(s.done)
		var wg sync.WaitGroup
		s.slips = drive(ctx, trace.Now(), 0, Constant{min(rate, maxAdminRate)}, func(o op) bool {
			addr, ok := s.target()
			if !ok {
				return false
			}
			a := s.admit(ctx, o, addr)
			if a == nil {
				return false
			}
			wg.Go(func() { s.attempt(a.ctx, a.attempt) })
			return true
		})
		wg.Wait()
	}()
}

type admitted struct {
	*attempt
	ctx context.Context
}

// admit makes room where the stream is full: requests to nodes that are no
// longer asked go first, then the oldest, but the first to each node stays, so
// that a slow node is not mistaken for one that never answers.
func (s *adminStream) admit(ctx context.Context, o op, addr string) *admitted {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.inFlight) >= maxAdminInFlight {
		old := s.dispensable(addr)
		if old == nil {
			return nil
		}
		delete(s.inFlight, old)
		old.cancel()
		s.given++
	}
	actx, cancel := context.WithTimeout(ctx, adminTimeout)
	a := &attempt{op: o, addr: addr, n: s.current, cancel: cancel}
	s.inFlight[a] = struct{}{}
	return &admitted{a, actx}
}

func (s *adminStream) dispensable(addr string) *attempt {
	all := make([]*attempt, 0, len(s.inFlight))
	for a := range s.inFlight {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *attempt) int { return cmp.Compare(a.op.n, b.op.n) })
	firsts := map[string]bool{}
	var oldest *attempt
	for _, a := range all {
		if a.addr != addr && firsts[a.addr] {
			return a
		}
		if firsts[a.addr] && oldest == nil {
			oldest = a
		}
		firsts[a.addr] = true
	}
	return oldest
}

func (s *adminStream) attempt(ctx context.Context, a *attempt) {
	defer a.cancel()
	topic := newTopic{name: s.name(a.n), partitions: 1, replication: s.replication}
	sentNs := trace.Now()
	results, doneNs, err := s.admin.createTopicsAt(ctx, a.addr, []newTopic{topic}, adminTimeout)
	r, lost := results[topic.name], err != nil
	if err == nil {
		err = r.code.Err()
	}
	s.mu.Lock()
	delete(s.inFlight, a)
	if (err == nil || r.code == kafka.TopicAlreadyExists) && s.current == a.n {
		s.current++
	}
	switch {
	case err == nil:
		s.acks = append(s.acks, acks{intendedNs: a.intendedNs, doneNs: doneNs})
	case r.code == kafka.TopicAlreadyExists:
		s.existing++
	default:
		s.failures++
		s.latest = err
	}
	s.mu.Unlock()
	switch op := topic.operation(r.id, sentNs, doneNs); {
	case err == nil:
		s.rec.Acked(op)
	case lost || s.admin.unsure(r.code):
		s.rec.Unanswered(op)
	default:
		s.rec.Refused(op, r.code)
	}
}

// firstAck gives the earliest success among the requests due at intendedNs or
// later and acknowledged at doneNs or later.
func (s *adminStream) firstAck(intendedNs, doneNs int64) (acks, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best acks
	for _, a := range s.acks {
		if a.intendedNs >= intendedNs && a.doneNs >= doneNs && (best.doneNs == 0 || a.doneNs < best.doneNs) {
			best = a
		}
	}
	return best, best.doneNs != 0
}

// last gives the newest failure, for people.
func (s *adminStream) last() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

// acked counts the requests whose topic was there when they were answered. Call it
// when the stream has ended.
func (s *adminStream) acked() int64 { return int64(len(s.acks)) + s.existing }

// stop ends the stream; requests under way are given up.
func (s *adminStream) stop() slips {
	s.cancel()
	<-s.done
	return s.slips
}
