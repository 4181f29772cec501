package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/ask"
)

// What a seeking client waits for. Kafka's clients have the same settings:
// request.timeout.ms, retry.backoff.ms, delivery.timeout.ms; their metadata is
// never older than one question here.
const (
	seekRequestTimeout  = time.Second
	seekBackoff         = 100 * time.Millisecond
	seekDeliveryTimeout = 30 * time.Second
	// maxSeeks bounds the clients that seek at a time.
	maxSeeks = 2048
	// seekFaultAfter is the share of the duration after which the fault comes.
	seekFaultAfter = 0.2
)

const faultNone = "none"

var leaderSeek = Workload{
	Kind: "leader-seek",
	Doc:  "clients that ask random brokers for the leader of a partition and produce to it, while a broker goes",
	Clock: fmt.Sprintf("found: from the intended time of a produce until it is acknowledged, whatever it takes: a question to a random broker, a produce to the leader that it names, and both again after %v where the answer is stale or none comes within %v; unavailability of a partition: from the first intended produce that does not succeed at once until the first later one that is acknowledged; failed-tries: how many questions and produces it took beside the last, by what they met. The fault comes after %.0f %% of the duration",
		seekBackoff, seekRequestTimeout, 100*seekFaultAfter),
	Params: slices.Concat([]Param{howParam(string(FaultKill), string(FaultStop), string(FaultPause), faultNone).says("how a broker goes"), trialsParam("3")}, []Param{rateParam.or("200"), durationParam, arrivalParam, rateToParam, stepsParam, probePartitionsParam, timeoutParam}),
	run: func(ctx context.Context, r *run) error {
		victims := r.victims()
		return r.eachTrial(ctx, func(ctx context.Context, t *trialRun) error { return t.seekTrial(ctx, victims[t.out.N-1]) })
	},
	hurts:   true,
	lasts:   func(p Params) time.Duration { return time.Duration(p.Trials) * p.Duration },
	refuses: needsTwoReplicas,
}

// seekers are the clients of one trial.
type seekers struct {
	*trialRun
	brokers []Node
	sample  []kafka.TopicPartition
	batch   []byte
	seed    uint64
	book    *outageBook
	found   func(int64)
	tally   seekTally
	window  chan struct{}
	wg      sync.WaitGroup
	lastNs  atomic.Int64
}

// seekTally is what clients met.
type seekTally struct {
	acked, lost          atomic.Int64
	stale                atomic.Int64 // the broker that was named does not lead
	unled                atomic.Int64 // the broker asked knows no leader
	unanswered, timeouts atomic.Int64 // of questions and produces
}

func (t *trialRun) seekTrial(ctx context.Context, victim kafka.BrokerID) error {
	victim, others, err := t.notController(ctx, victim)
	if err != nil {
		return err
	}
	all, err := t.partitions(ctx, others[0])
	if err != nil {
		return err
	}
	sample := samplePartitions(all, t.p.ProbePartitions, t.Seed, uint64(t.out.N))
	s := &seekers{
		trialRun: t, brokers: t.Cluster.Brokers(), sample: sample, batch: smallBatch(time.Now().UnixMilli()),
		seed: t.Seed + uint64(t.out.N)<<32, book: newOutageBook(sample, 1024),
		found: t.Recorder.Histogram(MetricSeek, PhaseFound), window: make(chan struct{}, maxSeeks),
	}
	pacer, err := t.p.arrivals(t.Seed + uint64(t.out.N))
	if err != nil {
		return err
	}
	t.count("partitions.probed", int64(len(sample)))
	startNs := trace.Now()
	t.phase("drive")
	loop := make(chan slips, 1)
	go func() {
		loop <- drive(ctx, startNs, startNs+int64(t.p.Duration), pacer, func(o op) bool { return s.start(ctx, o) })
	}()
	fault := Fault(t.p.How)
	undo, ferr := t.seekFault(ctx, s, startNs, victim, fault)
	slipped := <-loop
	s.wg.Wait()
	s.take(slipped)
	if err := ferr; err != nil || !undo {
		return err
	}
	return t.bringBack(ctx, victim, fault)
}

// seekFault makes the fault when it is due and reports whether there is one to
// undo.
func (t *trialRun) seekFault(ctx context.Context, s *seekers, startNs int64, victim kafka.BrokerID, fault Fault) (undo bool, err error) {
	if fault == faultNone {
		t.out.StartNs = startNs
		return false, nil
	}
	if err := pause(ctx, time.Duration(seekFaultAfter*float64(t.p.Duration))); err != nil {
		return false, err
	}
	if err := t.inject(ctx, victim, fault); err != nil {
		return false, err
	}
	s.book.begin(t.out.StartNs)
	if fault == FaultPause {
		if err := t.silent(ctx, victim); err != nil {
			t.invalid("the fault did not bite: broker %d: %v", victim, err)
		}
		return true, nil
	}
	if e := <-t.awaitExit(ctx, victim); e.err != nil {
		t.invalid("the fault did not bite: broker %d runs on: %v", victim, e.err)
	}
	return true, nil
}

