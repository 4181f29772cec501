package workloads

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
)

// TestAbsentBrokers: a change is served when every live broker serves it. One
// that a fault took away is not waited for until it is back and serves one.
func TestAbsentBrokers(t *testing.T) {
	var taken []string
	source := &overs{}
	s := &spread{
		trialRun: &trialRun{run: &run{}}, source: source, nodes: []Node{{ID: 1}, {ID: 2}, {ID: 3}},
		finished: func(c *change) { taken = append(taken, c.subject) },
		open:     map[string]*change{}, pending: map[kafka.BrokerID][]string{},
		absent: absent{gone: map[kafka.BrokerID]bool{}, asked: map[kafka.BrokerID]string{}},
	}
	live := func(ids ...kafka.BrokerID) {
		m := map[kafka.BrokerID]bool{}
		for _, id := range ids {
			m[id] = true
		}
		s.present(m)
	}
	serve := func(subject string, by ...kafka.BrokerID) {
		for _, id := range by {
			s.told(id, subject, true, trace.Now())
		}
	}
	open := func(subject string) { s.acked(s.opened(op{}, subject, false)) }
	want := func(step string, wantTaken, wantOver string, asked ...string) {
		t.Helper()
		if got := strings.Join(taken, " "); got != wantTaken {
			t.Errorf("%s: %q are served, want %q", step, got, wantTaken)
		}
		if got := strings.Join(source.gone, " "); got != wantOver {
			t.Errorf("%s: %q are over, want %q", step, got, wantOver)
		}
		if !slices.Equal(s.pending[3], asked) {
			t.Errorf("%s: broker 3 is asked for %v, want %v", step, s.pending[3], asked)
		}
	}
	open("a")
	live(1, 2, 3)
	serve("a", 1, 2)
	want("all are live", "", "", "a")
	live(1, 2)
	want("3 is taken away", "a", "a")
	open("b")
	serve("b", 1, 2)
	want("3 is away", "a b", "a b")
	live(1, 2, 3)
	open("c")
	open("d")
	serve("c", 1, 2)
	serve("d", 1, 2)
	want("3 is back, and is asked about the first change since", "a b c d", "a b d", "c")
	if !s.settled() {
		t.Error("a change waits for a broker that is not live yet")
	}
	live(1, 2)
	want("3 is taken away again", "a b c d", "a b d c")
	live(1, 2, 3)
	open("e")
	serve("e", 1, 2, 3)
	open("f")
	serve("f", 1, 2)
	want("3 serves again", "a b c d e", "a b d c e", "f")
	serve("f", 3)
	live()
	open("g")
	want("nobody is live", "a b c d e f", "a b d c e f")
	if s.settled() {
		t.Error("a change that nobody serves is served")
	}
}

// overs is a changer that notes what is over.
type overs struct {
	changer
	gone []string
}

func (o *overs) over(subject string) { o.gone = append(o.gone, subject) }

// killer makes a fault by killing a broker of a fake cluster.
type killer struct {
	c *fakeCluster
	n kafka.BrokerID
}

func (k killer) Begin(ctx context.Context, _ TimedFault) (Standing, error) {
	ns, err := k.c.Inject(ctx, k.n, FaultKill)
	if err == nil {
		_, _, err = k.c.Exited(ctx, k.n)
	}
	return Standing{Node: k.n, SentNs: ns, BitNs: trace.Now(), End: func(ctx context.Context) (int64, int64, error) {
		ns, err := k.c.Inject(ctx, k.n, FaultStart)
		return ns, trace.Now(), err
	}}, err
}

// TestConfigChangesBesideADeadBroker: topics whose configuration changes are
// given back while a broker is down, so that there are enough of them, and what
// the others serve is measured.
func TestConfigChangesBesideADeadBroker(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeCluster(t.T, nodeconfig.ModeKRaft, 3, 30)
		rec := &memory{}
		w, err := Lookup("propagation")
		if err != nil {
			t.Fatal(err)
		}
		err = w.Run(t.Context(), Env{
			Cluster: c, Recorder: rec, Seed: 7, Label: "test", Injector: killer{c, 2},
			Params: Params{How: changeConfig, Rate: 100, Duration: 3 * time.Second},
			Faults: []TimedFault{{Fault: FaultKill, On: []string{"broker-2"}, At: 500 * time.Millisecond, For: 1500 * time.Millisecond}},
		})
		if err != nil {
			t.Fatal(err)
		}
		trial := rec.trials[len(rec.trials)-1]
		if strings.Contains(trial.Reason, "slipped") {
			t.slow = append(t.slow, trial.Reason)
			return
		}
		sent, served := countOf(trial, "change.sent"), countOf(trial, "change.served")
		if !trial.Valid || sent != 300 || served != sent-countOf(trial, "change.failed") || served < 290 {
			t.Errorf("valid %t: %s; %d of %d changes served: %+v", trial.Valid, trial.Reason, served, sent, trial.Counts)
		}
		if all, two := len(rec.values["propagation.last"]), len(rec.values["propagation.broker.2"]); two >= all-100 || two < all/4 {
			t.Errorf("broker 2, which was away for half of the load, has %d of %d samples", two, all)
		}
		for _, ns := range rec.values["propagation.last"] {
			if ns > int64(time.Second) {
				t.Errorf("a change waited %v for a broker that was away", time.Duration(ns))
			}
		}
	})
}
