package harness

import (
	"context"
	"strings"
	"testing"
	"time"

	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/kafka"
	"kbench/workloads"
)

// gone is a node that ended although nobody stopped it.
type gone struct{ provider.Node }

func (gone) Name() string  { return "broker-1" }
func (gone) Running() bool { return false }

func TestHealthIsNotWaitedForWithoutANode(t *testing.T) {
	for where, c := range map[string]*cluster{
		"cluster": {nodes: []*node{{id: 1, proc: gone{}}}},
		"store":   {store: store{nodes: []provider.Node{gone{}}}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := c.WaitHealthy(ctx)
		if err == nil || !strings.Contains(err.Error(), "broker-1 has exited") || ctx.Err() != nil {
			t.Errorf("%s: %v", where, err)
		}
		cancel()
	}
}

func TestTooFewTrialsSayWhy(t *testing.T) {
	run := newCellRun(t)
	w := spec.Workload{Kind: "broker-failure", Params: workloads.Params{Trials: 1}}
	run.rec.Trial(trial(false))
	if err := run.short(w); err == nil || !strings.Contains(err.Error(), "0 of 1 trials are valid; the last that is not: because") {
		t.Errorf("got %v", err)
	}
	run.rec.Trial(trial(true))
	if err := run.short(w); err != nil {
		t.Errorf("got %v", err)
	}
	w.Params.Kills = 2 // each controller of a row is a trial
	if err := run.short(w); err == nil || !strings.Contains(err.Error(), "1 of 2 trials are valid") {
		t.Errorf("got %v", err)
	}
}

// TestVigil: a process that ends unasked ends what needs it, and one that a fault
// is made on does not.
func TestVigil(t *testing.T) {
	proc := &hurtNode{name: "broker-1"}
	c := &cluster{nodes: []*node{{id: 1, proc: proc}}, excluded: map[kafka.BrokerID]bool{1: true}}
	proc.gone = true
	if err := c.unasked(); err != nil {
		t.Errorf("stopped by a workload: %v", err)
	}
	c.excluded = nil
	done := c.hurting(proc)
	if err := c.unasked(); err != nil {
		t.Errorf("hurt by a timeline: %v", err)
	}
	done()
	run := newCellRun(t)
	run.cluster = c
	err := run.whileAll(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || !strings.Contains(err.Error(), "broker-1 has exited, and no fault of this run had ended it") {
		t.Errorf("got %v", err)
	}
}
