package workloads

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/kafka"
)

func runWorkload(t *testing.T, c *fakeCluster, kind string, p Params) (*memory, error) {
	t.Helper()
	w, err := Lookup(kind)
	if err != nil {
		t.Fatal(err)
	}
	rec := &memory{}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	err = w.Run(ctx, Env{Cluster: c, Recorder: rec, Params: p, Seed: 7, Label: "test"})
	return rec, err
}

func mustRun(t *attempted, c *fakeCluster, kind string, p Params) *memory {
	t.Helper()
	rec, err := runWorkload(t.T, c, kind, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range rec.trials {
		switch {
		case strings.Contains(trial.Reason, "slipped"):
			t.slow = append(t.slow, trial.Reason)
		case !trial.Valid:
			t.Errorf("trial %d is invalid: %s", trial.N, trial.Reason)
		}
	}
	return rec
}

func TestControlledShutdownMeasuresWhatWasInjected(t *testing.T) {
	measured(t, measureShutdown)
}

func measureShutdown(t *attempted) {
	c := newFakeCluster(t.T, nodeconfig.ModeZK, 3, 100)
	c.grant, c.exit = 100*time.Millisecond, 400*time.Millisecond
	for id, d := range map[kafka.BrokerID]time.Duration{1: 150, 2: 150, 3: 150} {
		c.delay[id] = d * time.Millisecond
	}
	rec := mustRun(t, c, "controlled-shutdown", Params{Trials: 2, ProbePartitions: 10})
	if len(t.slow) > 0 { // a trial was run again, which is not what is looked at
		return
	}
	if len(rec.trials) != 2 {
		t.Fatalf("%d trials", len(rec.trials))
	}
	for _, trial := range rec.trials {
		near(t, "granted", value(t, trial, MetricControlledShutdown, PhaseGranted), c.grant)
		near(t, "moved", value(t, trial, MetricControlledShutdown, PhaseMoved), 250*time.Millisecond)
		near(t, "exit", value(t, trial, MetricControlledShutdown, PhaseExit), c.exit)
		if got := countOf(trial, "partitions.led"); got < 30 || got > 40 {
			t.Errorf("led %d of 100 partitions", got)
		}
		if countOf(trial, "partitions.probed") != 10 || countOf(trial, "partitions.stragglers") != 0 {
			t.Errorf("counts: %+v", trial.Counts)
		}
	}
	// The old leader refuses 100 ms after the fault, clients hear of the new one
	// 150 ms later: acknowledgements before the outage are not its end.
	outages := rec.values["unavailability.partition"]
	if len(outages) != 20 {
		t.Errorf("%d outages of 20 probed partitions", len(outages))
	}
	for _, ns := range outages {
		near(t, "unavailability", time.Duration(ns), 145*time.Millisecond)
	}
	if rec.trials[0].Victim == rec.trials[1].Victim {
		t.Error("the same victim twice in a row")
	}
	if want := []Fault{FaultStop, FaultStart, FaultStop, FaultStart}; !slices.Equal(c.injected, want) {
		t.Errorf("injected %v", c.injected)
	}
}

func TestBrokerFailureMeasuresWhatWasInjected(t *testing.T) {
	for _, how := range []string{"kill", "pause", "isolate"} {
		t.Run(how, func(t *testing.T) {
			measured(t, func(t *attempted) { measureFailure(t, how) })
		})
	}
}

func measureFailure(t *attempted, how string) {
	c := newFakeCluster(t.T, nodeconfig.ModeKRaft, 3, 60)
	c.fence = 200 * time.Millisecond
	c.delay[1], c.delay[2], c.delay[3] = 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	rec := mustRun(t, c, "broker-failure", Params{How: how, Trials: 1, ProbePartitions: 8})
	if len(t.slow) > 0 {
		return
	}
	trial := rec.trials[0]
	near(t, "detect", value(t, trial, MetricBrokerRecovery, PhaseDetect), c.fence)
	near(t, "moved", value(t, trial, MetricBrokerRecovery, PhaseMoved), 300*time.Millisecond)
	near(t, "rest", value(t, trial, MetricBrokerRecovery, PhaseRest), 100*time.Millisecond)
	// Clients hear of the new leader 300 ms after the fault; the first
	// failed produce was due up to a probe period after it.
	outages := rec.values["unavailability.partition"]
	if len(outages) != 8 {
		t.Fatalf("%d outages of 8 probed partitions", len(outages))
	}
	for _, ns := range outages {
		near(t, "unavailability", time.Duration(ns), 295*time.Millisecond)
	}
}

// TestStragglerCounts has the one partition that the sample misses move late:
// the sweep must find it and the value must include it.
func TestStragglerCounts(t *testing.T) { measured(t, measureStraggler) }

func measureStraggler(t *attempted) {
	c := newFakeCluster(t.T, nodeconfig.ModeKRaft, 3, 200)
	c.fence, c.straggler = 50*time.Millisecond, 400*time.Millisecond
	rec := mustRun(t, c, "broker-failure", Params{Trials: 1, ProbePartitions: 2})
	near(t, "moved", value(t, rec.trials[0], MetricBrokerRecovery, PhaseMoved), 450*time.Millisecond)
	if countOf(rec.trials[0], "partitions.stragglers") < 1 {
		t.Error("no straggler was counted")
	}
}

func TestInvalidTrials(t *testing.T) {
	for name, tc := range map[string]struct {
		kind  string
		plant func(*fakeCluster)
		want  string // in the reason
		err   bool   // the workload cannot go on
		how   string
	}{
		"fault does not bite": {"broker-failure", func(c *fakeCluster) { c.deaf = true }, "did not bite: broker", true, ""},
		"nothing led": {"broker-failure", func(c *fakeCluster) {
			for _, topic := range c.topics {
				for i := range topic.partitions {
					topic.partitions[i].leaders[0].v.leader = 9
				}
			}
		}, "led no partition", false, ""},
		"not healthy":                          {"controlled-shutdown", func(c *fakeCluster) { c.unhealthy = errors.New("planted") }, "planted", true, ""},
		"deaf controller":                      {"controller-failover", func(c *fakeCluster) { c.deaf = true }, "did not bite", true, ""},
		"leaky controller":                     {"controller-failover", func(c *fakeCluster) { c.leaky = true }, "did not bite: controller 1001: packets still pass", false, "isolate"},
		"controller that is not paused":        {"controller-failover", func(c *fakeCluster) { c.deaf = true }, "no trace tells of an election", false, "pause"},
		"no trace, zk, not paused":             {"controller-failover", func(c *fakeCluster) { c.deaf, c.untraced, c.mode = true, true, nodeconfig.ModeZK }, "did not bite: controller 1001: wait for brokers to tell of another", false, "pause"},
		"no trace, kraft, not paused":          {"controller-failover", func(c *fakeCluster) { c.deaf, c.untraced = true, true }, "did not bite: controller 1001: wait for brokers to tell of another", false, "pause"},
		"no trace, exit not seen, none":        {"controller-failover", func(c *fakeCluster) { c.deaf, c.untraced, c.blind = true, true, true }, "did not bite: controller 1001: wait for brokers to tell of another", true, "kill"},
		"seekers, a broker that is not paused": {"leader-seek", func(c *fakeCluster) { c.deaf = true }, "answers although it is paused", false, "pause"},
		"leaky broker":                         {"broker-failure", func(c *fakeCluster) { c.leaky = true }, "packets still pass", false, "isolate"},
		"no admin before":                      {"propagation", func(c *fakeCluster) { c.controller[0].v = 1002; c.servesFrom = 1 << 62 }, "before the first change", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait
			c := newFakeCluster(t, nodeconfig.ModeKRaft, 3, 30)
			tc.plant(c)
			p := Params{How: tc.how, Trials: 1, TrialTimeout: time.Second}
			switch tc.kind {
			case "propagation":
				p.Trials = 0
			case "leader-seek":
				p.Duration = 500 * time.Millisecond
			}
			rec, err := runWorkload(t, c, tc.kind, p)
			if (err != nil) != tc.err {
				t.Errorf("error %v", err)
			}
			if len(rec.trials) != 1 || rec.trials[0].Valid || !strings.Contains(rec.trials[0].Reason, tc.want) {
				t.Fatalf("trials %+v, want a reason with %q", rec.trials, tc.want)
			}
		})
	}
}

func TestInterruptKeepsTheTrial(t *testing.T) {
	c := newFakeCluster(t, nodeconfig.ModeKRaft, 3, 30)
	c.fence = time.Hour
	ctx, cancel := context.WithCancelCause(context.Background())
	rec := &memory{}
	done := make(chan error, 1)
	w, _ := Lookup("broker-failure")
	go func() { done <- w.Run(ctx, Env{Cluster: c, Recorder: rec, Seed: 1}) }()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		n := len(c.injected)
		c.mu.Unlock()
		if n > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no fault within 20 s")
		}
	}
	cancel(errors.New("Ctrl-C"))
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the workload did not end")
	}
	if len(rec.trials) != 1 || rec.trials[0].Valid || rec.trials[0].Reason != "interrupted: Ctrl-C" || rec.trials[0].StartNs == 0 {
		t.Fatalf("trials %+v", rec.trials)
	}
}
