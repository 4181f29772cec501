package workloads

import (
	"context"
	"fmt"
	"slices"

	"kbench/internal/trace"
)

var dataInterference = Workload{
	Kind:     "data-interference",
	Doc:      "produce records at a rate beside a stream of changes, and compare the changes with those of a quiet cluster",
	Clock:    "quiet: from the intended time of a change until the last live broker serves it, while nobody produces; loaded: the same beside the records; produce: from the intended time of a produce request until it is acknowledged. Half of the duration is quiet, the other half loaded. Brokers of kbench count records and drop them, Kafka's keep them; zk.controlPlaneListener takes the controller's requests out of the records' queue",
	Timeline: true,
	Params: slices.Concat([]Param{changeParam(changeLeader, changeCreate, changeConfig)}, loadParams,
		[]Param{produceRateParam, produceBytesParam, producerParam, probeRateParam, probePartitionsParam, timeoutParam}),
	run: func(ctx context.Context, r *run) error {
		return r.trial(func() error { return r.gated(ctx, 1, r.interfere) })
	},
	refuses: func(s Setup, p Params) error {
		if p.Arrival == arrivalRamp || p.Arrival == arrivalSteps {
			return fmt.Errorf("arrival %s gives the quiet half other rates than the loaded one; write arrival: constant or poisson", p.Arrival)
		}
		return refusesChanges(s, p.How)
	},
}

// interfere takes one stream of changes through both halves.
func (r *run) interfere(ctx context.Context, t *trialRun) error {
	t.note(0, "the records: %s", t.p.clientSettings())
	quiet, loaded := t.Recorder.Histogram(MetricInterference, PhaseQuiet), t.Recorder.Histogram(MetricInterference, PhaseLoaded)
	half := t.p.Duration / 2
	var loadedNs int64 // when the second half begins
	s := newSpread(t, t.p.How, liveBrokers(t.Cluster), func(c *change) {
		record := loaded
		if c.intendedNs < loadedNs {
			record = quiet
		}
		record(c.lastNs() - c.intendedNs)
	})
	s.probes = "changes.probe" // clients have probes too
	pacer, err := t.p.arrivals(t.Seed)
	if err != nil {
		return err
	}
	t.phase(PhasePrepare)
	if err := s.source.prepare(ctx, due(pacer, t.p.Duration)); err != nil {
		return err
	}
	defer func() {
		if err := tidily(ctx, s.source.clean); err != nil {
			t.note(0, "what the changes were made to could not be removed: %v", err)
		}
	}()
	t.phase("probe")
	c, err := t.startClients(ctx)
	if err != nil {
		return err
	}
	defer t.stopClients(c)
	if err := s.begin(ctx); err != nil {
		s.stop()
		return fmt.Errorf("before the first change: %w", err)
	}
	defer s.stop()
	t.phase("drive")
	t.out.StartNs = trace.Now()
	s.curve.begin(t.out.StartNs)
	loadedNs = t.out.StartNs + int64(half)
	faults := t.playFaults(ctx, t.out.StartNs)
	changes := make(chan slips, 1)
	go func() {
		changes <- drive(ctx, t.out.StartNs, t.out.StartNs+int64(t.p.Duration), pacer, s.start)
	}()
	tr, terr := t.trafficFrom(ctx, c, loadedNs)
	slipped := <-changes
	faults.join()
	s.end(ctx)
	t.judge(streamChange, slipped)
	s.take(streamChange)
	if tr != nil {
		t.takeTraffic(tr)
	}
	return firstError(ctx.Err(), terr)
}

// trafficFrom produces from a time on until the changes end.
func (t *trialRun) trafficFrom(ctx context.Context, c *clients, fromNs int64) (*traffic, error) {
	if !sleepUntil(ctx, fromNs) {
		return nil, ctx.Err()
	}
	tr, err := t.startTraffic(ctx, c, t.Recorder.Histogram(MetricInterference, PhaseProduce))
	if err != nil {
		return nil, err
	}
	_ = sleepUntil(ctx, t.out.StartNs+int64(t.p.Duration))
	tr.stop()
	return tr, nil
}

// takeTraffic judges the records, when the windows of faults are known. Records
// are counted by batches: one is one request, or one call of franz-go.
func (t *trialRun) takeTraffic(tr *traffic) {
	acked, failed := tr.acked.Load(), tr.failed.Load()
	open := tr.slips.ops - tr.slips.dropped - acked - failed
	t.judge("batch", tr.slips)
	t.count("batch.records", int64(tr.records))
	t.count("batch.acked", acked)
	t.count("batch.failed", failed)
	t.count("batch.open", open)
	t.judgeLost("batches of records", &tr.curve)
	if acked == 0 {
		t.invalid("no record was acknowledged")
	}
	if n := tr.slips.dropped; n > 0 {
		t.invalid("%d of %d batches of records were dropped: %d were waiting for their answer; the rate is more than the brokers take", n, tr.slips.ops, maxProduces)
	}
}
