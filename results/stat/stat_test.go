package stat

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/perf/benchmath"
	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// bad are samples that no function may judge.
var bad = map[string][]float64{
	"empty": {}, "nil": nil, "NaN": {1, 2, 3, 4, math.NaN(), 6, 7}, "Inf": {1, 2, 3, 4, math.Inf(1), 6, 7}, "-Inf": {1, 2, 3, 4, math.Inf(-1), 6, 7},
}

func TestRefused(t *testing.T) {
	good := []float64{1, 2, 3, 4, 5, 6, 7}
	for name, v := range bad {
		if m := Median(v); !math.IsNaN(m) {
			t.Errorf("%s: median %v", name, m)
		}
		if iv, ok := MedianInterval(v, 0.95); ok {
			t.Errorf("%s: median interval %v", name, iv)
		}
		if b, ok := QuantileUpper(v, 0.5, 0.5); ok {
			t.Errorf("%s: bound %v", name, b)
		}
		if p, err := MannWhitney(v, good); err == nil {
			t.Errorf("%s: Mann-Whitney p %v", name, p)
		}
		if p, err := MannWhitney(good, v); err == nil {
			t.Errorf("%s: Mann-Whitney p %v", name, p)
		}
		if p, err := SignedRank(v); err == nil {
			t.Errorf("%s: signed-rank p %v", name, p)
		}
		for _, side := range [][2][]float64{{v, good}, {good, v}} {
			if r, iv, ok := RatioInterval(side[0], side[1], 0.95, 1); ok || !math.IsNaN(r) {
				t.Errorf("%s: ratio %v, interval %v", name, r, iv)
			}
			if p, err := PairedLogRatio(side[0], side[1], 0.95, 1); err == nil {
				t.Errorf("%s: paired %v", name, p)
			}
			if r, iv, ok := ShiftRatio(side[0], side[1], 0.95); ok || !math.IsNaN(r) {
				t.Errorf("%s: shift %v, interval %v", name, r, iv)
			}
		}
		if m, iv, ok := Walsh(v, 0.95); ok || !math.IsNaN(m) {
			t.Errorf("%s: Walsh %v, interval %v", name, m, iv)
		}
		if out := GESD(v, 3, 0.05); out != nil {
			t.Errorf("%s: outliers %v", name, out)
		}
	}
	negative := []float64{1, 2, -3, 4}
	if r, _, ok := RatioInterval(negative, good, 0.95, 1); ok || !math.IsNaN(r) {
		t.Errorf("negative: ratio %v", r)
	}
	if r, _, ok := ShiftRatio(negative, good, 0.95); ok || !math.IsNaN(r) {
		t.Errorf("negative: shift %v", r)
	}
	if _, err := PairedLogRatio([]float64{1, 0}, []float64{1, 2}, 0.95, 1); err == nil {
		t.Error("a ratio to zero was taken")
	}
	if _, err := PairedLogRatio(good, good, 1, 1); err == nil {
		t.Error("a confidence of 1 was taken")
	}
	for _, c := range []float64{0, 1, -1, 2, math.NaN()} {
		if _, ok := MedianInterval(good, c); ok {
			t.Errorf("confidence %v was taken", c)
		}
		if _, ok := QuantileUpper(good, 0.5, c); ok || QuantileNeeds(0.5, c) != 0 || QuantileNeeds(c, 0.5) != 0 || MannWhitneyNeeds(c) != 0 {
			t.Errorf("probability %v was taken", c)
		}
	}
}

