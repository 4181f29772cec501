package simulated

import (
	"testing"
)

// TestIntervalOfMedianHoldsTheTruth plants what a cluster differs from the next
// by and what values within a trial differ by, 5 % each, with 100 values a
// trial. Taken for independent, such values gave an interval of 95 % that held
// the true median in one run of four.
func TestIntervalOfMedianHoldsTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: hundreds of simulated runs, which share nothing")
	}
	for _, repeats := range []int{1, 5, 6, 9, 14} {
		runs := 200
		if repeats < 6 {
			runs = 10
		}
		held, shown := 0, 0
		for seed := range uint64(runs) {
			r, err := New(Truth{
				Targets: []string{"zk"}, Partitions: []int{1000}, Metrics: []string{"propagation.last"}, Trials: 1, Repeats: repeats,
				PerTrial: 100, Seed: seed, Noise: &Noise{Sigma: 0.05}, Value: func(Point) float64 { return 1e7 },
			})
			if err != nil {
				t.Fatal(err)
			}
			f := figures(t, r)[0]
			if f.N != int64(100*repeats) || f.Repeats != repeats || !f.Histogram {
				t.Fatalf("n %d of %d repeats, want %d of %d", f.N, f.Repeats, 100*repeats, repeats)
			}
			if f.MedianLo == nil {
				continue
			}
			shown++
			if *f.MedianLo <= 1e7 && 1e7 <= *f.MedianHi {
				held++
			}
		}
		switch {
		case repeats < 6 && shown > 0:
			t.Errorf("%d repeats: an interval in %d of %d runs; fewer than six medians bound nothing", repeats, shown, runs)
		case repeats >= 6 && (shown < runs || float64(held) < 0.93*float64(runs)):
			t.Errorf("%d repeats: %d of %d runs have an interval and %d of these hold the truth; want 95 %%", repeats, shown, runs, held)
		}
		t.Logf("%d repeats: %d intervals of %d runs, %d hold the truth", repeats, shown, runs, held)
	}
}
