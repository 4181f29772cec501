package results

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// java runs the Java library's side of this test over an .hlog. It needs the
// library's jar, named by HDRHISTOGRAM_JAR, and a JDK.
func java(t *testing.T, mode, path string) string {
	t.Helper()
	missing := ""
	jar := os.Getenv("HDRHISTOGRAM_JAR")
	if jar == "" {
		missing = "HDRHISTOGRAM_JAR does not name the jar of org.hdrhistogram:HdrHistogram"
	} else if _, err := exec.LookPath("java"); err != nil {
		missing = "there is no java"
	}
	if missing != "" {
		if os.Getenv("KBENCH_REQUIRE_JAVA") != "" {
			t.Fatal("KBENCH_REQUIRE_JAVA is set: " + missing)
		}
		t.Skip("SKIPPED: " + missing + "; a .hlog and the Java library cannot be tested on each other")
	}
	cmd := exec.CommandContext(t.Context(), "java", "-cp", jar, filepath.Join("testdata", "HlogTool.java"), mode, path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("java %s: %v: %s", mode, err, stderr.Bytes())
	}
	return string(out)
}

// tellIntervals says what intervals hold, as HlogTool.java does.
func tellIntervals(list []Interval) string {
	var b strings.Builder
	for _, iv := range list {
		h := iv.Dist.hist
		fmt.Fprintf(&b, "tag %s\nstart %d end %d\ncount %d\n", iv.Tag, iv.Start.UnixMilli(), iv.End.UnixMilli(), h.TotalCount())
		// What the histogram alone knows, without the exact extremes and the
		// values outside of its range.
		bare := Distribution{hist: h, max: math.MaxInt64}
		for _, p := range []float64{1, 25, 50, 90, 99, 99.9, 99.99} {
			v, _ := bare.Quantile(p)
			fmt.Fprintf(&b, "p%v %d\n", p, v)
		}
		for _, bar := range h.Distribution() {
			if bar.Count > 0 {
				fmt.Fprintf(&b, "bucket %d %d\n", bar.To, bar.Count)
			}
		}
	}
	return b.String()
}

func diffLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var x, y string
		if i < len(g) {
			x = g[i]
		}
		if i < len(w) {
			y = w[i]
		}
		if x != y {
			t.Fatalf("line %d of %d: %q, want %q", i+1, len(w), x, y)
		}
	}
}

// TestHlogReadByJava has the Java library read what this package writes: every
// bucket, percentile, tag and time must be the same.
func TestHlogReadByJava(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	start := time.UnixMilli(1_790_000_000_000)
	var in []Interval
	for i, tag := range []string{"granted", "moved", "granted", "none"} {
		r := NewRecorder(2)
		for k := range 20_000 * min(3-i, 1) {
			r.Shard(k % 2).Record(time.Duration(1000 + rng.ExpFloat64()*float64(time.Second)))
		}
		for _, d := range []time.Duration{LowestLatency, HighestLatency, LowestLatency - 1, HighestLatency + 1} {
			if tag != "none" {
				r.Shard(0).Record(d)
			}
		}
		in = append(in, Interval{Tag: tag, Start: start.Add(time.Duration(i) * time.Second), End: start.Add(time.Duration(i+1) * time.Second), Dist: r.Merged()})
	}
	path := filepath.Join(t.TempDir(), "ours.hlog")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeHlog(f, in); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	diffLines(t, java(t, "read", path), tellIntervals(in))
}

// TestHlogWrittenByJava reads what the Java library writes.
func TestHlogWrittenByJava(t *testing.T) {
	path := filepath.Join(t.TempDir(), "theirs.hlog")
	want := java(t, "write", path)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []Interval
	if err := readHlog(f, func(iv Interval) error { out = append(out, iv); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(out) != 3 || out[0].Dist.Count() != 75_002 {
		t.Fatalf("%d intervals", len(out))
	}
	diffLines(t, tellIntervals(out), want)
	for _, iv := range out {
		// A log without our notes has the histogram's own extremes.
		if lo, _ := iv.Dist.Min(); lo != LowestLatency {
			t.Errorf("%s: the smallest value is %v", iv.Tag, lo)
		}
	}
}
