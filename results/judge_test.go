package results

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/montanaflynn/stats"
)

// writeComparison makes a run of two targets at two rungs with known truths.
func writeComparison(t *testing.T, out string, bounds ...string) string {
	t.Helper()
	w, err := Create(out, "zk-vs-kraft", started)
	if err != nil {
		t.Fatal(err)
	}
	m := Manifest{
		Name: "zk-vs-kraft", Started: started, Ended: started.Add(5 * time.Minute), Provider: "process",
		CommandLine: []string{"kbench", "run"}, Tool: Tool{Version: "0.1", Commit: "0123456789abcdef", Go: "go1.26"},
		Environment: Environment{OS: "linux", CPU: "Test CPU", Cores: 2, MemoryMB: 4096, FileSystem: "ext4"},
		Differences: []Contrast{{"how brokers learn", map[string]string{"zk": "pushed | in turn", "kraft": "fetched"}}},
		Bounds:      bounds, SpecYAML: "name: zk-vs-kraft\n",
	}
	for i, p := range []string{"1k", "10k"} {
		for j, target := range []string{"zk", "kraft"} {
			c := Cell{
				ID: target + ".base.partitions-" + p, Target: target, Variant: "base", Partitions: []int{1000, 10000}[i],
				Point: []Coordinate{{"cluster.partitions", p}}, Config: map[string]string{"cluster.partitions": p},
				Store: []string{"embedded, not replicated", "metadata log, 3 voters"}[j], Verdict: Valid,
				Checks: []Check{{Name: "acknowledged", OK: true, Looked: 10}},
			}
			m.Cells = append(m.Cells, c)
			for trial := 1; trial <= 3; trial++ {
				v := float64((i+1)*(2-j)*trial) * 1e6
				add := func(metric string, v float64, u Unit, valid bool) {
					s := Sample{Cell: c.ID, Repeat: 1, Trial: trial, Metric: metric, Value: v, Unit: u, Valid: valid, AtNs: 1}
					mm, _, _ := FindMetric(metric)
					s.Workload = mm.Workload
					if err := w.Sample(s); err != nil {
						t.Fatal(err)
					}
				}
				add("controlled-shutdown.granted", v, Nanoseconds, true)
				add("controlled-shutdown.moved", v*1.5, Nanoseconds, trial != 2 || j == 0)
				add("recovery.controller.detect", 2e9, Nanoseconds, true)
				add("recovery.controller.load", v, Nanoseconds, true)
				add("recovery.controller.first-admin", 2e9+v, Nanoseconds, true)
				add("creation.rate", 12345.6/float64(trial), PerSecond, true)
			}
			r := NewRecorder(1)
			for k := range 500 {
				r.Shard(0).Record(time.Duration((k+1)*(i+1)) * 10 * time.Microsecond)
			}
			name := HlogFigure("propagation", "propagation", 1)
			if err := w.Hlog(c.ID, name, []Interval{{Tag: "first", Start: started, End: started, Dist: r.Merged()}, {Tag: "last", Start: started, End: started, Dist: r.Merged()}}); err != nil {
				t.Fatal(err)
			}
			if err := w.Hlog(c.ID, HlogFigure("controlled-shutdown", "unavailability", 1), []Interval{{Tag: "partition", Start: started, End: started, Dist: r.Merged()}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	path, err := w.Commit(m)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t *testing.T, path string) *Run {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestThresholdsAndExitCodes(t *testing.T) {
	for _, c := range []struct {
		bounds []string
		want   int
	}{
		{nil, 0},
		{[]string{"recovery.controller.median < 4s"}, 0},
		{[]string{"recovery.controller.median < 1s"}, 1},
		{[]string{"kraft partitions=10k: controlled-shutdown.granted.max <= 6ms"}, 0},
		{[]string{"kraft partitions=10k: controlled-shutdown.granted.max < 6ms"}, 1},
		{[]string{"p99(propagation.last) < 1h"}, 0},
		{[]string{"p97.3(propagation.last) < 1h"}, 0},
		{[]string{"p99(controlled-shutdown) < 1h"}, 3}, // three samples hold no p99
		{[]string{"recovery.broker.median < 1h"}, 3},   // nothing measured is never a pass
		{[]string{"creation.n >= 3"}, 0},
		{[]string{"creation.n >= 4"}, 1},
	} {
		r := mustOpen(t, writeComparison(t, t.TempDir(), c.bounds...))
		if got := r.Manifest.ExitCode(); got != c.want {
			t.Errorf("%q: exit %d, want %d: %+v", c.bounds, got, c.want, r.Manifest.Thresholds)
		}
	}
}

func TestVerdictRules(t *testing.T) {
	sample := testSample("c", 1, 1)
	badSample := sample
	badSample.Valid, badSample.Reason = false, "the fault did not bite"
	for name, c := range map[string]struct {
		cells   []Cell
		samples []Sample
		want    Verdict
	}{
		"interrupted":  {[]Cell{{ID: "c", Verdict: Valid}}, []Sample{sample}, Invalid},
		"valid":        {[]Cell{{ID: "c", Verdict: Valid}}, []Sample{sample}, Valid},
		"no cell":      {nil, nil, Inconclusive},
		"no sample":    {[]Cell{{ID: "c", Verdict: Valid}}, nil, Inconclusive},
		"only invalid": {[]Cell{{ID: "c", Verdict: Valid}}, []Sample{badSample}, Inconclusive},
		"failed check": {[]Cell{{ID: "c", Verdict: Valid, Checks: []Check{{Name: "lost"}}}}, []Sample{sample}, Invalid},
		"unjudged":     {[]Cell{{ID: "c"}}, []Sample{sample}, Inconclusive},
	} {
		w, err := Create(t.TempDir(), name, started)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.samples {
			if err := w.Sample(s); err != nil {
				t.Fatal(err)
			}
		}
		path, err := w.Commit(Manifest{Cells: c.cells, Interrupted: name == "interrupted"})
		if err != nil {
			t.Fatal(err)
		}
		m := mustOpen(t, path).Manifest
		if m.Verdict != c.want || (m.Verdict == Valid) != (m.ExitCode() == 0) {
			t.Errorf("%s: %s, exit %d, want %s", name, m.Verdict, m.ExitCode(), c.want)
		}
	}
}

// TestRepeatsAreMerged: histograms of repeats add up, percentiles are never
// averaged.
func TestRepeatsAreMerged(t *testing.T) {
	w, err := Create(t.TempDir(), "x", started)
	if err != nil {
		t.Fatal(err)
	}
	for repeat, v := range []time.Duration{time.Millisecond, time.Second} {
		r := NewRecorder(1)
		for range 100 {
			r.Shard(0).Record(v)
		}
		if err := w.Hlog("c", HlogFigure("propagation", "propagation", repeat+1), []Interval{{Tag: "last", Start: started, End: started, Dist: r.Merged()}, {Tag: "service.last", Start: started, End: started, Dist: r.Merged()}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Hlog("c", "raw", []Interval{{Tag: "anything", Start: started, End: started, Dist: NewDistribution()}}); err != nil {
		t.Fatal(err)
	}
	path, err := w.Commit(Manifest{Cells: []Cell{{ID: "c", Verdict: Valid}}})
	if err != nil {
		t.Fatal(err)
	}
	figs, err := mustOpen(t, path).Figures()
	if err != nil || len(figs) != 1 {
		t.Fatalf("%+v, %v", figs, err)
	}
	if f := figs[0]; f.N != 200 || f.Min != 1e6 || f.Max != 1e9 || math.Abs(f.Median-1e6) > 1e3 || math.Abs(f.Percentiles["p95"]-1e9) > 1e6 {
		t.Errorf("%+v", f)
	}
}

func TestMedianOfHistogramAgainstSamples(t *testing.T) {
	for n := 1; n < 40; n++ {
		r := NewRecorder(1)
		var values []float64
		for i := range n {
			v := float64(i+1) * 1e6
			r.Shard(0).Record(time.Duration(v))
			values = append(values, v)
		}
		var f, g Figure
		f.fromHistogram(r.Merged(), values, shownPercentiles)
		if err := g.fromValues(values, shownPercentiles); err != nil {
			t.Fatal(err)
		}
		lower, _ := stats.PercentileNearestRank(values, 50)
		if math.Abs(f.Median-lower) > lower/1000 || f.Min != g.Min || f.Max != g.Max || (f.MedianLo == nil) != (g.MedianLo == nil) {
			t.Errorf("n=%d: histogram %+v, samples %+v", n, f, g)
		}
		if f.MedianLo != nil && (*f.MedianLo != *g.MedianLo || *f.MedianHi != *g.MedianHi) {
			t.Errorf("n=%d: interval %v-%v, want %v-%v", n, *f.MedianLo, *f.MedianHi, *g.MedianLo, *g.MedianHi)
		}
	}
}

func TestFormatValue(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0 ns", 999: "999 ns", 1500_000: "1.50 ms", 1_500: "1.50 µs", 999_499: "999 µs", 999_600: "1.00 ms", 2.0049e9: "2.005 s", 12.3456e9: "12.35 s",
		123.4e9: "123 s", 3_600e9: "3600 s", 99.96e6: "100 ms", 12.34e6: "12.3 ms",
	} {
		if got := FormatValue(v, Nanoseconds); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if got := FormatValue(12345.6, PerSecond); got != "12346/s" {
		t.Error(got)
	}
	for v, want := range map[float64]string{0: "0", 4: "4", 43210: "43210", 2.5: "2.50"} {
		if got := FormatValue(v, Number); got != want {
			t.Errorf("the number %v is %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0 B", 412.4: "412 B", 25.34e6: "25.3 MB", 999_600: "1.00 MB", 1.5e9: "1.50 GB"} {
		if got := FormatValue(v, Bytes); got != want {
			t.Errorf("%v bytes are %q, want %q", v, got, want)
		}
	}
	if got := FormatValue(math.NaN(), Nanoseconds); got != "n/a" {
		t.Error(got)
	}
}

func TestParseThreshold(t *testing.T) {
	th, err := ParseThreshold("zk partitions=10k, brokers=3: p99(propagation.last) <= 50ms")
	if err != nil || th.Target != "zk" || th.Point["partitions"] != "10k" || th.Point["brokers"] != "3" || th.Metric != "propagation.last" || th.Stat != "p99" || th.Op != "<=" || th.Value != 5e7 {
		t.Errorf("%+v, %v", th, err)
	}
	for text, want := range map[string]float64{"400B": 400, "25MB": 25e6, "1.5 GB": 1.5e9, "2KB": 2000} {
		if th, err := ParseThreshold("kraft: memory.controller.heap.max <= " + text); err != nil || th.Value != want {
			t.Errorf("%s: %+v, %v", text, th, err)
		}
	}
	for _, bad := range []string{"400", "B", "MB", "-1B", "25Mb", "NaNB"} {
		if _, err := ParseThreshold("memory.controller.median < " + bad); err == nil || !strings.Contains(err.Error(), "write it as 400B or 25MB") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if th, err := ParseThreshold("traffic.round-trips.median <= 2"); err != nil || th.Value != 2 {
		t.Errorf("%+v, %v", th, err)
	}
	if _, err := ParseThreshold("traffic.bytes < 2s"); err == nil {
		t.Error("a number of seconds is taken for a number")
	}
	for op, holds := range map[string][3]bool{"<": {true, false, false}, "<=": {true, true, false}, ">": {false, false, true}, ">=": {false, true, true}} {
		th := Threshold{Op: op, Value: 2}
		for i, v := range []float64{1, 2, 3} {
			if th.Holds(v) != holds[i] {
				t.Errorf("%v %s 2 is %v", v, op, !holds[i])
			}
		}
	}
}

func FuzzParseThreshold(f *testing.F) {
	f.Add("kraft: recovery.controller.median < 4s")
	f.Add("p99(propagation.last) >= 50ms")
	f.Add("controlled-shutdown.median < baseline + max(10%, 20ms)")
	f.Add("((<")
	f.Fuzz(func(t *testing.T, s string) {
		th, err := ParseThreshold(s)
		if err == nil && (th.Metric == "" || th.Op == "" || th.Stat == "") {
			t.Errorf("%q gives %+v", s, th)
		}
	})
}

func ExampleFormatValue() {
	fmt.Println(FormatValue(2_050_000_000, Nanoseconds))
	// Output: 2.050 s
}
