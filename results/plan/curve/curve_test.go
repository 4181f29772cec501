package curve

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestShapes: the growth is 0 to 1 over the ladder, never falls, and reaches
// is the inverse.
func TestShapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shape{w: rapid.Float64Range(0.001, 1).Draw(t, "w"), p: 1, rho: 1}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 1:
			s.p = rapid.Float64Range(0.3, 3).Draw(t, "p")
		case 2:
			s.knee, s.rho = rapid.Float64Range(0.01, 0.9).Draw(t, "knee"), math.Inf(1)
		case 3:
			s.knee, s.rho = rapid.Float64Range(0.01, 0.9).Draw(t, "knee"), rapid.Float64Range(0.03, 30).Draw(t, "rho")
		}
		if g := s.relative(1); math.Abs(g-1) > 1e-9 {
			t.Fatalf("%v at the top", g)
		}
		last := 0.0
		for x := 0.001; x < 4; x *= 1.3 {
			v := s.relative(x)
			if v < last || v < 1-s.w-1e-12 {
				t.Fatalf("falls from %v to %v at %v", last, v, x)
			}
			last = v
			flat := math.IsInf(s.rho, 1) && x <= s.knee
			if back := s.reaches(v); !flat && s.w*s.growth(x) > 1e-6 && math.Abs(back/x-1) > 1e-6 {
				t.Fatalf("%v gives %v, which is reached at %v", x, v, back)
			}
		}
		if at := s.reaches((1 - s.w) / 2); s.w < 1 && at != 0 {
			t.Fatalf("a cost under the offset is reached at %v", at)
		}
	})
}

func exact(value func(float64) float64, xs ...float64) []Point {
	var out []Point
	for _, x := range xs {
		out = append(out, Point{X: x, Y: value(x), Var: 1e-6})
	}
	return out
}

// TestExact: without noise each truth is found, predicted at twice the top and
// crossed where it crosses.
func TestExact(t *testing.T) {
	for _, tr := range truths {
		f, err := New(exact(tr.value, sizes...))
		if err != nil {
			t.Fatal(err)
		}
		if f.Chosen != tr.model {
			t.Errorf("%s: chose %s: %+v", tr.name, f.Chosen, f.Models)
		}
		for _, x := range []float64{3e3, 30e3, 150e3, 400e3} {
			e := f.At(x)
			if want := tr.value(x); math.Abs(e.Value/want-1) > 0.07 || !e.Curve.Contains(e.Value) || e.Next.Lo > e.Curve.Lo*1.05 || e.Next.Hi < e.Curve.Hi*0.95 {
				t.Errorf("%s at %v: %+v, want %v", tr.name, x, e, want)
			}
		}
		if tr.model == Constant {
			continue
		}
		if c := f.Crossing(tr.value(80e3)); math.Abs(c.Value/80e3-1) > 0.05 || !c.Interval.Contains(80e3) {
			t.Errorf("%s crosses at %+v, want 80000", tr.name, c)
		}
	}
}

// TestLeastSquares compares a nearly exact line with the plain weighted least
// squares of a textbook.
func TestLeastSquares(t *testing.T) {
	points := exact(func(x float64) float64 { return 2e9 + 90e3*x }, sizes...)
	for i, wobble := range []float64{1.01, 0.99, 1.005, 1, 0.995, 1.01, 0.99, 1} {
		points[i].Y *= wobble
	}
	var sw, sx, sy, sxx, sxy float64
	for _, p := range points {
		w := 1 / (p.Y * p.Y) // relative errors
		sw, sx, sy, sxx, sxy = sw+w, sx+w*p.X, sy+w*p.Y, sxx+w*p.X*p.X, sxy+w*p.X*p.Y
	}
	slope := (sw*sxy - sx*sy) / (sw*sxx - sx*sx)
	offset := (sy - slope*sx) / sw
	f, err := New(points)
	if err != nil {
		t.Fatal(err)
	}
	p := f.Parameters()
	if f.Chosen != Linear || math.Abs(p.Slope/slope-1) > 0.02 || math.Abs(p.Offset/offset-1) > 0.01 {
		t.Errorf("%s %+v, want %v + %v x", f.Chosen, p, offset, slope)
	}
}

// TestParameters: what is shown of each model is what made the data.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		truth int
		want  Parameters
	}{
		{3, Parameters{Offset: 2e9, Exponent: 1.5}},
		{5, Parameters{Offset: 2e9, Knee: 15e3, After: 150e3}},
		{6, Parameters{Offset: 3e8, Slope: 100e3, Knee: 20e3, After: 600e3}},
	} {
		tr := truths[c.truth]
		f, err := New(exact(tr.value, sizes...))
		if err != nil {
			t.Fatal(err)
		}
		got, want := f.Parameters(), c.want
		want.Top = tr.value(200e3)
		g, w := reflect.ValueOf(got), reflect.ValueOf(want)
		for i := range g.NumField() {
			a, b := g.Field(i).Float(), w.Field(i).Float()
			if math.Abs(a-b) > 0.15*b {
				t.Errorf("%s: %s is %v, want %v", tr.name, g.Type().Field(i).Name, a, b)
			}
		}
	}
}

