package workloads

import (
	"context"
	"slices"

	"kbench/internal/trace"
	"kbench/kafka"
)

// maxBrokersApart bounds the brokers whose own propagation is kept beside the
// first, the median and the last.
const maxBrokersApart = 32

// liveDoc says which brokers are live beside faults.
const liveDoc = "Beside faults a broker that one took away is not live until it is back and has served a change"

var propagation = Workload{
	Kind:     "propagation",
	Doc:      "make small changes at a rate and watch every broker serve them",
	Clock:    "from the intended time of a change until the first, the median and the last live broker serves it; acked: until it is acknowledged; divergence: from the first broker to the last; disagreement: how many answered with the old view meanwhile. create: a broker names a leader of the new topic; leader: it names the elected leader; config: as a leader it obeys the new min.insync.replicas and max.message.bytes. " + liveDoc,
	Timeline: true,
	Params:   append([]Param{changeParam(changeCreate, changeConfig, changeLeader)}, append(slices.Clone(loadParams), probeRateParam, probePartitionsParam, timeoutParam)...),
	run:      func(ctx context.Context, r *run) error { return r.trial(func() error { return r.propagate(ctx) }) },
	refuses:  func(s Setup, p Params) error { return refusesChanges(s, p.How) },
}

func changeParam(kinds ...string) Param {
	return howParam(kinds...).says("what is changed")
}

// propagate makes changes in an open loop while every broker is probed for
// those it does not serve yet.
func (r *run) propagate(ctx context.Context) error {
	t := r.newTrial(1)
	defer func() { t.record(ctx) }()
	t.phase(PhaseGate)
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy before: %v", err)
		return err
	}
	s := newSpread(t, r.p.How, liveBrokers(r.Cluster), t.spreadRecorder(MetricPropagation))
	if err := t.stream(ctx, s); err != nil {
		return err
	}
	if err := r.healthy(ctx); err != nil {
		t.invalid("not healthy after: %v", err)
		return err
	}
	return nil
}

// stream takes a whole load of one kind through. Its error ends the workload.
func (t *trialRun) stream(ctx context.Context, s *spread) error {
	pacer, err := t.p.arrivals(t.Seed)
	if err != nil {
		return err
	}
	err = t.drive(ctx, s, pacer)
	t.disagreement(s.counts)
	return err
}

// drive prepares what the changes of a spread need, drives it, waits for the
// last of them and takes the counts. Its error ends the workload.
func (t *trialRun) drive(ctx context.Context, s *spread, pacer Pacer) error {
	t.phase(PhasePrepare)
	n := due(pacer, t.p.Duration)
	if err := s.source.prepare(ctx, n); err != nil {
		t.invalid("%v", err)
		return err
	}
	defer func() {
		if err := tidily(ctx, s.source.clean); err != nil {
			t.note(0, "what the changes were made to could not be removed: %v", err)
		}
	}()
	t.phase("probe")
	if err := s.begin(ctx); err != nil {
		t.invalid("before the first change: %v", err)
		s.stop()
		return ctx.Err()
	}
	t.phase("drive")
	every := int64(1 + n/100)
	t.out.StartNs = trace.Now()
	s.curve.begin(t.out.StartNs)
	faults := t.playFaults(ctx, t.out.StartNs)
	slipped := drive(ctx, t.out.StartNs, t.out.StartNs+int64(t.p.Duration), pacer, func(o op) bool {
		if o.n%every == 0 {
			t.progress(t.out.N, "drive", int(o.n), n)
		}
		return s.start(o)
	})
	faults.join()
	s.end(ctx)
	t.judge(streamChange, slipped)
	s.take(streamChange)
	return ctx.Err()
}

// spreadRecorder records the stamps of each change.
func (t *trialRun) spreadRecorder(metric string) func(*change) {
	record := map[string]func(int64){}
	for _, phase := range []string{PhaseFirst, PhaseMedian, PhaseLast, PhaseAcked, PhaseService} {
		record[phase] = t.Recorder.Histogram(metric, phase)
	}
	diverged := t.Recorder.Histogram(MetricDivergence, PhaseViews)
	apart := map[kafka.BrokerID]func(int64){}
	for i, n := range liveBrokers(t.Cluster) {
		if i < maxBrokersApart {
			apart[n.ID] = t.Recorder.Histogram(metric, PhaseBroker(n.ID))
		}
	}
	return func(c *change) {
		record[PhaseFirst](c.firstNs() - c.intendedNs)
		record[PhaseMedian](lowerMedian(c.seen) - c.intendedNs)
		record[PhaseLast](c.lastNs() - c.intendedNs)
		record[PhaseAcked](c.ackedNs - c.intendedNs)
		record[PhaseService](c.lastNs() - c.sentNs)
		diverged(c.lastNs() - c.firstNs())
		for id, r := range apart {
			if seen := c.seenBy[id]; seen != 0 {
				r(seen - c.intendedNs)
			}
		}
	}
}
