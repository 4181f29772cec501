package workloads

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kbench/internal/trace"
)

func take(p Pacer, n int) []time.Duration {
	var out []time.Duration
	for d := range p.Due() {
		if len(out) == n {
			break
		}
		out = append(out, d)
	}
	return out
}

func TestConstantPacer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.01, 1e6).Draw(t, "rate")
		p, err := NewConstant(rate)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.Int64Range(0, 1e9).Draw(t, "n")
		// The nth operation is n/rate seconds in, to a ns and the precision of a
		// float64: no drift however long the run is.
		want := min(float64(n)/rate*1e9, math.MaxInt64)
		if got := float64(p.At(n)); math.Abs(got-want) > 1+want*1e-15*4 {
			t.Fatalf("At(%d) at %v/s = %v, want %v", n, rate, got, want)
		}
		if p.At(n+1) < p.At(n) {
			t.Fatal("goes back")
		}
		if got := take(p, 5); got[0] != 0 || got[4] != p.At(4) {
			t.Fatalf("Due differs from At: %v", got)
		}
	})
}

func TestPoissonPacer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, rate := rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(1, 1e5).Draw(t, "rate")
		p, err := NewPoisson(rate, seed)
		if err != nil {
			t.Fatal(err)
		}
		const n = 4000
		got := take(p, n)
		if !slices.Equal(got, take(p, n)) {
			t.Fatal("the same seed gives other arrivals")
		}
		if !slices.IsSorted(got) {
			t.Fatal("goes back")
		}
		// The mean gap of n exponential gaps is within 6 standard errors.
		mean := got[n-1].Seconds() / (n - 1)
		if math.Abs(mean*rate-1) > 6/math.Sqrt(n) {
			t.Fatalf("mean gap %v s at %v/s", mean, rate)
		}
		// The coefficient of variation of exponential gaps is 1.
		var sum float64
		for i := 1; i < n; i++ {
			d := (got[i] - got[i-1]).Seconds() - mean
			sum += d * d
		}
		if cv := math.Sqrt(sum/(n-1)) / mean; cv < 0.8 || cv > 1.2 {
			t.Fatalf("coefficient of variation %v: not exponential", cv)
		}
	})
}

func TestPacersRefuseRates(t *testing.T) {
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), 1e7} {
		if _, err := NewConstant(rate); err == nil {
			t.Errorf("NewConstant(%v) gave no error", rate)
		}
		if _, err := NewPoisson(rate, 1); err == nil {
			t.Errorf("NewPoisson(%v) gave no error", rate)
		}
	}
}

// TestDriveKeepsIntendedTimes stalls the generator: the operations that were
// due meanwhile must come at once, with the times they were due at.
func TestDriveKeepsIntendedTimes(t *testing.T) {
	const period = 5 * time.Millisecond
	var ops []op
	start := trace.Now()
	s := drive(context.Background(), start, start+int64(60*period), Constant{200}, func(o op) bool {
		if ops = append(ops, o); o.n == 10 {
			time.Sleep(30 * period) // the stall
		}
		return o.n%2 == 0
	})
	if len(ops) != 60 || s.ops != 60 || s.dropped != 30 {
		t.Fatalf("%d operations, %+v", len(ops), s)
	}
	for i, o := range ops {
		if o.n != int64(i) || o.intendedNs != start+int64(i)*int64(period) || o.sentNs < o.intendedNs {
			t.Fatalf("operation %d: %+v", i, o)
		}
	}
	if slip := time.Duration(ops[11].sentNs - ops[11].intendedNs); slip < 29*period {
		t.Errorf("the stall of 150 ms shows as a slip of %v", slip)
	}
	if s.late < 8 || !s.slipped() {
		t.Errorf("the stalled generator is not called late: %+v", s)
	}
	told := map[string]int64{}
	for _, c := range s.counts("x") {
		told[c.Name] = c.N
	}
	if told["x.sent"] != 30 || told["x.dropped"] != 30 {
		t.Errorf("%v, want half of the operations sent and half dropped", told)
	}
	// Of 60 slips the 99th percentile is one of the greatest, a period apart.
	if p99, greatest := told["x.p99SlipNs"], told["x.maxSlipNs"]; p99 > greatest || p99 < greatest-int64(2*period) {
		t.Errorf("99 of 100 slips within %v, the greatest is %v", time.Duration(p99), time.Duration(greatest))
	}
}

func TestDriveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	s := drive(ctx, trace.Now(), 0, Constant{1000}, func(op) bool {
		if n++; n == 5 {
			cancel()
		}
		return true
	})
	if n != 5 || s.ops != 5 {
		t.Errorf("%d operations after the end", n)
	}
}

// BenchmarkPacer runs 20,000 probes/s for a second and reports how late they
// were sent; p99 must stay below 2 ms on 2 cores. Work beside it can only delay
// the pacer, so the best of up to five seconds counts, and all are reported.
func BenchmarkPacer(b *testing.B) {
	const bound = int64(2 * time.Millisecond)
	best, worst, seconds := int64(math.MaxInt64), int64(0), 0
	slip := make([]int64, 0, 20_000)
	for b.Loop() {
		for try := 0; try < 5 && best >= bound; try++ {
			slip = slip[:0]
			start := trace.Now() + int64(10*time.Millisecond)
			drive(context.Background(), start, start+int64(time.Second), Constant{20_000}, func(o op) bool {
				slip = append(slip, o.sentNs-o.intendedNs)
				return true
			})
			slices.Sort(slip)
			p99 := slip[len(slip)*99/100]
			best, worst = min(best, p99), max(worst, p99)
			seconds++
		}
	}
	b.ReportMetric(float64(best)/1e6, "best-p99-slip-ms")
	b.ReportMetric(float64(worst)/1e6, "worst-p99-slip-ms")
	b.ReportMetric(float64(seconds), "seconds")
	if best >= bound {
		b.Errorf("p99 slip is %v in the best of %d seconds, must be below 2 ms", time.Duration(best), seconds)
	}
}
