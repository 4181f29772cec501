package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kbench/results"
	"kbench/results/simulated"
)

// simulatedRun writes a run of zk and kraft, of which kraft is better by the
// factor, into a directory of its own.
func simulatedRun(t *testing.T, seed uint64, factor float64, edit func(*results.Manifest)) *results.Run {
	t.Helper()
	r, err := simulated.Write(t.TempDir(), simulated.Truth{
		Name: "nightly", Targets: []string{"zk", "kraft"}, Partitions: []int{1000}, Trials: 8, Seed: seed,
		Metrics: []string{"controlled-shutdown.moved", "propagation.last"}, Noise: &simulated.Noise{Sigma: 0.03}, Edit: edit,
		Value: func(p simulated.Point) float64 {
			if p.Target == "kraft" {
				return 1e9 / factor
			}
			return 1e9
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// kbench runs the command line and gives what came of it.
func kbench(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

func TestCompare(t *testing.T) {
	a, b := simulatedRun(t, 1, 2, nil), simulatedRun(t, 2, 3, nil)
	code, out, errs := kbench("compare", a.Dir, b.Dir)
	if code != 0 || errs != "" || !strings.Contains(out, "B against A, 4 headlines: 1 better, 0 worse, 3 not known to differ") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	code, out, _ = kbench("compare", filepath.Dir(a.Dir))
	if code != 0 || !strings.Contains(out, "kraft against zk, 2 headlines: 1 better") {
		t.Errorf("one folder of runs: exit code %d\n%s", code, out)
	}
	code, out, _ = kbench("compare", a.Dir, b.Dir, "--by", "target", "--format", "md")
	if code != 0 || !strings.Contains(out, "| A zk |") || !strings.Contains(out, "B kraft") {
		t.Errorf("by target: exit code %d\n%s", code, out)
	}
	code, out, _ = kbench("compare", a.Dir, b.Dir, "--format", "json")
	var c struct {
		Format string `json:"format"`
		Rows   []any  `json:"rows"`
	}
	if err := json.Unmarshal([]byte(out), &c); code != 0 || err != nil || c.Format != "kbench-comparison" || len(c.Rows) != 6 {
		t.Errorf("JSON: exit code %d, %d rows, %v", code, len(c.Rows), err)
	}
	code, out, _ = kbench("compare", a.Dir, b.Dir, "--format", "csv")
	if rows, err := csv.NewReader(strings.NewReader(out)).ReadAll(); code != 0 || err != nil || len(rows) != 7 {
		t.Errorf("CSV: exit code %d, %d lines, %v", code, len(rows), err)
	}
}

// TestCompareExits pins the exit code and the words of what cannot be
// compared.
func TestCompareExits(t *testing.T) {
	good := simulatedRun(t, 1, 2, nil).Dir
	kernel := simulatedRun(t, 2, 2, func(m *results.Manifest) { m.Environment.Kernel = "6.2.0" }).Dir
	invalid := simulatedRun(t, 3, 2, func(m *results.Manifest) {
		for i := range m.Cells {
			m.Cells[i].Verdict, m.Cells[i].Reasons = results.Invalid, []string{"the disk was full"}
		}
	}).Dir
	broken := func(edit func(dir string) error) string {
		dir := simulatedRun(t, 4, 2, nil).Dir
		if err := edit(dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	replace := func(name, old, text string) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, []byte(strings.Replace(string(b), old, text, 1)), 0o644)
		}
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no runs":        {nil, 2, "takes run folders"},
		"missing":        {[]string{good, filepath.Join(good, "nowhere")}, 2, "no such run folder"},
		"a file":         {[]string{filepath.Join(good, "trials.csv")}, 2, "is a file"},
		"foreign":        {[]string{good, t.TempDir()}, 2, "no run folder"},
		"newer":          {[]string{good, broken(replace("manifest.json", `"schemaVersion": 1`, `"schemaVersion": 99`))}, 2, "newer kbench"},
		"other format":   {[]string{good, broken(replace("manifest.json", `"kbench-run"`, `"other"`))}, 2, "not of kbench"},
		"truncated":      {[]string{good, broken(func(d string) error { return os.Truncate(filepath.Join(d, "manifest.json"), 100) })}, 2, "truncated"},
		"empty":          {[]string{good, broken(func(d string) error { return os.Truncate(filepath.Join(d, "manifest.json"), 0) })}, 2, "empty"},
		"half deleted":   {[]string{good, broken(func(d string) error { return os.Remove(filepath.Join(d, "trials.csv")) })}, 2, "missing"},
		"cut trials":     {[]string{good, broken(func(d string) error { return os.Truncate(filepath.Join(d, "trials.csv"), 200) })}, 2, "truncated"},
		"kernel":         {[]string{good, kernel}, 2, "--ignore environment.kernel"},
		"kernel ignored": {[]string{good, kernel, "--ignore", "environment.kernel"}, 0, ""},
		"invalid":        {[]string{good, invalid}, 3, "nothing was compared"},
		"by":             {[]string{good, "--by", "targets"}, 2, `did you mean "target"?`},
		"format":         {[]string{good, "--format", "cvs"}, 2, `did you mean "csv"?`},
		"flag":           {[]string{good, "--ignor", "x"}, 2, "did you mean --ignore?"},
	} {
		code, out, errs := kbench(append([]string{"compare"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", name, code, errs, c.code, c.want)
		}
		if c.code == 2 && out != "" {
			t.Errorf("%s: bad input printed %s", name, out)
		}
		if name == "invalid" && !strings.Contains(out, "the disk was full") {
			t.Errorf("the reason is not named: %s", out)
		}
	}
}
