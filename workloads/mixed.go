package workloads

import (
	"context"
	"slices"

	"kbench/internal/trace"
)

var mixed = Workload{
	Kind:     "mixed",
	Doc:      "changes of several kinds at stated shares, with ramps and with the faults of the spec's timeline",
	Clock:    "from the intended time of a change until the last live broker serves it, each kind for itself; all: of every kind; divergence: from the first broker to the last; disagreement: how many brokers answered with the old view meanwhile. Which kind comes when is drawn from the seed. " + liveDoc,
	Timeline: true,
	Params:   slices.Concat([]Param{weightsParam}, loadParams, []Param{probeRateParam, probePartitionsParam, timeoutParam}),
	run: func(ctx context.Context, r *run) error {
		return r.trial(func() error { return r.gated(ctx, 1, r.mix) })
	},
	refuses: func(s Setup, p Params) error {
		w, err := parseWeights(p.Weights)
		if err != nil {
			return err
		}
		return refusesChanges(s, w.kinds...)
	},
}

// mix takes a spread of each kind through one open loop.
func (r *run) mix(ctx context.Context, t *trialRun) error {
	w, err := parseWeights(t.p.Weights)
	if err != nil {
		return err
	}
	pacer, err := t.p.arrivals(t.Seed)
	if err != nil {
		return err
	}
	draws := w.draws(due(pacer, t.p.Duration), t.Seed)
	spreads, err := t.mixture(ctx, w, draws)
	defer func() {
		_ = tidily(ctx, func(ctx context.Context) error {
			for _, kind := range w.kinds {
				s := spreads[kind]
				if s == nil {
					continue
				}
				s.stop()
				if err := s.source.clean(ctx); err != nil {
					t.note(0, "what the %s changes were made to could not be removed: %v", kind, err)
				}
			}
			return nil
		})
	}()
	if err != nil {
		return err
	}
	t.phase("drive")
	every := 1 + len(draws)/100
	t.out.StartNs = trace.Now()
	byKind := map[string]*slips{}
	for _, kind := range w.kinds {
		byKind[kind] = &slips{}
		spreads[kind].curve.begin(t.out.StartNs)
	}
	faults := t.playFaults(ctx, t.out.StartNs)
	slipped := drive(ctx, t.out.StartNs, t.out.StartNs+int64(t.p.Duration), pacer, func(o op) bool {
		if int(o.n)%every == 0 {
			t.progress(t.out.N, "drive", int(o.n), len(draws))
		}
		kind := draws[o.n]
		byKind[kind].add(o)
		taken := spreads[kind].start(o)
		if !taken {
			byKind[kind].dropped++
		}
		return taken
	})
	faults.join()
	for _, kind := range w.kinds {
		spreads[kind].end(ctx)
	}
	t.judge(streamChange, slipped)
	var all spreadCounts
	for _, kind := range w.kinds {
		if !slices.Contains(draws, kind) {
			t.note(0, "no change of kind %s was drawn: its weight is small for so few operations", kind)
			continue
		}
		t.out.Counts = append(t.out.Counts, byKind[kind].counts(kind)...)
		spreads[kind].take(kind)
		all = all.and(spreads[kind].counts)
	}
	t.countChanges(streamChange, all)
	t.disagreement(all)
	return ctx.Err()
}

// mixture prepares and warms a spread of each kind.
func (t *trialRun) mixture(ctx context.Context, w weights, draws []string) (map[string]*spread, error) {
	spreads := map[string]*spread{}
	all, views := t.Recorder.Histogram(MetricMixed, PhaseAll), t.Recorder.Histogram(MetricDivergence, PhaseViews)
	for _, kind := range w.kinds {
		t.phase(PhasePrepare)
		record := t.Recorder.Histogram(MetricMixed, kind)
		s := newSpread(t, kind, liveBrokers(t.Cluster), func(c *change) {
			record(c.lastNs() - c.intendedNs)
			all(c.lastNs() - c.intendedNs)
			views(c.lastNs() - c.firstNs())
		})
		s.probes = kind + ".probe"
		spreads[kind] = s
		n := 0
		for _, d := range draws {
			if d == kind {
				n++
			}
		}
		if err := s.source.prepare(ctx, n); err != nil {
			return spreads, err
		}
		if err := s.begin(ctx); err != nil {
			return spreads, err
		}
	}
	return spreads, nil
}
