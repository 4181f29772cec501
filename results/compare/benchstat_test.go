package compare

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kbench/results"
	"kbench/results/benchfmt"
	"kbench/results/simulated"
	"kbench/results/stat"
)

// benchstatRow is what benchstat says of one benchmark in two files.
type benchstatRow struct {
	medians [2]float64
	differs bool
	p       string
}

// benchstat builds the tool from this module's own dependency and runs it over
// the exports of two runs, with flags.
func benchstat(t *testing.T, tool string, flags []string, list ...*results.Run) map[string]benchstatRow {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"-format", "csv"}, flags...)
	for i, r := range list {
		var b bytes.Buffer
		if err := benchfmt.Write(&b, r); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), tool, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("benchstat: %v: %s", err, stderr.Bytes())
	}
	return parseBenchstat(t, string(out))
}

// parseBenchstat reads the tables of the CSV form: name, median, CI, median,
// CI, change, p.
func parseBenchstat(t *testing.T, out string) map[string]benchstatRow {
	t.Helper()
	rows := map[string]benchstatRow{}
	r := csv.NewReader(strings.NewReader(out))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	scale := 1.0
	for _, f := range lines {
		switch {
		case len(f) < 7 || f[0] == "geomean":
		case f[0] == "" && f[1] == "sec/op":
			scale = 1e9
		case f[0] == "" && f[1] == "parts/s":
			scale = 1
		case f[0] != "" && f[1] != "" && f[3] != "":
			var row benchstatRow
			for i, text := range []string{f[1], f[3]} {
				v, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatalf("%q: %v", f, err)
				}
				row.medians[i] = v * scale
			}
			row.differs = f[5] != "~"
			row.p = "0.000" // which it leaves out
			if p, ok := strings.CutPrefix(f[6], "p="); ok {
				row.p, _, _ = strings.Cut(p, " ")
			}
			rows[f[0]] = row
		}
	}
	return rows
}

// benchstatName is how the export names a row.
func benchstatName(r Row, target string) string {
	var name strings.Builder
	for _, word := range strings.FieldsFunc(r.Metric, func(c rune) bool { return c == '.' || c == '-' }) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	if target != "" {
		name.WriteString("/target=" + target)
	}
	fmt.Fprintf(&name, "/variant=base/partitions=%s/phase=%s", r.Point, r.Phase)
	if r.Histogram {
		name.WriteString("/stat=" + r.Stat)
	}
	return name.String()
}

// agree requires the same medians, p and, before Holm, the same verdict.
func agree(t *testing.T, c *Comparison, rows map[string]benchstatRow, target func(Row) string) (differ, same int) {
	t.Helper()
	for _, r := range c.Rows {
		if min(r.Values[0].N, r.Values[1].N) == 0 {
			continue // no repeat has enough values for its p99
		}
		name := benchstatName(r, target(r))
		row, ok := rows[name]
		if !ok {
			t.Errorf("benchstat has no %s", name)
			continue
		}
		delete(rows, name)
		ch := r.Changes[0]
		for side, v := range r.Values {
			// What is shown of a histogram is of all values, as in a report;
			// what is exported, and tested here, is one value of each repeat.
			// benchstat knows the latter only.
			center := v.Center
			if r.Histogram {
				center = stat.Median(v.independent)
			}
			if math.Abs(row.medians[side]/center-1) > 1e-6 {
				t.Errorf("%s: median %v, benchstat's %v", name, center, row.medians[side])
			}
		}
		if ch.P != nil && fmt.Sprintf("%.3f", *ch.P) != row.p {
			t.Errorf("%s: p %v, benchstat's %s", name, *ch.P, row.p)
		}
		// The verdict before the correction, which benchstat does not make.
		plain := ch
		plain.Adjusted = nil
		plain.conclude(r.Better, r.Values[0], r.Values[1], 1)
		if differs := plain.Verdict == Better || plain.Verdict == Worse; differs != row.differs {
			t.Errorf("%s: %s (%v in %v to %v, p %v), benchstat says that they differ: %v", name, plain.Verdict, *ch.Ratio, *ch.Lo, *ch.Hi, *ch.P, row.differs)
		} else if differs {
			differ++
		} else {
			same++
		}
		if !r.Headline && ch.Verdict != plain.Verdict {
			t.Errorf("%s: a secondary row says %s, without correction %s", name, ch.Verdict, plain.Verdict)
		}
	}
	if len(rows) > 0 {
		t.Errorf("benchstat compares more: %v", rows)
	}
	return differ, same
}

// TestBenchstat runs the real benchstat on the exports of many pairs of runs,
// with changes from none to plain.
func TestBenchstat(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: many simulated runs, which share nothing")
	}
	if _, err := exec.LookPath("go"); err != nil {
		if os.Getenv("KBENCH_REQUIRE_BENCHSTAT") != "" {
			t.Fatal("KBENCH_REQUIRE_BENCHSTAT is set and there is no go to build benchstat with")
		}
		t.Skip("SKIPPED: no go to build benchstat with")
	}
	tool := filepath.Join(t.TempDir(), "benchstat")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "golang.org/x/perf/cmd/benchstat")
	build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build benchstat: %v: %s", err, out)
	}
	differ, same := 0, 0
	for seed := range uint64(30) {
		tr := truth()
		tr.Seed, tr.Trials, tr.Repeats = seed, []int{3, 4, 5, 10, 20}[seed%5], 1+int(seed%6)
		tr.Noise = &simulated.Noise{Sigma: 0.05, AR: 0.3, Outliers: 0.02, Factor: 5}
		a := simulate(t, tr)
		factor := 1 + 0.005*float64(seed)
		value := tr.Value
		tr.Seed += 1000
		tr.Value = func(p simulated.Point) float64 { return value(p) * factor }
		b := simulate(t, tr)
		c := mustCompare(t, runs(a, b), Options{})
		d, s := agree(t, c, benchstat(t, tool, nil, a, b), func(r Row) string { return r.Target })
		differ, same = differ+d, same+s
		// The targets of one run.
		c = mustCompare(t, runs(a), Options{})
		d, s = agree(t, c, benchstat(t, tool, []string{"-col", "/target"}, a), func(Row) string { return "" })
		differ, same = differ+d, same+s
	}
	t.Logf("%d rows differ, %d do not", differ, same)
	if differ < 100 || same < 100 {
		t.Errorf("%d rows differ, %d do not: too few of one kind to show anything", differ, same)
	}
}
