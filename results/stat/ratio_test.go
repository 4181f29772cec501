package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aclements/go-moremath/stats"
	"pgregory.net/rapid"
)

// TestRatioInterval compares the bootstrap with all n^n resamples of a side.
func TestRatioInterval(t *testing.T) {
	a, b := []float64{10, 12, 9, 30}, []float64{5, 5.5, 40, 7, 6}
	medians := func(v []float64) (out []float64) {
		total := int(math.Pow(float64(len(v)), float64(len(v))))
		for code := range total {
			var s []float64
			for range v {
				s = append(s, v[code%len(v)])
				code /= len(v)
			}
			out = append(out, Median(s))
		}
		return out
	}
	var all []float64
	ma := medians(a)
	for _, y := range medians(b) {
		for _, x := range ma {
			all = append(all, y/x)
		}
	}
	for _, confidence := range []float64{0.5, 0.8, 0.95} {
		want := percentiles(all, confidence)
		ratio, got, ok := RatioInterval(a, b, confidence, 7)
		near(t, "ratio", ratio, 6.0/11, 1e-12)
		if !ok {
			t.Fatal("no interval")
		}
		// Between the values that are two standard errors of a simulated
		// quantile away.
		slices.Sort(all)
		se := 2 * math.Sqrt((1-confidence)/2/resamples)
		for _, end := range []struct{ got, want, q float64 }{{got.Lo, want.Lo, (1 - confidence) / 2}, {got.Hi, want.Hi, (1 + confidence) / 2}} {
			lo := all[int(max(end.q-se, 0)*float64(len(all)))]
			hi := all[min(int((end.q+se)*float64(len(all))), len(all)-1)]
			if end.got < lo || end.got > hi {
				t.Errorf("%v: the end is %v, by all resamples %v", confidence, end.got, end.want)
			}
		}
	}
	r1, i1, _ := RatioInterval(a, b, 0.95, 7)
	r2, i2, _ := RatioInterval(a, b, 0.95, 7)
	if r1 != r2 || i1 != i2 {
		t.Error("the same seed gave another interval")
	}
}

func TestRatioOfZeros(t *testing.T) {
	zeros, some := []float64{0, 0, 0, 0, 0, 0}, []float64{1, 2, 3, 4, 5, 6}
	if r, iv, ok := RatioInterval(zeros, some, 0.95, 1); ok || !math.IsInf(r, 1) {
		t.Errorf("ratio to zero is %v in %v", r, iv)
	}
	if r, iv, ok := RatioInterval(some, zeros, 0.95, 1); !ok || r != 0 || iv != (Interval{}) {
		t.Errorf("ratio of zero is %v in %v, %v", r, iv, ok)
	}
	if r, iv, ok := ShiftRatio(zeros, some, 0.95); ok || !math.IsInf(r, 1) {
		t.Errorf("shift from zero is %v in %v", r, iv)
	}
	if r, iv, ok := ShiftRatio(some, zeros, 0.95); !ok || r != 0 || iv != (Interval{}) {
		t.Errorf("shift to zero is %v in %v, %v", r, iv, ok)
	}
	// One sample on a side: a ratio without an interval.
	if r, iv, ok := RatioInterval(some[:1], some[1:2], 0.95, 1); ok || r != 2 {
		t.Errorf("ratio of single values is %v in %v, %v", r, iv, ok)
	}
	if r, iv, ok := ShiftRatio(some[:1], some[1:2], 0.95); ok || r != 2 {
		t.Errorf("shift of single values is %v in %v, %v", r, iv, ok)
	}
	p, err := PairedLogRatio([]float64{1}, []float64{2}, 0.95, 1)
	if err != nil || math.Abs(p.Ratio-2) > 1e-12 || p.P != 1 || p.Interval != (Interval{0, math.Inf(1)}) {
		t.Errorf("one pair: %+v, %v", p, err)
	}
}

