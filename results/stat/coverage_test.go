package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCoverage measures how often intervals hold the truth, on samples as
// skewed as latencies are. The seeds are fixed: the numbers are the same in
// every run. Bounds leave three standard errors to the level.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	covers := func(what string, n, rounds int, least float64, hold func() bool) {
		held := 0
		for range rounds {
			if hold() {
				held++
			}
		}
		got := float64(held) / float64(rounds)
		t.Logf("%s, n = %d: %.3f", what, n, got)
		if got < least-3*math.Sqrt(least*(1-least)/float64(rounds)) {
			t.Errorf("%s of %d values covers %v, want %v", what, n, got, least)
		}
	}
	pairs := func(n int) (a, b []float64) {
		a, b = lognormal(rng, n, 0.5), lognormal(rng, n, 0.2)
		for i := range b {
			b[i] *= a[i] * 1.3
		}
		return a, b
	}
	for _, n := range []int{6, 10, 31} {
		covers("median", n, 2000, 0.95, func() bool {
			iv, ok := MedianInterval(lognormal(rng, n, 1), 0.95)
			return ok && iv.Contains(1)
		})
		covers("shift", n, 2000, 0.95, func() bool {
			_, iv, ok := ShiftRatio(lognormal(rng, n, 1), lognormal(rng, n, 1), 0.95)
			return ok && iv.Contains(1)
		})
		covers("Walsh", n, 2000, 0.95, func() bool {
			d := make([]float64, n)
			for i := range d {
				d[i] = rng.NormFloat64()
			}
			_, iv, ok := Walsh(d, 0.95)
			return ok && iv.Contains(0)
		})
	}
	// The bootstrap is approximate where there are few values.
	for _, n := range []int{ratioNeeds, 10} {
		covers("bootstrap of the ratio", n, 400, 0.93, func() bool {
			_, iv, ok := RatioInterval(lognormal(rng, n, 0.5), lognormal(rng, n, 0.5), 0.95, rng.Uint64())
			return ok && iv.Contains(1)
		})
	}
	for _, n := range []int{pairsNeed, 10} {
		covers("bootstrap of pairs", n, 400, 0.93, func() bool {
			a, b := pairs(n)
			p, err := PairedLogRatio(a, b, 0.95, rng.Uint64())
			return err == nil && p.Interval.Contains(1.3)
		})
	}
	covers("bound of p95", 59, 2000, 0.95, func() bool {
		v := make([]float64, 59)
		for i := range v {
			v[i] = rng.ExpFloat64()
		}
		bound, ok := QuantileUpper(v, 0.95, 0.95)
		return ok && bound >= -math.Log(0.05)
	})
}

// logRatios are of pairs that share the state of the machine.
func logRatios(rng *rand.Rand, n int, effect, sd float64) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = math.Log1p(effect) + sd*rng.NormFloat64()
	}
	return d
}

// TestErrors measures both errors of the paired test: alarms without a change
// and changes that it misses.
func TestErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	const rounds = 4000
	found := func(effect, sd float64, n int) float64 {
		hits := 0
		for range rounds {
			p, err := SignedRank(logRatios(rng, n, effect, sd))
			if err != nil {
				t.Fatal(err)
			}
			if p <= Alpha {
				hits++
			}
		}
		return float64(hits) / rounds
	}
	for _, n := range []int{6, 10, 25, 26, 60} {
		if got := found(0, 0.07, n); got > 0.06 {
			t.Errorf("%d pairs without a change: %v are significant", n, got)
		}
	}
	// 5 % noise on each side, 10 % effect.
	if got := found(0.10, 0.05*math.Sqrt2, 10); got < 0.95 {
		t.Errorf("a change of 10 %% in ten pairs with 5 %% noise is found in %v", got)
	}
	for _, c := range []struct{ sd, effect float64 }{{0.07, 0.10}, {0.07, 0.05}, {0.2, 0.10}, {0.2, -0.15}, {0.1, 0.2}} {
		n := PairsNeeded(c.sd, c.effect, 0.05, 0.9)
		got := found(c.effect, c.sd, n)
		t.Logf("%v of %v: %d pairs, power %.3f", c.effect, c.sd, n, got)
		if got < 0.885 || n > 8 && got > 0.96 {
			t.Errorf("%d pairs for an effect of %v in %v have power %v, want 0.9", n, c.effect, c.sd, got)
		}
	}
}

func TestPairsNeededRefuses(t *testing.T) {
	nan := math.NaN()
	for _, c := range [][4]float64{{0.1, 0, 0.05, 0.9}, {-1, 0.1, 0.05, 0.9}, {0.1, -1, 0.05, 0.9}, {nan, 0.1, 0.05, 0.9}, {0.1, nan, 0.05, 0.9}, {0.1, 0.1, 0, 0.9}, {0.1, 0.1, 0.05, 1}, {0.1, 1e-12, 0.05, 0.9}} {
		if n := PairsNeeded(c[0], c[1], c[2], c[3]); n != 0 {
			t.Errorf("%v needs %d pairs", c, n)
		}
	}
	if n := PairsNeeded(0, 0.1, 0.05, 0.9); n != 6 {
		t.Errorf("without noise %d pairs, want the 6 with which the test can decide", n)
	}
}
