package workloads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
)

// fakeInjector makes faults that say when they begin and end.
type fakeInjector struct {
	bite, heal error

	mu                sync.Mutex
	begunNs, undoneNs []int64
}

func (f *fakeInjector) Begin(_ context.Context, _ TimedFault) (Standing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := trace.Now()
	f.begunNs = append(f.begunNs, now)
	if f.bite != nil {
		return Standing{}, f.bite
	}
	return Standing{Node: 2, Names: []string{"broker-2"}, SentNs: now, BitNs: now + 1, End: f.end}, nil
}

func (f *fakeInjector) end(context.Context) (undoneNs, healedNs int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := trace.Now()
	f.undoneNs = append(f.undoneNs, now)
	return now, now + 1, f.heal
}

// A fault of the timeline comes at its time beside the load and ends at its own,
// each told with what it met; one that does not bite or heal makes the trial
// invalid, and so does a cluster that takes none.
func TestLoadPlaysItsFaults(t *testing.T) {
	fault := TimedFault{Fault: FaultDelay, On: []string{"broker-2"}, At: 200 * time.Millisecond, For: 300 * time.Millisecond, Delay: time.Millisecond}
	for name, tc := range map[string]struct {
		injector    *fakeInjector
		due         time.Duration // other than the fault's
		bit, healed int64
		reason      string
	}{
		"bites and heals":   {&fakeInjector{}, 0, 1, 1, ""},
		"does not bite":     {&fakeInjector{bite: errors.New("no link was slower")}, 0, 0, 0, "no link was slower"},
		"does not heal":     {&fakeInjector{heal: errors.New("links stay slow")}, 0, 1, 0, "undo it: links stay slow"},
		"nobody makes them": {nil, 0, 0, 0, "takes no timed faults"},
		"is made late":      {&fakeInjector{}, -maxFaultLate - time.Second, 1, 1, "made 6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault := fault
			if tc.due != 0 {
				fault.At = tc.due
			}
			w, err := Lookup("propagation")
			if err != nil {
				t.Fatal(err)
			}
			rec := &memory{}
			env := Env{
				Cluster: newFakeCluster(t, nodeconfig.ModeKRaft, 3, 30), Recorder: rec, Seed: 7, Label: "test",
				Params: Params{How: changeCreate, Rate: 20, Duration: time.Second}, Faults: []TimedFault{fault},
			}
			if tc.injector != nil {
				env.Injector = tc.injector
			}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			if err := w.Run(ctx, env); err != nil {
				t.Fatal(err)
			}
			trial := rec.trials[len(rec.trials)-1]
			if strings.Contains(trial.Reason, "slipped") {
				t.Skipf("SKIPPED: this machine is busy: %s", trial.Reason)
			}
			if trial.Valid != (tc.reason == "") || !strings.Contains(trial.Reason, tc.reason) {
				t.Errorf("valid %t: %q, want %q", trial.Valid, trial.Reason, tc.reason)
			}
			if bit, healed := countOf(trial, "faults.bit"), countOf(trial, "faults.healed"); bit != tc.bit || healed != tc.healed {
				t.Errorf("%d bit and %d healed, want %d and %d", bit, healed, tc.bit, tc.healed)
			}
			var told []string
			for _, e := range rec.events {
				switch e.Kind {
				case EventFault, EventHealed, EventRestored:
					told = append(told, fmt.Sprintf("%s %d %s", e.Kind, e.Node, e.Detail))
				}
			}
			how := "delay of 1ms on broker-2 (broker-2)"
			want := []string{"fault 2 " + how, "healed 2 end of " + how, "restored 2 end of " + how}
			if want = want[:tc.bit+2*tc.healed]; strings.Join(told, "; ") != strings.Join(want, "; ") {
				t.Errorf("told: %q, want %q", told, want)
			}
			if tc.injector == nil {
				return
			}
			for _, at := range tc.injector.begunNs {
				if after := time.Duration(at - trial.StartNs); after < fault.At {
					t.Errorf("made %v after the load's start, not %v", after, fault.At)
				}
			}
			for i, at := range tc.injector.undoneNs {
				if stood := time.Duration(at - tc.injector.begunNs[i]); stood < fault.For {
					t.Errorf("undone after %v, not %v", stood, fault.For)
				}
			}
			if len(tc.injector.begunNs) != 1 || int64(len(tc.injector.undoneNs)) != tc.bit {
				t.Errorf("made %d times, undone %d times", len(tc.injector.begunNs), len(tc.injector.undoneNs))
			}
		})
	}
}
