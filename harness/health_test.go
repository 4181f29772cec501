package harness

import (
	"context"
	"strings"
	"testing"
	"time"

	"kbench/harness/provider"
	"kbench/harness/spec"
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
}
