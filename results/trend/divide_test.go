package trend

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
)

type golden struct {
	Name         string
	Window       int
	MaxP         float64
	MinMagnitude float64
	Values       []float64
	Changes      []struct {
		Index             int
		P                 *float64 // null is NaN
		Before, After     float64
		SDBefore, SDAfter float64
		Magnitude         float64
	}
}

func (g golden) params() Params {
	return Params{Window: g.Window, MaxP: g.MaxP, MinMagnitude: g.MinMagnitude}
}

func goldens(t testing.TB) []golden {
	t.Helper()
	b, err := os.ReadFile("testdata/otava.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []golden
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("only %d series", len(out))
	}
	return out
}

// TestOtava: indices are Otava's exactly, probabilities within 1e-9 of
// themselves, means, spreads and magnitudes within 1e-12.
func TestOtava(t *testing.T) {
	points := 0
	for _, g := range goldens(t) {
		t.Run(g.Name, func(t *testing.T) {
			got, err := Divide(g.Values, g.params())
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(g.Changes) {
				t.Fatalf("change points %+v, want %+v", got, g.Changes)
			}
			for i, want := range g.Changes {
				p := math.NaN()
				if want.P != nil {
					p = *want.P
				}
				points++
				c := got[i]
				if c.Index != want.Index {
					t.Errorf("point %d at %d, want %d", i, c.Index, want.Index)
				}
				if !near(c.P, p, 1e-9) {
					t.Errorf("point %d has p %v, want %v", i, c.P, p)
				}
				for name, pair := range map[string][2]float64{
					"before": {c.Before, want.Before}, "after": {c.After, want.After},
					"sd before": {c.SDBefore, want.SDBefore}, "sd after": {c.SDAfter, want.SDAfter},
					"magnitude": {c.Magnitude, want.Magnitude},
				} {
					if !near(pair[0], pair[1], 1e-12) {
						t.Errorf("point %d: %s %v, want %v", i, name, pair[0], pair[1])
					}
				}
			}
		})
	}
	if points < 500 {
		t.Errorf("only %d change points compared", points)
	}
}

func near(a, b, relative float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= relative*math.Abs(b)
}

// TestDivergence compares the running sums with the definition.
func TestDivergence(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		v := make([]float64, 2+rng.IntN(14))
		for i := range v {
			v[i] = rng.NormFloat64() + float64(3*(i/5))
		}
		start := rng.IntN(len(v) - 1)
		end := start + 2 + rng.IntN(len(v)-start-1)
		tau, q := newDivergence(v).best(start, end)
		wantTau, wantQ := bestByDefinition(v, start, end)
		if tau != wantTau || !near(q, wantQ, 1e-9) {
			t.Errorf("round %d: best division at %d (%v), want %d (%v)", round, tau, q, wantTau, wantQ)
		}
	}
}

func bestByDefinition(v []float64, start, end int) (tau int, best float64) {
	best = math.Inf(-1)
	pairs := func(a []float64) (s float64) {
		for i := range a {
			for _, y := range a[i+1:] {
				s += math.Abs(a[i] - y)
			}
		}
		return s
	}
	for t := start + 1; t < end; t++ {
		for k := t + 1; k <= end; k++ {
			x, y := v[start:t], v[t:k]
			n, m := float64(len(x)), float64(len(y))
			var cross float64
			for _, a := range x {
				for _, b := range y {
					cross += math.Abs(a - b)
				}
			}
			q := 2 / (n + m) * cross
			if n > 1 {
				q -= 2 * m / (n + m) / (n - 1) * pairs(x)
			}
			if m > 1 {
				q -= 2 * n / (n + m) / (m - 1) * pairs(y)
			}
			if q > best+1e-12 {
				tau, best = t, q
			}
		}
	}
	return tau, best
}

// TestBeginnings: a divider that remembers windows gives for every beginning
// of a series what a new one gives.
func TestBeginnings(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Name != "steps 4" && g.Name != "noise with outliers 1 p0.05" && g.Name != "tigerbeetle w30 p0.05 m0.0" {
			continue
		}
		d := divider{params: g.params()}
		for n := len(g.Values); n > len(g.Values)-140; n-- {
			d.forget(n)
			got := d.divide(g.Values[:n])
			want, err := Divide(g.Values[:n], g.params())
			if err != nil || !reflect.DeepEqual(fmt.Sprint(got), fmt.Sprint(want)) {
				t.Fatalf("%s up to %d: %v, want %v", g.Name, n, got, want)
			}
		}
	}
}

func TestDivideRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		p      Params
	}{
		"NaN":       {[]float64{1, math.NaN()}, DefaultParams()},
		"infinite":  {[]float64{math.Inf(1)}, DefaultParams()},
		"window":    {nil, Params{Window: 1, MaxP: 0.1}},
		"p":         {nil, Params{Window: 50}},
		"p over":    {nil, Params{Window: 50, MaxP: 2}},
		"magnitude": {nil, Params{Window: 50, MaxP: 0.1, MinMagnitude: math.NaN()}},
	} {
		if _, err := Divide(c.values, c.p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkDivide(b *testing.B) {
	v := goldens(b)[0].Values
	long := make([]float64, 0, 3000)
	for len(long) < 3000 {
		long = append(long, v[len(long)%len(v)])
	}
	for b.Loop() {
		if _, err := Divide(long, DefaultParams()); err != nil {
			b.Fatal(err)
		}
	}
}
