package workloads

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kbench/internal/nodeconfig"
)

// The operations that are due by a time are the integral of the rate.
func TestRampPacer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.Float64Range(0.5, 5000).Draw(t, "from"), rapid.Float64Range(0.5, 5000).Draw(t, "to")
		within := time.Duration(rapid.IntRange(1, 60_000).Draw(t, "within")) * time.Millisecond
		r, err := NewRamp(from, to, within)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Duration(rapid.Float64Range(0, 1.5).Draw(t, "at") * float64(within))
		s, w := at.Seconds(), within.Seconds()
		want := from*s + (to-from)*s*s/(2*w)
		if s > w {
			want = (from+to)/2*w + to*(s-w)
		}
		if want > 50_000 {
			t.Skip("too many to count")
		}
		if got := float64(due(r, at)); math.Abs(got-want) > 1.001+want*1e-9 {
			t.Fatalf("%v due within %v of a ramp from %v to %v within %v, want %v", got, at, from, to, within, want)
		}
		if got := take(r, 100); !slices.IsSorted(got) || got[0] != 0 {
			t.Fatalf("offsets %v", got)
		}
	})
}

func TestStepsPacer(t *testing.T) {
	s, err := NewSteps(10, 50, 5, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var got [6]int
	for _, at := range take(s, 200) {
		got[min(int(at/time.Second), 5)]++
	}
	if want := [6]int{10, 20, 30, 40, 50, 50}; got != want {
		t.Errorf("operations of each second %v, want %v", got, want)
	}
	for _, bad := range []error{second(NewSteps(10, 50, 1, time.Second)), second(NewSteps(0, 50, 2, time.Second)), second(NewRamp(1, 2, 0)), second(NewRamp(1, math.NaN(), 1))} {
		if bad == nil {
			t.Error("a bad pacer was made")
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestArrivals(t *testing.T) {
	w, err := Lookup("propagation")
	if err != nil {
		t.Fatal(err)
	}
	for arrival, n := range map[string]int{"": 100, "constant": 100, "ramp": 200, "steps": 200} {
		p := Params{Arrival: arrival, Rate: 10, Duration: 10 * time.Second}
		if n == 200 {
			p.RateTo = 30
		}
		p, err := w.Resolve(p)
		if err != nil {
			t.Fatal(err)
		}
		pacer, err := p.arrivals(1)
		if err != nil {
			t.Fatal(err)
		}
		if got := due(pacer, p.Duration); got < n-1 || got > n+1 {
			t.Errorf("%q: %d operations, want %d", arrival, got, n)
		}
	}
	for want, p := range map[string]Params{
		"without rateTo": {Arrival: "ramp"}, "whose rate stays": {RateTo: 5}, "none of constant": {Arrival: "bursts"},
		"steps with arrival": {Steps: 3},
	} {
		if _, err := w.Resolve(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestWeights(t *testing.T) {
	w, err := parseWeights(" create=1, leader = 3 ")
	if err != nil {
		t.Fatal(err)
	}
	got := w.draws(4000, 7)
	if !slices.Equal(got, w.draws(4000, 7)) || slices.Equal(got, w.draws(4000, 8)) {
		t.Error("what is drawn does not follow the seed")
	}
	creates := 0
	for _, kind := range got {
		if kind == changeCreate {
			creates++
		}
	}
	if creates < 850 || creates > 1150 {
		t.Errorf("%d of 4000 are creations, want about 1000", creates)
	}
	for want, text := range map[string]string{
		"unknown operation": "fly=1", "two shares": "create=1, create=2", "share 0": "create=0", "no operation and its share": "create",
	} {
		if _, err := parseWeights(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The search finds the rate that a cluster sustains, whatever that is and
// wherever it begins, to the stated 10 %.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity, first := rapid.Float64Range(2, 3000).Draw(t, "capacity"), rapid.Float64Range(1, 100).Draw(t, "first")
		steps := 0
		low, high, err := search(first, func(rate float64) (bool, error) {
			steps++
			return rate <= capacity, nil
		})
		switch {
		case err != nil || steps > maxDoublings+maxBisections:
			t.Fatalf("%d steps, %v", steps, err)
		case low == 0: // far below where it began
			if first/64 < capacity/2 {
				t.Fatalf("nothing found from %v for %v", first, capacity)
			}
		case low > capacity || high != 0 && high <= capacity:
			t.Fatalf("found %v to %v of %v", low, high, capacity)
		case high > low*searchedWithin:
			t.Fatalf("found %v to %v, not within 10 %%", low, high)
		}
	})
	broken := errors.New("broken")
	if _, _, err := search(1, func(float64) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestSustains(t *testing.T) {
	lasts := make([]int64, 100)
	for i := range lasts {
		lasts[i] = int64(i+1) * int64(time.Millisecond)
	}
	for name, c := range map[string]struct {
		out   Trial
		limit time.Duration
		want  bool
	}{
		"99 of 100": {Trial{Valid: true}, 99 * time.Millisecond, true},
		"98 of 100": {Trial{Valid: true}, 98 * time.Millisecond, false},
		"not all":   {Trial{Valid: false, Reason: "dropped"}, time.Hour, false},
	} {
		if got, why, err := sustains(c.out, lasts, c.limit); got != c.want || err != nil {
			t.Errorf("%s: %v, %s, %v", name, got, why, err)
		}
	}
}

// Changes of every kind take as long as was injected, and the views of the
// brokers disagree for as long as one is behind.
func TestChangesMeasureWhatWasInjected(t *testing.T) {
	for _, how := range []string{changeConfig, changeLeader} {
		t.Run(how, func(t *testing.T) {
			measured(t, func(t *attempted) {
				c := newFakeCluster(t.T, nodeconfig.ModeKRaft, 3, 30)
				c.admin = 40 * time.Millisecond
				c.behind(200 * time.Millisecond)
				rec := mustRun(t, c, "propagation", Params{How: how, Rate: 20, Duration: 500 * time.Millisecond})
				if len(t.slow) > 0 {
					return
				}
				acked := c.admin
				if how == changeLeader { // elections are true at once here
					acked = 0
				}
				for phase, want := range map[string]time.Duration{
					"propagation.acked": acked, "propagation.first": acked, "propagation.last": acked + 200*time.Millisecond,
				} {
					got := slices.Sorted(slices.Values(rec.values[phase]))
					if len(got) != 10 {
						t.Fatalf("%s: %d samples of 10 changes", phase, len(got))
					}
					near(t, phase, time.Duration(got[0]), want)
				}
				// A machine that stands still sees the brokers agree.
				views := slices.Sorted(slices.Values(rec.values["divergence.views"]))
				behind, most := number(t, rec.trials[0], MetricDisagreement, PhaseBrokers), number(t, rec.trials[0], MetricDisagreement, PhaseMost)
				if len(views) != 10 || time.Duration(views[9]) < 80*time.Millisecond || behind < 0.5 || behind > 1 || most != 1 {
					t.slow = append(t.slow, fmt.Sprintf("views disagreed for %v, values %+v", views, rec.trials[0].Values))
				}
			})
		})
	}
}

func TestMixedCountsEachKind(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeCluster(t.T, nodeconfig.ModeZK, 3, 30)
		c.controller[0].v = 1001
		rec := mustRun(t, c, "mixed", Params{Weights: "create=1, config=1, leader=1", Rate: 50, Duration: time.Second})
		if len(t.slow) > 0 {
			return
		}
		sum := 0
		total := map[string]int64{".sent": 0, ".late": 0, ".dropped": 0, ".acked": 0, ".served": 0, ".failed": 0, ".lost": 0}
		for _, kind := range []string{changeCreate, changeConfig, changeLeader} {
			n := len(rec.values["mixed."+kind])
			if int64(n) != countOf(rec.trials[0], kind+".served") || n == 0 {
				t.Errorf("%d values of %s, counts %+v", n, kind, rec.trials[0].Counts)
			}
			for _, what := range []string{".sent", ".acked"} {
				if got := countOf(rec.trials[0], kind+what); got != int64(n) {
					t.Errorf("%d %s%s of %d", got, kind, what, n)
				}
			}
			for what := range total {
				total[what] += countOf(rec.trials[0], kind+what)
			}
			sum += n
		}
		if sum != 50 || len(rec.values["mixed.all"]) != 50 || len(rec.values["divergence.views"]) != 50 {
			t.Errorf("%d changes of 50", sum)
		}
		for what, n := range total {
			if got := countOf(rec.trials[0], "change"+what); got != n {
				t.Errorf("change%s is %d, and its kinds have %d", what, got, n)
			}
		}
	})
}

// A cluster that makes one change at a time sustains no more than come one after
// the other.
func TestMaxRateFindsWhatWasInjected(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeCluster(t.T, nodeconfig.ModeKRaft, 3, 30)
		c.admin, c.serial = 10*time.Millisecond, true // 100/s
		rec := mustRun(t, c, "max-rate", Params{How: changeConfig, Rate: 30, Duration: time.Second, Limit: 150 * time.Millisecond})
		if len(rec.trials) == 0 || !rec.trials[0].Valid {
			t.slow = append(t.slow, fmt.Sprintf("%+v", rec.trials))
			return
		}
		rate := number(t, rec.trials[0], MetricSustained, PhaseRate)
		// A second of 110/s has 10 changes too many, and the last waits 100 ms.
		if rate > 120 {
			t.Errorf("%.0f changes/s of 100 are sustained", rate)
		}
		if rate < 60 {
			t.slow = append(t.slow, fmt.Sprintf("%.0f changes/s of 100", rate))
		}
	})
}

// Changes take as long as was injected, alone and beside records, each of which
// is counted.
func TestInterferenceHasBothHalves(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeCluster(t.T, nodeconfig.ModeKRaft, 3, 30)
		c.admin = 40 * time.Millisecond
		rec := mustRun(t, c, "data-interference", Params{
			How: changeConfig, Rate: 10, Duration: 3 * time.Second, ProduceRate: 100, ProduceBytes: 10, Producer: producerPlain, ProbePartitions: 8,
		})
		if len(t.slow) > 0 {
			return
		}
		for _, half := range []string{"interference.quiet", "interference.loaded"} {
			got := slices.Sorted(slices.Values(rec.values[half]))
			if len(got) != 15 {
				t.Fatalf("%s: %d changes of 15", half, len(got))
			}
			near(t, half, time.Duration(got[0]), c.admin)
		}
		acked := countOf(rec.trials[0], "batch.acked")
		if got := int64(len(rec.values["interference.produce"])); got != acked || acked < 30 {
			t.Errorf("%d values of %d batches", got, acked)
		}
	})
}