// TestShiftRatio lists all quotients and asks the test about each factor.
func TestShiftRatio(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		a, b := lognormal(rng, 3+rng.IntN(9), 0.4), lognormal(rng, 3+rng.IntN(9), 0.4)
		var all []float64
		for _, x := range a {
			for _, y := range b {
				all = append(all, y/x)
			}
		}
		slices.Sort(all)
		ratio, iv, ok := ShiftRatio(a, b, 0.95)
		n := len(all)
		near(t, "shift", ratio, math.Sqrt(all[(n-1)/2]*all[n/2]), 1e-12)
		scaled := func(factor float64) []float64 {
			out := slices.Clone(b)
			for i := range out {
				out[i] /= factor
			}
			return out
		}
		if !ok {
			if p, _ := MannWhitney(a, scaled(1e6)); p <= Alpha {
				t.Errorf("%d and %d values can differ, yet have no interval", len(a), len(b))
			}
			continue
		}
		for _, c := range []struct {
			factor   float64
			rejected bool
		}{{iv.Lo * (1 - 1e-9), true}, {iv.Lo * (1 + 1e-9), false}, {iv.Hi * (1 - 1e-9), false}, {iv.Hi * (1 + 1e-9), true}} {
			if p, _ := MannWhitney(a, scaled(c.factor)); (p <= Alpha) != c.rejected {
				t.Errorf("%d and %d values, interval %v: the factor %v has p %v", len(a), len(b), iv, c.factor, p)
			}
		}
	}
	// Beyond the exact sizes the same holds.
	a, b := lognormal(rng, 80, 0.4), lognormal(rng, 60, 0.4)
	_, iv, ok := ShiftRatio(a, b, 0.95)
	for i := range b {
		b[i] /= iv.Lo * (1 - 1e-9)
	}
	if p, _ := MannWhitney(a, b); !ok || p > Alpha {
		t.Errorf("80 and 60 values, interval %v %v: just outside p is %v", iv, ok, p)
	}
	for i := range b {
		b[i] *= (1 - 1e-9) / (1 + 1e-9)
	}
	if p, _ := MannWhitney(a, b); p <= Alpha {
		t.Errorf("80 and 60 values: just inside p is %v", p)
	}
}

// TestWalsh lists all means of two and asks the test about each shift.
func TestWalsh(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, n := range []int{1, 2, 5, 6, 7, 10, 15, 25, 26, 40} {
		d := make([]float64, n)
		for i := range d {
			d[i] = rng.NormFloat64() + 0.3
		}
		var all []float64
		for i, x := range d {
			for _, y := range d[i:] {
				all = append(all, x/2+y/2)
			}
		}
		slices.Sort(all)
		got, iv, ok := Walsh(d, 0.95)
		near(t, "estimate", got, (all[(len(all)-1)/2]+all[len(all)/2])/2, 1e-12)
		if ok != (n >= 6) {
			t.Errorf("%d differences have an interval: %v", n, ok)
		}
		if !ok {
			continue
		}
		for _, c := range []struct {
			shift    float64
			rejected bool
		}{{iv.Lo - 1e-9, true}, {iv.Lo + 1e-9, false}, {iv.Hi - 1e-9, false}, {iv.Hi + 1e-9, true}} {
			moved := slices.Clone(d)
			for i := range moved {
				moved[i] -= c.shift
			}
			if p, _ := SignedRank(moved); (p <= Alpha) != c.rejected {
				t.Errorf("%d differences, interval %v: the shift %v has p %v", n, iv, c.shift, p)
			}
		}
	}
}

// TestRankSums compares with the library's distribution, which counts in
// another way.
func TestRankSums(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 10, 25, 50} {
		for _, m := range []int{1, 2, 4, 7, 13, 50} {
			ways, all := rankSums(n, m)
			sum := 0.0
			for u, w := range ways {
				sum += w / all
				// Few places of large ones: the library takes long for each.
				if n*m <= 100 || u%97 == 0 {
					near(t, "share", sum/stats.UDist{N1: n, N2: m}.CDF(float64(u)), 1, 1e-9)
				}
			}
		}
	}
}

func lognormal(rng *rand.Rand, n int, sigma float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Exp(sigma * rng.NormFloat64())
	}
	return v
}

