package simulated

import (
	"bufio"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kbench/results"
)

// nightly is a truth with both kinds of metrics.
func nightly() Truth {
	return Truth{
		Name: "nightly", Targets: []string{"zk", "kraft"}, Variants: []string{"base", "linger"}, Partitions: []int{1000, 10_000},
		Metrics: []string{"creation", "controlled-shutdown.moved", "recovery.controller.detect", "recovery.controller.load", "recovery.controller.first-admin", "propagation.last", "unavailability.partition"},
		Trials:  7, Repeats: 2, Seed: 1, Commit: "abc", Bounds: []string{"kraft: recovery.controller.median < 4s"},
		Value: func(p Point) float64 {
			if p.Metric == "creation.rate" {
				return 5000
			}
			return float64(p.Partitions) * 1e3
		},
		Resources: func(p Point) (heap, rss, log int64) { n := int64(p.Partitions); return n * 100, n * 200, n * 80 },
	}
}

func figures(t *testing.T, r *results.Run) []results.Figure {
	t.Helper()
	figs, err := r.Figures()
	if err != nil {
		t.Fatal(err)
	}
	return figs
}

// TestTruth requires that a run without noise says exactly what is true.
func TestTruth(t *testing.T) {
	run, err := Write(t.TempDir(), nightly())
	if err != nil {
		t.Fatal(err)
	}
	m := run.Manifest
	if m.Verdict != results.Valid || len(m.Cells) != 8 || m.ExitCode() != 0 || m.Tool.Commit != "abc" {
		t.Errorf("manifest %+v", m)
	}
	figs := figures(t, run)
	if len(figs) != 8*7 {
		t.Fatalf("%d figures", len(figs))
	}
	for _, f := range figs {
		want, n := 1e6, int64(14)
		if strings.Contains(f.Cell, "partitions-10k") {
			want = 1e7
		}
		if f.Metric == "creation" {
			want = 5000
		}
		if f.Histogram {
			n *= 50
		}
		if f.Histogram != (f.Metric == "propagation" || f.Metric == "unavailability") {
			t.Errorf("%s.%s is a histogram: %v", f.Metric, f.Phase, f.Histogram)
		}
		if f.N != n || f.Invalid != 0 || math.Abs(f.Median/want-1) > 1e-3 || f.Min != want || f.Max != want {
			t.Errorf("%s: %s.%s is n %d, %v to %v, median %v; want n %d of %v", f.Cell, f.Metric, f.Phase, f.N, f.Min, f.Max, f.Median, n, want)
		}
	}
}

// TestMemoryIsFolder requires that New and Write tell the same.
func TestMemoryIsFolder(t *testing.T) {
	truth := nightly()
	truth.Noise = &Noise{Sigma: 0.2, AR: 0.3, Outliers: 0.1, Factor: 5}
	written, err := Write(t.TempDir(), truth)
	if err != nil {
		t.Fatal(err)
	}
	held, err := New(truth)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := figures(t, held), figures(t, written); !reflect.DeepEqual(got, want) {
		t.Errorf("figures differ:\n%+v\n%+v", got, want)
	}
	if !reflect.DeepEqual(held.Samples, written.Samples) {
		t.Error("samples differ")
	}
	if !reflect.DeepEqual(held.Manifest.Cells, written.Manifest.Cells) || held.Manifest.EnvHash != written.Manifest.EnvHash {
		t.Error("manifests differ")
	}
	again, err := New(truth)
	if err != nil || !reflect.DeepEqual(again.Samples, held.Samples) {
		t.Errorf("the same seed gave other values, %v", err)
	}
	truth.Seed++
	other, err := New(truth)
	if err != nil || reflect.DeepEqual(other.Samples, held.Samples) {
		t.Errorf("another seed gave the same values, %v", err)
	}
	// One more target changes no value of the others.
	truth.Seed--
	truth.Targets = []string{"kafka-kraft", "zk", "kraft"}
	more, err := New(truth)
	if err != nil {
		t.Fatal(err)
	}
	values := func(r *results.Run) (out []float64) {
		for _, s := range r.Samples {
			if strings.HasPrefix(s.Cell, "zk.") {
				out = append(out, s.Value)
			}
		}
		return out
	}
	if !slices.Equal(values(more), values(held)) {
		t.Error("one more target changed the values of zk")
	}
}

