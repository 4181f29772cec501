package workloads

import (
	"strings"
	"testing"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
)

// newFakeQuorum is a cluster whose controllers are voters.
func newFakeQuorum(t *testing.T) *fakeCluster {
	c := newFakeCluster(t, nodeconfig.ModeKRaft, 3, 30)
	c.detect, c.elect = 20*time.Millisecond, 10*time.Millisecond
	c.quorum.end, c.quorum.dropped = 700, 12
	return c
}

func TestReconcileMeasuresWhatWasInjected(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeQuorum(t.T)
		c.quorum.found, c.quorum.agree = 120*time.Millisecond, 80*time.Millisecond
		trial := mustRun(t, c, "reconcile", Params{Trials: 1, Partitions: 200}).trials[0]
		near(t, "found", value(t, trial, MetricReconcile, PhaseFound), 120*time.Millisecond)
		near(t, "agreed", value(t, trial, MetricReconcile, PhaseAgreed), 200*time.Millisecond)
		near(t, "rest", value(t, trial, MetricReconcile, PhaseRest), 80*time.Millisecond)
		for phase, want := range map[string]time.Duration{PhaseMessages: 6, PhaseBytes: 4000, PhaseRoundTrips: 2} {
			if got := value(t, trial, MetricTraffic, phase); got != want {
				t.Errorf("%d %s, want %d", got, phase, want)
			}
		}
		if trial.Victim != 1001 || countOf(trial, "records.dropped") != 12 {
			t.Errorf("%+v", trial)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for name, topic := range c.topics {
			if topic.goneNs == 0 && len(name) > 3 {
				t.Errorf("topic %s was left", name)
			}
		}
	})
}

func TestReconcileNeedsALogThatDiverged(t *testing.T) {
	for reason, plant := range map[string]func(*fakeCluster){
		"had nothing that the others had not":      func(c *fakeCluster) { c.quorum.dropped = 0 },
		"controller 1001: packets still pass":      func(c *fakeCluster) { c.leaky = true },
		"agrees with epoch 2 up to offset 700: no": func(c *fakeCluster) { c.quorum.agree = time.Hour },
	} {
		c := newFakeQuorum(t)
		plant(c)
		rec, _ := runWorkload(t, c, "reconcile", Params{Trials: 1, Partitions: 100, TrialTimeout: 3 * time.Second})
		wantInvalid(t, rec, reason)
	}
}

// The first message of a leader may be the one that truncates: a node that
// pushes tells of its new role behind it.
func TestAgreementInEitherOrder(t *testing.T) {
	follows := trace.Event{Node: "controller-7", Kind: trace.QuorumFollows, Epoch: 3, T: 20}
	truncated := trace.Event{Node: "controller-7", Kind: trace.QuorumTruncated, N: 2, T: 10}
	durable := trace.Event{Node: "controller-7", Kind: trace.QuorumDurable, Offset: 9, T: 30}
	other := trace.Event{Node: "controller-8", Kind: trace.QuorumDurable, Offset: 9, T: 11}
	old := trace.Event{Node: "controller-7", Kind: trace.QuorumFollows, Epoch: 2, T: 5}
	a, ok := readAgreement([]trace.Event{durable, follows, other, old, truncated}, 7, committed{epoch: 3, end: 9})
	if !ok || a.found != follows || a.truncated != truncated || a.durable != durable {
		t.Errorf("read %+v, %v", a, ok)
	}
	if _, ok := readAgreement([]trace.Event{follows, truncated, durable}, 7, committed{epoch: 3, end: 10}); ok {
		t.Error("a log that is shorter than what was committed agrees")
	}
}

func TestRemovedVoterMeasuresWhatWasInjected(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeQuorum(t.T)
		c.quorum.settle, c.quorum.stall, c.quorum.elections = 150*time.Millisecond, 300*time.Millisecond, 2
		rec := mustRun(t, c, "removed-voter", Params{Trials: 1, Away: 200 * time.Millisecond, Duration: time.Second, ProbeRate: 100})
		trial := rec.trials[len(rec.trials)-1]
		// A request may be answered as the voter comes back.
		near(t, "stall", value(t, trial, MetricRemovedVoter, PhaseStall), 280*time.Millisecond)
		near(t, "settled", value(t, trial, MetricRemovedVoter, PhaseSettled), 150*time.Millisecond)
		for phase, want := range map[string]time.Duration{PhaseElections: 2, PhaseEpochs: 2, PhaseCampaigns: 2} {
			if got := value(t, trial, MetricDisturbance, phase); got != want {
				t.Errorf("%d %s, want %d", got, phase, want)
			}
		}
		if trial.Victim == 1001 || len(c.quorum.removed) != 0 {
			t.Errorf("voter %d went and %v were left", trial.Victim, c.quorum.removed)
		}
	})
}

// A voter leaves and comes back as fast as the quorum acknowledges it.
func TestQuorumChangeMeasuresWhatWasInjected(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeQuorum(t.T)
		c.admin = 90 * time.Millisecond
		rec := mustRun(t, c, "quorum-change", Params{Trials: 1})
		trial := rec.trials[len(rec.trials)-1]
		near(t, "removed", value(t, trial, MetricQuorum, PhaseRemoved), c.admin)
		near(t, "added", value(t, trial, MetricQuorum, PhaseAdded), c.admin)
		if trial.Victim == 1001 || len(c.quorum.removed) != 0 {
			t.Errorf("voter %d went and %v were left", trial.Victim, c.quorum.removed)
		}
	})
}

// A voter that is told nothing and does nothing is no disturbance.
func TestRemovedVoterThatIsQuiet(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeQuorum(t.T)
		rec := mustRun(t, c, "removed-voter", Params{Trials: 1, How: "isolate", Away: 100 * time.Millisecond, Duration: 500 * time.Millisecond, ProbeRate: 100})
		trial := rec.trials[len(rec.trials)-1]
		for _, v := range trial.Values {
			if v.Phase == PhaseSettled || v.Metric == MetricDisturbance && v.V != 0 {
				t.Errorf("%+v", v)
			}
		}
	})
}

func wantInvalid(t *testing.T, rec *memory, reason string) {
	t.Helper()
	if len(rec.trials) == 0 {
		t.Fatalf("no trial, want one that is invalid: %s", reason)
	}
	if trial := rec.trials[0]; trial.Valid || !strings.Contains(trial.Reason, reason) {
		t.Errorf("valid %v, reason %q, want %q", trial.Valid, trial.Reason, reason)
	}
}