// silentFor is how long a paused node is waited for: one that runs answers
// within milliseconds.
const silentFor = 2 * time.Second

// silent asks a paused broker for something small: it must not answer.
func (t *trialRun) silent(ctx context.Context, victim kafka.BrokerID) error {
	ctx, cancel := context.WithTimeout(ctx, silentFor)
	defer cancel()
	for _, b := range t.Cluster.Brokers() {
		if b.ID != victim {
			continue
		}
		if _, err := t.admin.send(ctx, b.Addr, apiMetadata, ask.Topics([]string{})); err == nil {
			return errors.New("it answers although it is paused")
		}
	}
	return nil
}

// start has one client seek; false where too many do.
func (s *seekers) start(ctx context.Context, o op) bool {
	select {
	case s.window <- struct{}{}:
	default:
		return false
	}
	s.wg.Go(func() {
		defer func() { <-s.window }()
		s.seek(ctx, o)
	})
	return true
}

// seek produces one record to a random partition, whatever it takes. What it
// draws depends on the operation alone.
func (s *seekers) seek(ctx context.Context, o op) {
	rng := rand.New(rand.NewPCG(s.seed, streamSeek+uint64(o.n)<<8))
	tp := s.sample[rng.IntN(len(s.sample))]
	ctx, cancel := context.WithTimeout(ctx, seekDeliveryTimeout)
	defer cancel()
	for try := 0; ; try++ {
		if s.once(ctx, tp, s.brokers[rng.IntN(len(s.brokers))]) {
			break
		}
		if try == 0 {
			s.book.failed(tp, failure{intendedNs: o.intendedNs, by: kafka.NoLeader})
		}
		if pause(ctx, seekBackoff) != nil {
			s.tally.lost.Add(1)
			return
		}
	}
	done := trace.Now()
	s.tally.acked.Add(1)
	s.found(done - o.intendedNs)
	s.book.acked(tp, acks{intendedNs: o.intendedNs, doneNs: done})
	for last := s.lastNs.Load(); done > last && !s.lastNs.CompareAndSwap(last, done); last = s.lastNs.Load() {
	}
}

// once asks one broker for the leader and produces to it.
func (s *seekers) once(ctx context.Context, tp kafka.TopicPartition, asked Node) bool {
	leader, ok := s.leaderBy(ctx, tp, asked)
	if !ok {
		return false
	}
	one, cancel := context.WithTimeout(ctx, seekRequestTimeout)
	defer cancel()
	resp, err := s.admin.send(one, leader, apiProduce, produceRequest([]kafka.TopicPartition{tp}, s.batch))
	if err != nil {
		s.tally.timeouts.Add(1)
		return false
	}
	for _, t := range resp.(*kmsg.ProduceResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 {
				return true
			}
		}
	}
	s.tally.stale.Add(1)
	return false
}

// leaderBy gives the address of the leader that a broker names.
func (s *seekers) leaderBy(ctx context.Context, tp kafka.TopicPartition, asked Node) (addr string, ok bool) {
	one, cancel := context.WithTimeout(ctx, seekRequestTimeout)
	defer cancel()
	resp, err := s.admin.send(one, asked.Addr, apiMetadata, ask.Topics([]string{tp.Topic}))
	if err != nil {
		s.tally.unanswered.Add(1)
		return "", false
	}
	leader := kafka.NoLeader
	eachPartition(resp.(*kmsg.MetadataResponse), func(have kafka.TopicPartition, p *kmsg.MetadataResponseTopicPartition) {
		if have == tp {
			leader = kafka.BrokerID(p.Leader)
		}
	})
	for _, b := range s.brokers {
		if b.ID == leader {
			return b.Addr, true
		}
	}
	s.tally.unled.Add(1)
	return "", false
}

// take judges the clients and keeps what they met.
func (s *seekers) take(slipped slips) {
	s.judge("seek", slipped)
	s.count("seek.acked", s.tally.acked.Load())
	s.count("seek.failed", s.tally.lost.Load())
	stale, unled, unanswered, timedOut := s.tally.stale.Load(), s.tally.unled.Load(), s.tally.unanswered.Load(), s.tally.timeouts.Load()
	s.value(MetricFailedTries, PhaseAll, float64(stale+unled+unanswered+timedOut))
	s.value(MetricFailedTries, PhaseStale, float64(stale))
	s.value(MetricFailedTries, PhaseNoLeader, float64(unled))
	s.value(MetricFailedTries, PhaseUnanswered, float64(unanswered))
	s.value(MetricFailedTries, PhaseTimedOut, float64(timedOut))
	s.ended(s.lastNs.Load())
	s.takeOutages(s.book)
	if slipped.dropped > 0 {
		s.invalid("%d of %d clients were dropped: %d were seeking", slipped.dropped, slipped.ops, maxSeeks)
	}
	if n := s.tally.lost.Load(); n > 0 {
		s.invalid("%d of %d records were not acknowledged within %v", n, slipped.ops, seekDeliveryTimeout)
	}
	if s.tally.acked.Load() == 0 {
		s.invalid("no sample came")
	}
}