// TestFolderFiles reads what only a folder has.
func TestFolderFiles(t *testing.T) {
	truth := nightly()
	truth.Invalid = func(p Point) string {
		if p.Target == "zk" && p.Variant == "base" && p.Partitions == 1000 && p.Repeat == 1 && p.Trial == 2 {
			return "the fault did not bite"
		}
		return ""
	}
	run, err := Write(t.TempDir(), truth)
	if err != nil {
		t.Fatal(err)
	}
	if run.Manifest.Verdict != results.Invalid || run.Manifest.Cells[0].Verdict != results.Invalid || run.Manifest.Cells[1].Verdict != results.Valid {
		t.Errorf("verdict %s, cells %s %s", run.Manifest.Verdict, run.Manifest.Cells[0].Verdict, run.Manifest.Cells[1].Verdict)
	}
	for _, f := range figures(t, run) {
		if f.Cell == run.Manifest.Cells[0].ID && !f.Histogram && (f.N != 13 || f.Invalid != 1) {
			t.Errorf("%s.%s has %d valid and %d invalid values", f.Metric, f.Phase, f.N, f.Invalid)
		}
	}
	events, err := run.Events()
	if err != nil {
		t.Fatal(err)
	}
	kinds, invalid := map[string]int{}, 0
	for _, e := range events {
		kinds[e.Kind]++
		if e.Kind == "trial" && e.Data["valid"] == false {
			invalid++
		}
		if e.Wall.Before(run.Manifest.Started) || e.Wall.After(run.Manifest.Ended) {
			t.Errorf("%s at %v, outside of the run", e.Kind, e.Wall)
		}
	}
	// Five workloads, of which three stop a node.
	if kinds["trial"] != 8*2*7*5 || kinds["fault"] != 8*2*7*3 || kinds["phase"] == 0 || kinds["restored"] != kinds["trial"] || invalid != 5 {
		t.Errorf("events %v, %d invalid trials", kinds, invalid)
	}
	f, err := os.Open(filepath.Join(run.Dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines, last := 0, int64(0)
	for sc := bufio.NewScanner(f); sc.Scan(); lines++ {
		var v struct {
			Cell string `json:"cell"`
			Data int64  `json:"data_bytes"`
			Heap int64  `json:"heap_bytes"`
		}
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil || v.Cell == "" || v.Heap == 0 {
			t.Fatalf("%s: %v", sc.Text(), err)
		}
		last = v.Data
	}
	if lines != 8*2*6*5 || last != 800_000 {
		t.Errorf("%d lines, the last log is of %d bytes", lines, last)
	}
}

// TestRefused requires a word on what no run could be.
func TestRefused(t *testing.T) {
	for name, edit := range map[string]func(*Truth){
		"target":  func(t *Truth) { t.Targets = nil },
		"metric":  func(t *Truth) { t.Metrics = []string{"speed"} },
		"twice":   func(t *Truth) { t.Metrics = []string{"propagation", "propagation.last"} },
		"value":   func(t *Truth) { t.Value = nil },
		"trials":  func(t *Truth) { t.Trials = -1 },
		"many":    func(t *Truth) { t.PerTrial = 1 << 40 },
		"NaN":     func(t *Truth) { t.Value = func(Point) float64 { return math.NaN() } },
		"NaN log": func(t *Truth) { t.Metrics = t.Metrics[5:]; t.Value = func(Point) float64 { return math.NaN() } },
		"bound":   func(t *Truth) { t.Bounds = []string{"fast"} },
	} {
		truth := nightly()
		edit(&truth)
		if _, err := New(truth); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := Write(t.TempDir(), truth); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}

// TestNoise measures what a long series is like.
func TestNoise(t *testing.T) {
	const n = 200_000
	noise := Noise{Sigma: 0.05, AR: 0.3, Outliers: 0.02, Factor: 5}
	f := noise.Series(rand.New(rand.NewPCG(1, 2)), n)
	outliers, sum, squares, cross, pairs := 0, 0.0, 0.0, 0.0, 0
	last := math.NaN()
	for _, v := range f {
		if v > 2 {
			outliers++
			last = math.NaN()
			continue
		}
		x := math.Log(v)
		sum += x
		squares += x * x
		if !math.IsNaN(last) {
			cross += x * last
			pairs++
		}
		last = x
	}
	in := float64(n - outliers)
	sd := math.Sqrt(squares / in)
	ar := cross / float64(pairs) / (sd * sd)
	if math.Abs(sum/in) > 0.001 || math.Abs(sd-0.05) > 0.001 || math.Abs(ar-0.3) > 0.01 || math.Abs(float64(outliers)/n-0.02) > 0.002 {
		t.Errorf("mean of logs %v, sd %v, AR %v, %d outliers", sum/in, sd, ar, outliers)
	}
	for _, v := range (Noise{}).Series(rand.New(rand.NewPCG(1, 2)), 100) {
		if v != 1 {
			t.Fatalf("no noise, factor %v", v)
		}
	}
}

// BenchmarkNew makes a night of two targets and ten trials, without a disk.
func BenchmarkNew(b *testing.B) {
	truth := nightly()
	truth.Variants, truth.Partitions, truth.Trials, truth.Repeats = nil, []int{1000}, 10, 1
	truth.Metrics = truth.Metrics[:5]
	truth.Noise = &Noise{Sigma: 0.05, AR: 0.3, Outliers: 0.02, Factor: 5}
	b.ReportAllocs()
	for b.Loop() {
		truth.Seed++
		if _, err := New(truth); err != nil {
			b.Fatal(err)
		}
	}
}