// TestEqual requires that equal samples never differ.
func TestEqual(t *testing.T) {
	for _, v := range [][]float64{{5}, {5, 5, 5, 5, 5, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {0, 0, 0, 0, 0}, {1e300, 2e300, 3e300, 1e300, 5e300}} {
		if p, err := MannWhitney(v, v); p != 1 || err != nil {
			t.Errorf("%v: Mann-Whitney p %v, %v", v, p, err)
		}
		r, iv, ok := RatioInterval(v, v, 0.95, 1)
		if r != 1 || ok != (len(v) >= 4) || ok && !iv.Contains(1) {
			t.Errorf("%v: ratio %v in %v, %v", v, r, iv, ok)
		}
		if r, iv, ok := ShiftRatio(v, v, 0.95); r != 1 || ok && !iv.Contains(1) {
			t.Errorf("%v: shift %v in %v, %v", v, r, iv, ok)
		}
		if v[0] > 0 {
			p, err := PairedLogRatio(v, v, 0.95, 1)
			if err != nil || p.P != 1 || p.Ratio != 1 || !p.Interval.Contains(1) || p.N != len(v) {
				t.Errorf("%v: paired %+v, %v", v, p, err)
			}
		}
	}
}

func TestMedian(t *testing.T) {
	near(t, "median", Median([]float64{3, 1, 2}), 2, 0)
	near(t, "median of four", Median([]float64{4, 1, 3, 2}), 2.5, 0)
	near(t, "huge median", Median([]float64{1.7e308, 1.7e308}), 1.7e308, 0)
	v := []float64{6, 1, 5, 2, 4, 3}
	iv, ok := MedianInterval(v, 0.95)
	if !ok || iv != (Interval{1, 6}) || !slices.Equal(v, []float64{6, 1, 5, 2, 4, 3}) {
		t.Errorf("interval of six %v %v, sample %v", iv, ok, v)
	}
	if _, ok := MedianInterval(v[:5], 0.95); ok {
		t.Error("five values have no 95 % interval")
	}
	// Conover's table: the 95 % interval of 20 values is from the 6th to the
	// 15th.
	if lo, hi, ok := MedianRanks(20, 0.95); lo != 6 || hi != 15 || !ok {
		t.Errorf("ranks of 20: %d to %d, %v", lo, hi, ok)
	}
	// The two ways to count meet.
	for _, n := range []int64{999, 1000, 1001, 1002} {
		lo, hi, ok := MedianRanks(n, 0.95)
		if !ok || math.Abs(float64(lo)-(float64(n)/2-31)) > 2 || math.Abs(float64(hi)-(float64(n)/2+31)) > 2 {
			t.Errorf("ranks of %d: %d to %d, %v", n, lo, hi, ok)
		}
	}
}

func TestQuantileUpper(t *testing.T) {
	for _, c := range []struct {
		p, confidence float64
		n             int
	}{{0.95, 0.95, 59}, {0.99, 0.95, 299}, {0.5, 0.95, 5}, {0.9, 0.9, 22}, {0.5, 0.5, 1}} {
		if n := QuantileNeeds(c.p, c.confidence); n != c.n {
			t.Errorf("the bound of %v at %v needs %d values, want %d", c.p, c.confidence, n, c.n)
		}
		v := make([]float64, c.n)
		for i := range v {
			v[i] = float64(i)
		}
		if b, ok := QuantileUpper(v, c.p, c.confidence); !ok || b != float64(c.n-1) {
			t.Errorf("bound %v %v, want the maximum", b, ok)
		}
		if _, ok := QuantileUpper(v[:c.n-1], c.p, c.confidence); ok {
			t.Errorf("%d values bound %v", c.n-1, c.p)
		}
	}
	// Naively: sum the binomial from its lower end.
	choose := func(n, k int) float64 {
		c := 1.0
		for i := range k {
			c = c * float64(n-i) / float64(i+1)
		}
		return c
	}
	for _, p := range []float64{0.1, 0.5, 0.9, 0.95} {
		for n := 1; n <= 80; n++ {
			want, sum := n+1, 0.0
			for k := 1; k <= n; k++ {
				sum += choose(n, k-1) * math.Pow(p, float64(k-1)) * math.Pow(1-p, float64(n-k+1))
				if sum >= 0.95 {
					want = k
					break
				}
			}
			if got := upperRank(n, p, 0.95); got != want {
				t.Errorf("rank of %d values for %v is %d, want %d", n, p, got, want)
			}
		}
	}
}

// naiveMannWhitney counts how many of all splits are as far out on this side.
func naiveMannWhitney(a, b []float64) float64 {
	all := slices.Concat(a, b)
	u := func(mask uint) (u float64) {
		for i, x := range all {
			for j, y := range all {
				if mask>>i&1 == 1 && mask>>j&1 == 0 {
					switch {
					case x > y:
						u++
					case x == y:
						u += 0.5
					}
				}
			}
		}
		return u
	}
	seen := u(1<<len(a) - 1)
	under, over, total := 0, 0, 0
	for mask := uint(0); mask < 1<<len(all); mask++ {
		if bits.OnesCount(mask) != len(a) {
			continue
		}
		total++
		if u(mask) <= seen {
			under++
		}
		if u(mask) >= seen {
			over++
		}
	}
	return min(2*float64(min(under, over))/float64(total), 1)
}

func TestMannWhitney(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n, m := 1+rng.IntN(5), 1+rng.IntN(5)
		ties := rng.IntN(2) == 0
		draw := func(n int) (v []float64) {
			for range n {
				if x := rng.Float64() * 4; ties {
					v = append(v, math.Floor(x))
				} else {
					v = append(v, x)
				}
			}
			return v
		}
		a, b := draw(n), draw(m)
		p, err := MannWhitney(a, b)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "p", p, naiveMannWhitney(a, b), 1e-9)
		// benchstat agrees where sizes are equal or no values are.
		c := benchmath.AssumeNothing.Compare(benchmath.NewSample(a, &benchmath.DefaultThresholds), benchmath.NewSample(b, &benchmath.DefaultThresholds))
		if n == m || !ties {
			near(t, "benchstat's p", min(c.P, 1), p, 1e-12)
		}
	}
	for alpha, n := range map[float64]int{0.05: 4, 0.01: 5, 0.2: 3, 0.5: 2} {
		if got := MannWhitneyNeeds(alpha); got != n {
			t.Errorf("alpha %v needs %d values a side, want %d", alpha, got, n)
		}
	}
}

