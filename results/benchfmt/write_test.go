package benchfmt

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"kbench/results"
	"kbench/results/simulated"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

func truth() simulated.Truth {
	return simulated.Truth{
		Name: "nightly", Targets: []string{"zk", "kraft"}, Partitions: []int{10_000}, Trials: 3, Repeats: 2, Seed: 1, Commit: "0123abc",
		Metrics: []string{"creation", "recovery.controller.load", "propagation.last", "unavailability"}, PerTrial: 200,
		Value: func(p simulated.Point) float64 {
			if p.Metric == "creation.rate" {
				return 5000
			}
			return 1e6
		},
		Noise: &simulated.Noise{Sigma: 0.1},
	}
}

func export(t *testing.T, r *results.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func simulate(t *testing.T, truth simulated.Truth) *results.Run {
	t.Helper()
	r, err := simulated.New(truth)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// read parses an export with the format's own reader.
func read(t *testing.T, b []byte) (lines []*benchfmt.Result, units map[string]string) {
	t.Helper()
	r := benchfmt.NewReader(bytes.NewReader(b), "export")
	units = map[string]string{}
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			lines = append(lines, rec.Clone())
		case *benchfmt.UnitMetadata:
			units[rec.OrigUnit+" "+rec.Key] = rec.Value
		case *benchfmt.SyntaxError:
			t.Errorf("%v", rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return lines, units
}

func TestGolden(t *testing.T) {
	got := export(t, simulate(t, truth()))
	path := filepath.Join("testdata", "nightly.bench")
	if *rewrite {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, got, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run with -rewrite and read the diff\n%s", path, got)
	}
}

// TestReadBack requires every valid value, with its unit, from the format's
// reader.
func TestReadBack(t *testing.T) {
	run := simulate(t, truth())
	lines, units := read(t, export(t, run))
	if units["ns/op better"] != "lower" || units["parts/s better"] != "higher" || len(units) != 2 {
		t.Errorf("units %v", units)
	}
	got := map[string][]float64{}
	for _, l := range lines {
		name := l.Name.String()
		got[name] = append(got[name], l.Values[0].Value)
		if l.GetConfig("goos") != "linux" || l.GetConfig("environment") != run.Manifest.EnvHash || l.GetConfig("java-version") != "17.0.15" {
			t.Fatalf("configuration of %s: %+v", name, l.Config)
		}
	}
	want := map[string][]float64{}
	for _, s := range run.Samples {
		cell := "/target=" + strings.Replace(s.Cell, ".base.partitions-10k", "/variant=base/partitions=10k", 1)
		if s.Unit == results.PerSecond {
			want["Creation"+cell+"/phase=rate"] = append(want["Creation"+cell+"/phase=rate"], s.Value)
		} else {
			want["RecoveryController"+cell+"/phase=load"] = append(want["RecoveryController"+cell+"/phase=load"], s.Value*1e-9)
		}
	}
	for name, values := range want {
		if !slices.EqualFunc(got[name], values, func(a, b float64) bool { return a-b < 1e-15 && b-a < 1e-15 }) {
			t.Errorf("%s: %v, want %v", name, got[name], values)
		}
		delete(got, name)
	}
	// Per side and repeat: medians of two histograms, and their p99.
	for name, values := range got {
		if len(values) != 2 || !strings.Contains(name, "/stat=") {
			t.Errorf("%s: %v", name, values)
		}
	}
	if len(got) != 2*2*2 {
		t.Errorf("%d benchmarks of histograms: %v", len(got), got)
	}
}

// TestLeftOut requires that nothing invalid gets out, and that a run without
// values is an empty file of the format.
func TestLeftOut(t *testing.T) {
	tr := truth()
	tr.Invalid = func(p simulated.Point) string {
		if p.Target == "zk" && p.Trial == 1 {
			return "the fault did not bite"
		}
		return ""
	}
	lines, _ := read(t, export(t, simulate(t, tr)))
	for _, l := range lines {
		if strings.Contains(l.Name.String(), "target=zk") {
			t.Errorf("an invalid cell is exported: %s", l.Name)
		}
	}
	if len(lines) == 0 {
		t.Error("the valid cell is not exported")
	}
	tr.Trials = 0
	if lines, _ := read(t, export(t, simulate(t, tr))); len(lines) != 0 {
		t.Errorf("%d lines of a run without values", len(lines))
	}
}

// TestNames requires that no name of a target, variant or machine breaks a
// line or another name.
func TestNames(t *testing.T) {
	names := []string{"a b", "a/b", "a=b", "a%20b", "=1+1", "<b>\"'x'</b>", "ö-8", "line\nbreak", "nul\x00", "\u2028", "\xff", "-16"}
	tr := truth()
	tr.Name, tr.Commit, tr.Targets, tr.Variants, tr.Repeats = "evil\nBenchmarkX 1 1 ns/op", "c\r\nd", names, []string{"base", "v w/x"}, 1
	env := results.Environment{OS: "linux", CPU: "x\nBenchmarkY 1 1 ns/op", Versions: map[string]string{"Ä: Zoo Keeper": "3\n4", "9": "x"}}
	tr.Environment = &env
	tr.Metrics = tr.Metrics[:1]
	lines, _ := read(t, export(t, simulate(t, tr)))
	if len(lines) != len(names)*2*3 {
		t.Errorf("%d lines, want %d", len(lines), len(names)*2*3)
	}
	seen := map[string]int{}
	for _, l := range lines {
		seen[l.Name.String()]++
		base, parts := l.Name.Parts()
		if string(base) != "Creation" || len(parts) != 4 {
			t.Errorf("%s falls into %s and %q", l.Name, base, parts)
		}
	}
	for name, n := range seen {
		if n != 3 {
			t.Errorf("%s stands for %d values, want 3", name, n)
		}
	}
}

// TestWriteFails requires the writer's error.
func TestWriteFails(t *testing.T) {
	for n := range 40 {
		w := failing(n)
		if err := Write(&w, simulate(t, truth())); err == nil {
			t.Errorf("a full disk after %d writes is silent", n)
		}
	}
}

type failing int

func (f *failing) Write(p []byte) (int, error) {
	if *f--; *f < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}