// TestProperties holds for any samples.
func TestProperties(t *testing.T) {
	values := rapid.SliceOfN(rapid.Float64Range(1e-3, 1e12), 1, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		scale := rapid.Float64Range(1e-6, 1e6).Draw(t, "scale")
		close := func(what string, x, y float64) {
			if math.Abs(x-y) > 1e-9*max(math.Abs(x), math.Abs(y)) {
				t.Fatalf("%s: %v and %v", what, x, y)
			}
		}
		times := func(v []float64) []float64 {
			out := slices.Clone(v)
			for i := range out {
				out[i] *= scale
			}
			return out
		}
		if iv, ok := MedianInterval(a, 0.95); ok && !iv.Contains(Median(a)) {
			t.Fatalf("%v does not hold the median %v", iv, Median(a))
		}
		ratio, iv, ok := RatioInterval(a, b, 0.95, 1)
		if ok && !iv.Contains(ratio) {
			t.Fatalf("%v does not hold the ratio %v", iv, ratio)
		}
		shift, siv, sok := ShiftRatio(a, b, 0.95)
		if sok && (siv.Lo > shift*(1+1e-12) || siv.Hi < shift*(1-1e-12)) {
			t.Fatalf("%v does not hold the shift %v", siv, shift)
		}
		inverse, _, _ := RatioInterval(b, a, 0.95, 1)
		close("swapped ratio", ratio*inverse, 1)
		unshift, usiv, _ := ShiftRatio(b, a, 0.95)
		close("swapped shift", shift*unshift, 1)
		if sok {
			close("swapped interval", siv.Lo*usiv.Hi, 1)
		}
		again, aiv, _ := RatioInterval(times(a), times(b), 0.95, 1)
		close("scaled ratio", again, ratio)
		close("scaled interval", aiv.Lo, iv.Lo)
		p, err := MannWhitney(a, b)
		q, _ := MannWhitney(b, a)
		if err != nil || p < 0 || p > 1 {
			t.Fatalf("p is %v, %v", p, err)
		}
		close("swapped p", p, q)
		n := min(len(a), len(b))
		pr, err := PairedLogRatio(a[:n], b[:n], 0.95, 1)
		if err == nil && (pr.ShiftInterval.Lo > pr.Shift*(1+1e-12) || pr.ShiftInterval.Hi < pr.Shift*(1-1e-12)) {
			t.Fatalf("paired %+v", pr)
		}
		if err != nil || pr.P < 0 || pr.P > 1 || pr.Interval.Lo > pr.Ratio*(1+1e-12) || pr.Interval.Hi < pr.Ratio*(1-1e-12) {
			t.Fatalf("paired %+v, %v", pr, err)
		}
		if bound, ok := QuantileUpper(a, 0.5, 0.95); ok && bound < Median(a) {
			t.Fatalf("the bound of the median %v is under it, %v", bound, Median(a))
		}
	})
}

// BenchmarkRatioInterval must stay under 2 ms for ten values a side.
func BenchmarkRatioInterval(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := lognormal(rng, 10, 0.3), lognormal(rng, 10, 0.3)
	b.ReportAllocs()
	for b.Loop() {
		RatioInterval(x, y, 0.95, 1)
	}
}

// BenchmarkShiftRatio is what compare does for each row.
func BenchmarkShiftRatio(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := lognormal(rng, 10, 0.3), lognormal(rng, 10, 0.3)
	b.ReportAllocs()
	for b.Loop() {
		ShiftRatio(x, y, 0.95)
	}
}

func TestSignedRankLimit(t *testing.T) {
	// Critical values of the two-sided test at 0.05, as tables print them.
	for n, want := range map[int]int{5: 0, 6: 1, 7: 3, 8: 4, 9: 6, 10: 9, 12: 14, 15: 26, 20: 53, 25: 90} {
		if got := signedRankLimit(n, 0.05); got != want {
			t.Errorf("n %d: %d, want %d", n, got, want)
		}
	}
	exact, normal := signedRankLimit(exactSignedRank, 0.05), signedRankLimit(exactSignedRank+1, 0.05)
	if normal < exact || normal > exact+exact/5 {
		t.Errorf("%d counted out, %d by the normal distribution of one more", exact, normal)
	}
	if n := SignedRankNeeds(0.05); n != 6 {
		t.Errorf("%d pairs", n)
	}
}
