package curve

import (
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// ladders is how many are simulated for each truth. Raise it to look closer:
// go test -run Coverage -v -ladders 5000.
var ladders = flag.Int("ladders", 200, "simulated ladders for each truth")

// truth is a known curve.
type truth struct {
	name  string
	value func(x float64) float64
	model Model
}

var truths = []truth{
	{"constant", func(float64) float64 { return 2.05e9 }, Constant},
	{"linear", func(x float64) float64 { return 2e9 + 90e3*x }, Linear},
	{"proportional", func(x float64) float64 { return 5e6 + 80e3*x }, Linear},
	{"power 1.5", func(x float64) float64 { return 2e9 + 400*math.Pow(x, 1.5) }, Power},
	{"power 0.6", func(x float64) float64 { return 1e8 + 2e6*math.Pow(x, 0.6) }, Power},
	{"knee", func(x float64) float64 { return 2e9 + 150e3*max(0, x-15e3) }, Knee},
	{"two slopes", func(x float64) float64 { return 3e8 + 100e3*x + 500e3*max(0, x-20e3) }, TwoSlopes},
}

// simulator draws ladders: each rung has an effect of its own and trials that
// scatter; the median of the trials is the point.
type simulator struct {
	rng           *rand.Rand
	rung, trial   float64 // standard deviations of logarithms
	trials, rungs int
}

// median is what the trials at a size with a true value show.
func (s *simulator) median(value float64) (y, variance float64) {
	logs := make([]float64, s.trials)
	at := math.Log(value) + s.rung*s.rng.NormFloat64()
	var mean, squares float64
	for i := range logs {
		logs[i] = at + s.trial*s.rng.NormFloat64()
		mean += logs[i] / float64(len(logs))
	}
	for _, l := range logs {
		squares += (l - mean) * (l - mean)
	}
	return math.Exp(middle(logs)), 1.35 * squares / float64((s.trials-1)*s.trials)
}

var sizes = []float64{1e3, 2e3, 5e3, 10e3, 20e3, 50e3, 100e3, 200e3}

// ladder makes a simulator and a ladder of 6 to 8 rungs up to 200k.
func ladder(tr truth, seed, n uint64) (*simulator, []Point) {
	s := &simulator{rng: rand.New(rand.NewPCG(seed, n))}
	s.trial = 0.05 + 0.05*s.rng.Float64()
	s.rung = 0.02 + 0.02*s.rng.Float64()
	s.trials = 3 + s.rng.IntN(3)
	s.rungs = 6 + s.rng.IntN(3)
	var points []Point
	var pooled float64
	for _, x := range sizes[len(sizes)-s.rungs:] {
		y, v := s.median(tr.value(x))
		pooled += v / float64(s.rungs)
		points = append(points, Point{X: x, Y: y})
	}
	for i := range points {
		points[i].Var = pooled
	}
	return s, points
}

// tally counts how often each kind of interval holds the truth.
type tally map[string]int

func (t tally) add(what string, iv Interval, v float64) {
	if iv.Contains(v) {
		t[what]++
	}
}

// TestCoverage holds the 95 % intervals against ladders of every truth: of a
// new measurement and of the curve, inside the ladder and at twice its largest
// size, and of the size at which the curve crosses a bound. Each must hold in
// 90 to 99 of 100 ladders.
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: hundreds of simulated runs, which share nothing")
	}
	for i, tr := range truths {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			held, right, near := tally{}, 0, 0
			for n := range *ladders {
				s, points := ladder(tr, uint64(i), uint64(n))
				f, err := New(points)
				if err != nil {
					t.Fatal(err)
				}
				if f.Chosen == tr.model {
					right++
				}
				top := points[len(points)-1].X
				inside := top * (0.15 + 0.6*s.rng.Float64())
				for _, at := range []struct {
					where string
					x     float64
				}{{"inside", inside}, {"at twice the top", 2 * top}} {
					e, truly := f.At(at.x), tr.value(at.x)
					y, _ := s.median(truly)
					held.add("measurement "+at.where, e.Next, y)
					held.add("curve "+at.where, e.Curve, truly)
					if tr.model != Constant {
						held.add("crossing "+at.where, f.Crossing(truly).Interval, at.x)
					}
				}
				if math.Abs(f.At(2*top).Value/tr.value(2*top)-1) < 0.15 {
					near++
				}
			}
			for _, what := range slices.Sorted(maps.Keys(held)) {
				share := float64(held[what]) / float64(*ladders)
				t.Logf("%-29s %.1f %%", what, share*100)
				if share < 0.9 || share > 0.99 {
					t.Errorf("the 95 %% interval of the %s holds in %.1f %% of %d ladders", what, share*100, *ladders)
				}
			}
			t.Logf("the true model is chosen in %d of %d; the value at twice the top is within 15 %% in %d", right, *ladders, near)
			if near < *ladders*85/100 {
				t.Errorf("the value at twice the top is within 15 %% in %d of %d ladders only", near, *ladders)
			}
		})
	}
}