// naiveSignedRank tries every choice of signs, zeros ranked and left out.
func naiveSignedRank(d []float64) float64 {
	rank := func(x float64) (r float64) {
		for _, y := range d {
			switch {
			case math.Abs(y) < math.Abs(x):
				r++
			case math.Abs(y) == math.Abs(x):
				r += 0.5
			}
		}
		return r + 0.5
	}
	var ranks []float64
	sum, seen := 0.0, 0.0
	for _, x := range d {
		if x != 0 {
			ranks = append(ranks, rank(x))
			sum += rank(x)
		}
		if x > 0 {
			seen += rank(x)
		}
	}
	as := 0
	for mask := uint(0); mask < 1<<len(ranks); mask++ {
		w := 0.0
		for i, r := range ranks {
			if mask>>i&1 == 1 {
				w += r
			}
		}
		if math.Abs(w-sum/2) >= math.Abs(seen-sum/2) {
			as++
		}
	}
	return float64(as) / math.Exp2(float64(len(ranks)))
}

func TestSignedRank(t *testing.T) {
	// Every positive one of five: two of 32 choices.
	p, err := SignedRank([]float64{1, 2, 3, 4, 5})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "p", p, 2.0/32, 1e-15)
	// Wilcoxon's own example, Darwin's maize: W- = 24, n = 15, p = 0.0413.
	darwin := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	if p, err = SignedRank(darwin); err != nil {
		t.Fatal(err)
	}
	near(t, "Darwin's p", p, 0.0413, 0.0001)
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		d := make([]float64, 1+rng.IntN(11))
		for i := range d {
			d[i] = rng.NormFloat64() + 0.5
			if rng.IntN(2) == 0 {
				d[i] = math.Round(d[i])
			}
		}
		p, err := SignedRank(d)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "p", p, naiveSignedRank(d), 1e-12)
	}
	// The approximation meets the exact distribution.
	d := make([]float64, 26)
	for i := range d {
		d[i] = float64(i+1) * float64(1-2*(i%3/2))
	}
	approximate, _ := SignedRank(d)
	ranks, positive := doubledRanks(d)
	total := 26 * 27
	near(t, "p of 26", approximate, 2*lowerTail(ranks, min(positive, total-positive)), 0.002)
}

func TestHolm(t *testing.T) {
	// The example of Holm's paper in its usual form.
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		near(t, "adjusted p", got[i], want, 1e-12)
	}
	with := Holm([]float64{0.01, math.NaN(), 0.04})
	near(t, "beside a missing test", with[0], 0.02, 1e-12)
	near(t, "beside a missing test", with[2], 0.04, 1e-12)
	if !math.IsNaN(with[1]) || len(Holm(nil)) != 0 {
		t.Errorf("a missing test has p %v", with[1])
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		h := Holm(p)
		for i := range p {
			if h[i] < p[i] || h[i] > 1 || h[i] > p[i]*float64(len(p)) {
				t.Fatalf("p %v adjusted to %v", p[i], h[i])
			}
			for j := range p {
				if p[i] < p[j] && h[i] > h[j] {
					t.Fatalf("order of %v and %v is lost: %v, %v", p[i], p[j], h[i], h[j])
				}
			}
		}
	})
}

// rosner is the data of Rosner's paper as the NIST handbook prints it.
var rosner = []float64{
	-0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65, 1.69, 1.70,
	1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24, 2.26, 2.35, 2.37, 2.40,
	2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21, 3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
}

func TestGESD(t *testing.T) {
	if got := GESD(rosner, 10, 0.05); !slices.Equal(got, []int{51, 52, 53}) {
		t.Errorf("Rosner's outliers are %v, want the last three", got)
	}
	// The handbook's critical values.
	for i, want := range []float64{3.158, 3.151, 3.143, 3.136, 3.128, 3.120, 3.111, 3.103, 3.094, 3.085} {
		near(t, "critical value", gesdLimit(len(rosner), i+1, 0.05), want, 0.001)
	}
	huge := []float64{1e300, 1.01e300, 0.99e300, 1.02e300, 1e300, 0.98e300, 1e300, 1.01e300, 5e300}
	if got := GESD(huge, 2, 0.05); !slices.Equal(got, []int{8}) {
		t.Errorf("outliers of huge values %v", got)
	}
	for _, v := range [][]float64{{1}, {1, 2}, {3, 3, 3, 3, 3, 3}, {0, 0, 0, 0}, {0.1, 0.1, 0.1, 0.1, 0.1}} {
		if got := GESD(v, 10, 0.05); len(got) != 0 {
			t.Errorf("outliers of %v: %v", v, got)
		}
	}
	if got := GESD(rosner, 0, 0.05); len(got) != 0 {
		t.Errorf("no outlier was asked for, got %v", got)
	}
}
