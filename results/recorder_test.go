package results

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestPercentilesAgainstSort: merged shards agree with an exact sort within
// three digits, and the extremes exactly.
func TestPercentilesAgainstSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, workers = 100_000, 4
	r := NewRecorder(workers)
	var all []int64
	parts := make([][]int64, workers)
	for i := range n {
		v := int64(math.Exp(rng.NormFloat64()*2+13)) + int64(LowestLatency)
		parts[i%workers] = append(parts[i%workers], v)
		all = append(all, v)
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for _, v := range parts[w] {
				r.Shard(w).Record(time.Duration(v))
			}
		})
	}
	wg.Wait()
	d := r.Merged()
	slices.Sort(all)
	if lo, _ := d.Min(); int64(lo) != all[0] {
		t.Errorf("min %d, want %d", lo, all[0])
	}
	if hi, _ := d.Max(); int64(hi) != all[n-1] {
		t.Errorf("max %d, want %d", hi, all[n-1])
	}
	for _, p := range []float64{0.01, 1, 25, 50, 90, 99, 99.9, 99.99, 99.999} {
		got, ok := d.Quantile(p)
		want := all[int(math.Ceil(p/100*n-1e-6))-1]
		if !ok || math.Abs(float64(got)-float64(want)) > float64(want)/1000 {
			t.Errorf("p%v = %d, want %d", p, got, want)
		}
	}
	if d.Count() != n {
		t.Errorf("count %d, want %d", d.Count(), n)
	}
}

func TestThreeDigitsAtTheLowestLatency(t *testing.T) {
	r := NewRecorder(1)
	r.Shard(0).Record(1234 * time.Nanosecond)
	r.Shard(0).Record(5 * time.Microsecond)
	r.Shard(0).Record(5 * time.Microsecond)
	if v, _ := r.Merged().Quantile(33); v < 1233 || v > 1236 {
		t.Errorf("1.234µs came back as %v", v)
	}
}

func TestOutOfRangeIsCounted(t *testing.T) {
	r := NewRecorder(2)
	for _, v := range []time.Duration{-5, 0, 999, time.Microsecond, time.Hour} {
		r.Shard(0).Record(v)
	}
	r.Shard(1).Record(time.Hour + 1)
	r.Shard(1).Record(math.MaxInt64)
	d := r.Merged()
	below, above := d.OutOfRange()
	lo, _ := d.Min()
	hi, _ := d.Max()
	if below != 3 || above != 2 || d.Count() != 7 || lo != -5 || hi != math.MaxInt64 {
		t.Errorf("below %d above %d count %d min %v max %v", below, above, d.Count(), lo, hi)
	}
	if v, _ := d.Quantile(99); v != math.MaxInt64 {
		t.Errorf("p99 %v hides what is out of range", v)
	}
	if v, _ := d.Quantile(1); v != -5 {
		t.Errorf("p1 %v", v)
	}
	if v, ok := d.Quantile(60); !ok || v < time.Hour*999/1000 || v > time.Hour {
		t.Errorf("p60 %v, want the hour", v)
	}
}

func TestEmptyDistribution(t *testing.T) {
	d := NewRecorder(3).Merged()
	if _, ok := d.Quantile(50); ok {
		t.Error("a percentile of nothing")
	}
	if _, ok := d.Min(); ok || d.Count() != 0 {
		t.Error("a minimum of nothing")
	}
	for _, p := range []float64{0, 100, -1, 101, math.NaN()} {
		r := NewRecorder(1)
		r.Shard(0).Record(time.Second)
		if _, ok := r.Merged().Quantile(p); ok {
			t.Errorf("p%v answered", p)
		}
	}
}

func TestHlogRoundTrip(t *testing.T) {
	r := NewRecorder(1)
	for i := range 1000 {
		r.Shard(0).Record(time.Duration(i) * 37 * time.Microsecond)
	}
	r.Shard(0).Record(2 * time.Hour)
	start := time.UnixMilli(1_790_000_000_123)
	in := []Interval{
		{Tag: "moved", Start: start, End: start.Add(1500 * time.Millisecond), Dist: r.Merged()},
		{Tag: "service.moved", Start: start, End: start, Dist: NewDistribution()},
	}
	var b bytes.Buffer
	if err := writeHlog(&b, in); err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("KBENCH_KEEP_HLOG"); path != "" {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.TrimSuffix(b.String(), "\n") // a last line without newline is kept
	out, err := readIntervals(strings.NewReader(text))
	if err != nil || len(out) != 2 {
		t.Fatalf("%d intervals, %v", len(out), err)
	}
	for i := range in {
		got, want := out[i], in[i]
		if got.Tag != want.Tag || !got.Start.Equal(want.Start) || !got.End.Equal(want.End) {
			t.Errorf("interval %+v, want %+v", got, want)
		}
		if got.Dist.min != want.Dist.min || got.Dist.max != want.Dist.max || got.Dist.above != want.Dist.above || !got.Dist.hist.Equals(want.Dist.hist) {
			t.Errorf("distribution of %s differs", got.Tag)
		}
	}
}

func TestHlogRefused(t *testing.T) {
	r := NewRecorder(1)
	r.Shard(0).Record(time.Second)
	var b bytes.Buffer
	if err := writeHlog(&b, []Interval{{Tag: "x", Start: started, End: started, Dist: r.Merged()}}); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	for name, text := range map[string]string{
		"cut":        good[:len(good)-20],
		"count":      strings.Replace(good, `"count":1`, `"count":2`, 1),
		"microsec":   strings.Replace(good, `"unit":"ns"`, `"unit":"us"`, 1),
		"garbage":    good + "garbage\n",
		"tag only":   "Tag=x\n",
		"broken":     "#kbench {\n",
		"neg. count": strings.Replace(good, `"below":0`, `"below":-1`, 1),
	} {
		if _, err := readIntervals(strings.NewReader(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, tag := range []string{"", "a,b", "a b", "a\nb"} {
		if writeHlog(&b, []Interval{{Tag: tag, Start: started, End: started, Dist: NewDistribution()}}) == nil {
			t.Errorf("tag %q accepted", tag)
		}
	}
	if out, err := readIntervals(strings.NewReader("")); err != nil || len(out) != 0 {
		t.Errorf("empty log: %v, %v", out, err)
	}
}

func FuzzReadHlog(f *testing.F) {
	r := NewRecorder(1)
	r.Shard(0).Record(time.Second)
	var b bytes.Buffer
	if err := writeHlog(&b, []Interval{{Tag: "x", Start: started, End: started, Dist: r.Merged()}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add("Tag=A,0.127,1.007,2.769,HISTFAAAAEV42pNpmSz")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := readIntervals(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, iv := range out {
			if iv.Dist.Count() < 0 {
				t.Errorf("count %d", iv.Dist.Count())
			}
		}
	})
}

// BenchmarkRecord must stay under 50 ns and 0 allocations per value.
func BenchmarkRecord(b *testing.B) {
	s := NewRecorder(1).Shard(0)
	v := time.Duration(0)
	b.ReportAllocs()
	for b.Loop() {
		v = (v*5 + 12_345) % time.Minute
		s.Record(v)
	}
}

// TestRecordDoesNotAllocate guards the hot path in every test run.
func TestRecordDoesNotAllocate(t *testing.T) {
	s := NewRecorder(1).Shard(0)
	v := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() { v = (v + time.Second) % (2 * time.Hour); s.Record(v) }); n != 0 {
		t.Errorf("%v allocations per record", n)
	}
}
