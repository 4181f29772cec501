package curve

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

var ladders = flag.Int("ladders", 250, "simulated ladders for each truth")

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
	{"two slopes", func(x float64) float64 { return 1e9 + 20e3*x + 130e3*max(0, x-20e3) }, TwoSlopes},
}

// simulate draws a ladder: each rung has an effect of its own and trials that
// scatter; the median of the trials is the point.
type simulator struct {
	rng           *rand.Rand
	rung, trial   float64 // standard deviations of logarithms
	trials, rungs int
}

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

// TestCoverage: what the 95 % intervals hold of, on ladders of every truth.
func TestCoverage(t *testing.T) {
	for i, tr := range truths {
		var chose int
		count := map[string]float64{}
		total := 0.0
		var width []float64
		for n := range *ladders {
			s := &simulator{rng: rand.New(rand.NewPCG(uint64(i), uint64(n)))}
			s.trial = 0.05 + 0.05*s.rng.Float64()
			s.rung = 0.02 + 0.02*s.rng.Float64()
			s.trials = 3 + s.rng.IntN(3)
			s.rungs = 6 + s.rng.IntN(3)
			var points []Point
			var pooled float64
			for _, x := range sizes[len(sizes)-s.rungs:] {
				y, v := s.median(tr.value(x))
				pooled += v / float64(s.rungs)
				points = append(points, Point{x, y, v})
			}
			for i := range points {
				points[i].Var = pooled
			}
			f, err := New(points)
			if err != nil {
				t.Fatal(err)
			}
			total++
			if f.Chosen == tr.model {
				chose++
			}
			tally := func(what string, iv Interval, v float64) {
				if iv.Contains(v) {
					count[what]++
				}
			}
			top := points[len(points)-1].X
			inside := top * (0.15 + 0.6*s.rng.Float64())
			y, _ := s.median(tr.value(inside))
			e := f.At(inside)
			tally("inside", e.Next, y)
			tally("inside curve", e.Curve, tr.value(inside))
			y, _ = s.median(tr.value(2 * top))
			e = f.At(2 * top)
			tally("x2", e.Next, y)
			tally("x2 curve", e.Curve, tr.value(2*top))
			width = append(width, e.Next.Hi/e.Next.Lo)
			if math.Abs(e.Value/tr.value(2*top)-1) < .15 {
				count["x2 within 15"]++
			}
			if tr.model != Constant {
				c := f.Crossing(tr.value(inside))
				tally("capacity", c.Interval, inside)
				c = f.Crossing(tr.value(2 * top))
				tally("capacity x2", c.Interval, 2*top)
			}
		}
		t.Logf("%-12s chosen right %.0f %%, width x2 %.2f", tr.name, float64(chose)/total*100, middle(width))
		for _, k := range []string{"inside", "inside curve", "x2", "x2 curve", "capacity", "capacity x2", "x2 within 15"} {
			t.Logf("      %-14s %.1f", k, count[k]/total*100)
		}
	}
}
