package workloads

import (
	"strings"
	"testing"
	"time"

	"kbench/results"
)

func TestResolveFillsDefaults(t *testing.T) {
	w, err := Lookup("controller-failover")
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Resolve(Params{Trials: 7})
	want := Params{How: "kill", Trials: 7, Kills: 1, ProbeRate: 200, ProbePartitions: 64, TrialTimeout: 5 * time.Minute}
	if err != nil || p != want {
		t.Fatalf("got %+v, %v", p, err)
	}
	for _, w := range All() {
		if _, err := w.Resolve(Params{}); err != nil {
			t.Errorf("%s: its own defaults: %v", w.Kind, err)
		}
	}
}

func TestResolveNamesEveryFault(t *testing.T) {
	w, _ := Lookup("broker-failure")
	_, err := w.Resolve(Params{How: "explode", Trials: -1, Rate: 5, ProbeRate: 1e9, ProbePartitions: 1, TrialTimeout: time.Hour * 100})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`how: "explode" is none of kill, pause`, "trials: -1 is not within 1 and 10000", "has no parameter rate",
		"probe.rate: 1e+09 is not within", "trialTimeout: 100h0m0s is not within",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if got := strings.Count(err.Error(), "\n"); got != 4 {
		t.Errorf("%d lines for 5 faults", got+1)
	}
}

func TestLookupAndRunRefuse(t *testing.T) {
	if _, err := Lookup("chaos"); err == nil || !strings.Contains(err.Error(), "create-topics") {
		t.Errorf("got %v", err)
	}
	w, _ := Lookup("propagation")
	if err := w.Run(t.Context(), Env{}); err == nil {
		t.Error("ran without a cluster")
	}
}

// TestMetricsAreInTheCatalogue keeps the names recorded here and those that
// results knows the same.
func TestMetricsAreInTheCatalogue(t *testing.T) {
	for _, m := range []struct {
		kind, metric string
		phases       []string
	}{
		{"create-topics", MetricCreation, []string{PhaseRate}},
		{"controlled-shutdown", MetricControlledShutdown, []string{PhaseGranted, PhaseMoved, PhaseExit}},
		{"controlled-shutdown", MetricUnavailability, []string{PhasePartition}},
		{"broker-failure", MetricBrokerRecovery, []string{PhaseDetect, PhaseMoved, PhaseRest}},
		{"broker-failure", MetricUnavailability, []string{PhasePartition}},
		{"controller-failover", MetricControllerRecovery, []string{PhaseDetect, PhaseElect, PhaseLoad, PhasePush, PhaseFirstAdmin, PhaseTotal, PhaseRest}},
		{"propagation", MetricPropagation, []string{PhaseFirst, PhaseMedian, PhaseLast, PhaseAcked, PhaseService}},
		{"propagation", MetricDivergence, []string{PhaseViews}},
		{"propagation", MetricDisagreement, []string{PhaseBrokers, PhaseMost}},
		{"delete-topics", MetricDeletion, []string{PhaseRate}},
		{"create-partitions", MetricEnlargement, []string{PhaseRate}},
		{"preferred-election", MetricElection, []string{PhaseAcked, PhaseServed}},
		{"reassign", MetricReassignment, []string{PhaseAcked, PhaseServed}},
		{"rolling-restart", MetricRolling, []string{PhaseTotal, PhaseBrokerRestart, PhaseLost}},
		{"rolling-restart", MetricUnavailability, []string{PhasePartition}},
		{"isr-churn", MetricISR, []string{PhaseShrunk, PhaseExpanded}},
		{"broker-join", MetricJoin, []string{PhaseRegistered, PhaseCaughtUp, PhaseInSync}},
		{"leader-seek", MetricSeek, []string{PhaseFound}},
		{"leader-seek", MetricFailedTries, []string{PhaseAll, PhaseStale, PhaseNoLeader, PhaseUnanswered, PhaseTimedOut}},
		{"leader-seek", MetricUnavailability, []string{PhasePartition}},
		{"quorum-change", MetricQuorum, []string{PhaseRemoved, PhaseAdded}},
		{"reconcile", MetricReconcile, []string{PhaseFound, PhaseAgreed, PhaseRest}},
		{"reconcile", MetricTraffic, []string{PhaseMessages, PhaseBytes, PhaseRoundTrips}},
		{"removed-voter", MetricRemovedVoter, []string{PhaseStall, PhaseSettled}},
		{"removed-voter", MetricDisturbance, []string{PhaseElections, PhaseEpochs, PhaseCampaigns}},
		{"data-interference", MetricInterference, []string{PhaseQuiet, PhaseLoaded, PhaseProduce}},
		{"mixed", MetricMixed, []string{PhaseAll, changeCreate, changeConfig, changeLeader}},
		{"mixed", MetricDivergence, []string{PhaseViews}},
		{"mixed", MetricDisagreement, []string{PhaseBrokers, PhaseMost}},
		{"max-rate", MetricSustained, []string{PhaseRate}},
	} {
		for _, phase := range m.phases {
			if !results.Measures(m.kind, m.metric+"."+phase) {
				t.Errorf("results does not know %s.%s of %s", m.metric, phase, m.kind)
			}
		}
	}
}