// TestRefused: what cannot be fitted is said, by value.
func TestRefused(t *testing.T) {
	three := func(edit func([]Point)) []Point {
		p := []Point{{1, 1, 0}, {2, 2, 0}, {3, 3, 0}}
		edit(p)
		return p
	}
	for want, points := range map[string][]Point{
		"too few sizes: 0":      nil,
		"too few sizes: 2":      {{1, 1, 0}, {2, 2, 0}},
		"size 2 stands twice":   three(func(p []Point) { p[2].X = 2 }),
		"NaN at size 2":         three(func(p []Point) { p[1].Y = math.NaN() }),
		"+Inf at size 2":        three(func(p []Point) { p[1].Y = math.Inf(1) }),
		"0 at size 1":           three(func(p []Point) { p[0].Y = 0 }),
		"-1 at size 1":          three(func(p []Point) { p[0].Y = -1 }),
		"a size of 0":           three(func(p []Point) { p[0].X = 0 }),
		"a size of NaN":         three(func(p []Point) { p[1].X = math.NaN() }),
		"a variance of -1":      three(func(p []Point) { p[1].Var = -1 }),
		"65 sizes; a fit takes": slices.Repeat([]Point{{1, 1, 0}}, 65),
	} {
		f, err := New(points)
		if f != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", points, err, want)
		}
		if few := strings.HasPrefix(want, "too few"); errors.Is(err, ErrTooFew) != few {
			t.Errorf("%q is ErrTooFew: %v", err, !few)
		}
	}
}

// TestAnything: whatever is measured, answers are finite where they must be,
// intervals hold their estimate, and the same points give the same answer in
// any order.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 9).Draw(t, "n")
		var points []Point
		x := 0.0
		for range n {
			x += math.Exp(rapid.Float64Range(-3, 20).Draw(t, "step"))
			points = append(points, Point{x, math.Exp(rapid.Float64Range(-40, 60).Draw(t, "log y")), rapid.SampledFrom([]float64{0, 1e-4, 1, 100}).Draw(t, "var")})
		}
		f, err := New(points)
		if err != nil {
			t.Skip(err) // two sizes that differ by less than a float can say
		}
		slices.Reverse(points)
		g, err := New(points)
		if err != nil {
			t.Fatal(err)
		}
		var weights float64
		for _, m := range f.Models {
			weights += m.Weight
			if math.IsNaN(m.Score) || math.IsNaN(m.SE) || math.IsNaN(m.Error) {
				t.Fatalf("%+v", m)
			}
		}
		if math.Abs(weights-1) > 1e-9 || f.Chosen == "" {
			t.Fatalf("weights sum to %v, chose %q", weights, f.Chosen)
		}
		for _, at := range []float64{points[n-1].X, x, 2 * x} {
			e := f.At(at)
			if !(e.Value > 0) || math.IsInf(e.Value, 0) || !e.Curve.Contains(e.Value) || !e.Next.Contains(e.Value) {
				t.Fatalf("at %v: %+v", at, e)
			}
			if e != g.At(at) {
				t.Fatalf("at %v: %+v, in another order %+v", at, e, g.At(at))
			}
		}
		c := f.Crossing(points[0].Y)
		if math.IsNaN(c.Value) || c.Value < 0 || !c.Interval.Contains(c.Value) {
			t.Fatalf("%+v", c)
		}
		if v := f.Informs(x, points[0].Y, 100*x); !(v >= 0 && v <= 1+1e-6) {
			t.Fatalf("informs %v", v)
		}
	})
}

// TestInforms: where the curve crosses the bound is told better by a rung
// there than by one far below.
func TestInforms(t *testing.T) {
	tr := truths[1]
	f, err := New(exact(tr.value, 1e3, 2e3, 5e3, 10e3, 20e3))
	if err != nil {
		t.Fatal(err)
	}
	y := tr.value(40e3)
	if near, far := f.Informs(40e3, y, 2e6), f.Informs(3e3, y, 2e6); near < 2*far || near < 0.3 {
		t.Errorf("at the crossing %v, far below %v", near, far)
	}
}

func BenchmarkNew(b *testing.B) {
	points := exact(truths[3].value, sizes...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(points); err != nil {
			b.Fatal(err)
		}
	}
}

// TestJump: through a jump at the largest size any curve goes, so none is
// chosen for it; the intervals hold the curves all the same. The sizes and
// costs are of a measured ladder.
func TestJump(t *testing.T) {
	mustFit := func(t *testing.T, points []Point) *Fit {
		t.Helper()
		f, err := New(points)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var points []Point
	for i, y := range []float64{404, 398, 379, 354, 355, 774} {
		points = append(points, Point{X: []float64{1, 2, 5, 10, 20, 50}[i], Y: y, Var: 0.003})
	}
	f := mustFit(t, points)
	if f.Chosen != Linear && f.Chosen != Constant {
		t.Errorf("%s is chosen for one jump", f.Chosen)
	}
	at := f.At(100)
	if at.Value > 1.5*965 || at.Next.Hi < 2000 || !at.Next.Contains(965) {
		t.Errorf("at twice the largest size %.0f (%.0f to %.0f), measured were 965", at.Value, at.Next.Lo, at.Next.Hi)
	}
	// Two sizes beyond a bend are enough.
	f = mustFit(t, append(points, Point{X: 100, Y: 774 + 50*14, Var: 0.003}))
	if f.Chosen == Constant || f.Chosen == Linear {
		t.Errorf("%s is chosen for a bend with two sizes beyond it", f.Chosen)
	}
	for _, c := range candidates([]float64{0.05, 0.1, 0.5, 1}) {
		if c.model == Knee || c.model == TwoSlopes {
			t.Errorf("%s is tried with four sizes: one side of the bend has one", c.model)
		}
	}
}
