package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kbench/harness/spec"
	"kbench/results"
)

// planned is the dry run of the built-in spec with other workloads.
func planned(t *testing.T, kinds string, seed, brokers int) string {
	t.Helper()
	s, err := spec.Default(
		spec.Override{Origin: "test", Path: "seed", Value: fmt.Sprint(seed)},
		spec.Override{Origin: "test", Path: "brokers", Value: fmt.Sprint(brokers)},
		spec.Override{Origin: "test", Path: "workloads", Value: kinds, List: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := dryRun(&b, s, place{provider: "process"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSeedsChooseEveryBroker: over twenty seeds the first victim of each kind of
// workload is each broker once at least, and a seed always plans the same bytes.
func TestSeedsChooseEveryBroker(t *testing.T) {
	kinds := []string{"controlled-shutdown", "broker-failure", "rolling-restart", "isr-churn", "leader-seek", "broker-join"}
	first := map[string]map[string]bool{}
	for seed := range 20 {
		text := planned(t, strings.Join(kinds, ","), seed, 5)
		if again := planned(t, strings.Join(kinds, ","), seed, 5); again != text {
			t.Fatalf("seed %d plans two things:\n%s\n%s", seed, text, again)
		}
		for _, kind := range kinds {
			_, rest, ok := strings.Cut(text, "#     "+kind)
			if !ok {
				t.Fatalf("no victims of %s in the plan:\n%s", kind, text)
			}
			_, rest, _ = strings.Cut(rest, "brokers ")
			victim, _, _ := strings.Cut(rest, ",")
			if first[kind] == nil {
				first[kind] = map[string]bool{}
			}
			first[kind][victim] = true
		}
	}
	for kind, seen := range first {
		if len(seen) != 5 {
			t.Errorf("%s: twenty seeds begin with %v", kind, seen)
		}
	}
}

// TestEstimateOfARealRun: a dry run of what the README shows says how long that
// took, within a factor of two.
func TestEstimateOfARealRun(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(readmeRun, "*", "manifest.json"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("%v, %v", folders, err)
	}
	r, err := results.Open(filepath.Dir(folders[0]))
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("the README's run", []byte(r.Manifest.SpecYAML))
	if err != nil {
		t.Fatal(err)
	}
	m := r.Manifest
	estimated := planOf(s).Total
	actual := m.Ended.Sub(m.Started)
	if estimated < actual/2 || estimated > 2*actual {
		t.Errorf("it took %v, estimated %v", actual, estimated)
	}
	m.EstimateNs = int64(estimated)
	if got, want := took(m), fmt.Sprintf("took %s, estimated %s\n", actual.Round(time.Second), estimated.Round(time.Second)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEstimateKnowsTheKinds: what repeats its load, or takes every broker away,
// is estimated as such.
func TestEstimateKnowsTheKinds(t *testing.T) {
	took := func(workload string, brokers int) float64 {
		s, err := spec.Parse("test", fmt.Appendf(nil, "name: t\ntargets: [kraft]\ncluster: {brokers: %d, partitions: 1k}\nworkloads:\n  - %s\n", brokers, workload))
		if err != nil {
			t.Fatal(err)
		}
		return estimateCell(s.Cells()[0]).Seconds()
	}
	for _, c := range []struct {
		less, more string
		brokers    int // of the second, 3 of the first
		by         float64
	}{
		{"{kind: leader-seek, duration: 10s, trials: 1}", "{kind: leader-seek, duration: 10s, trials: 3}", 3, 20},
		{"{kind: max-rate, duration: 1s}", "{kind: max-rate, duration: 6s}", 3, 50},
		{"{kind: isr-churn, away: 10s}", "{kind: isr-churn, away: 20s}", 3, 30},
		{"{kind: rolling-restart}", "{kind: rolling-restart}", 9, 18},
		{"{kind: create-topics, partitions: 1k}", "{kind: create-topics, partitions: 101k}", 3, 20},
	} {
		if less, more := took(c.less, 3), took(c.more, c.brokers); more < less+c.by {
			t.Errorf("%s takes %.0f s, %s with %d brokers %.0f s, want %.0f more", c.less, less, c.more, c.brokers, more, c.by)
		}
	}
}
