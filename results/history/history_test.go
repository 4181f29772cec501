package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/results"
	"kbench/results/simulated"
)

var first = time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)

// truth is night i: a median of 2 s and more.
func truth(i int) simulated.Truth {
	return simulated.Truth{
		Name: "nightly", Targets: []string{"zk", "kraft"}, Partitions: []int{1000},
		Metrics: []string{"recovery.controller.first-admin", "propagation.last"}, Trials: 3, Repeats: 2,
		Started: first.AddDate(0, 0, i), Seed: uint64(i), Commit: fmt.Sprintf("%07x", i),
		Value: func(p simulated.Point) float64 {
			if p.Metric == "propagation.last" {
				return 5e6
			}
			return 2e9 + float64(p.Trial)*1e6 + float64(p.Repeat)*1e3
		},
	}
}

func night(t testing.TB, tr simulated.Truth) *Night {
	t.Helper()
	r, err := simulated.New(tr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := FromRun(r)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustRead(t *testing.T, path string) *Log {
	t.Helper()
	l, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustAdd(t testing.TB, path string, nights ...*Night) Added {
	t.Helper()
	a, err := Add(path, nights...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func names(l *Log) []string {
	var out []string
	for _, n := range l.Nights {
		out = append(out, n.Run)
	}
	return out
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func count(t *testing.T, h *Histogram) int64 {
	t.Helper()
	d, err := h.Distribution()
	if err != nil {
		t.Fatal(err)
	}
	return d.Count()
}

// A run that was interrupted is shown and enters no series as a measurement, also
// by the cells that it had finished.
func TestInterrupted(t *testing.T) {
	tr := truth(0)
	tr.Edit = func(m *results.Manifest) { m.Interrupted = true }
	n := night(t, tr)
	for i := range n.Cells {
		c := &n.Cells[i]
		if ok, why := c.Usable(&c.Figures[0]); ok || why != "invalid: the run was interrupted" {
			t.Errorf("%s of an interrupted run may be compared: %q", c.ID, why)
		}
	}
}

// TestRoundTrip: what a run folder holds comes back, figure by figure.
func TestRoundTrip(t *testing.T) {
	r, err := simulated.Write(t.TempDir(), truth(0))
	if err != nil {
		t.Fatal(err)
	}
	n, err := FromRun(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "deep", "kbench-history")
	if a := mustAdd(t, filepath.Join(path, FileName), n); len(a.Added) != 1 || len(a.Notes) != 0 {
		t.Errorf("added %+v", a)
	}
	l := mustRead(t, path)
	if len(l.Nights) != 1 || asJSON(t, l.Nights[0]) != asJSON(t, n) {
		t.Fatalf("read %s\nwant %s", asJSON(t, l.Nights), asJSON(t, n))
	}
	figs, err := r.Figures()
	if err != nil || len(figs) == 0 {
		t.Fatal(err)
	}
	for _, want := range figs {
		_, got := l.Nights[0].Find(want.Cell, want.Workload, want.Metric+"."+want.Phase)
		if got == nil || got.N != want.N || got.Median != want.Median || got.Min != want.Min || got.Max != want.Max ||
			!reflect.DeepEqual(got.MedianLo, want.MedianLo) || !reflect.DeepEqual(got.Percentiles, want.Percentiles) {
			t.Errorf("%s of %s: %+v, want %+v", want.Metric, want.Cell, got, want)
			continue
		}
		var n int64
		for _, rep := range got.Repeats {
			if want.Histogram != (rep.Histogram != nil) || rep.Histogram != nil && count(t, rep.Histogram) != rep.N {
				t.Errorf("%s: histogram %v", want.Metric, rep.Histogram)
			}
			n += rep.N
		}
		if len(got.Repeats) != 2 || n != want.N {
			t.Errorf("%s: repeats %+v", want.Metric, got.Repeats)
		}
	}
	_, f := l.Nights[0].Find("zk.base.partitions-1k", "controller-failover", "recovery.controller.first-admin")
	if v, ok := f.Values(); !ok || len(v) != 6 || v[0] != 2e9+1e6+1e3 || v[5] != 2e9+3e6+2e3 {
		t.Errorf("values %v, %v", v, ok)
	}
	for _, name := range []string{".gitattributes", ".gitignore"} {
		if _, err := os.Stat(filepath.Join(path, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestOrderAndDuplicates: nights come back by their instants, whatever order,
// zone or repetition they were added in.
func TestOrderAndDuplicates(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	tokyo, lima := time.FixedZone("", 9*3600), time.FixedZone("", -5*3600)
	zones := []*time.Location{time.UTC, tokyo, lima}
	var nights []*Night
	for i := range 6 {
		tr := truth(i)
		tr.Started = first.Add(time.Duration(i) * time.Hour).In(zones[i%3]) // clocks on the walls are out of order
		nights = append(nights, night(t, tr))
	}
	mustAdd(t, path, nights[4], nights[1])
	mustAdd(t, path, nights[5], nights[0], nights[3], nights[2])
	again := mustAdd(t, path, nights[2], nights[5], nights[5])
	if len(again.Added) != 0 || len(again.Skipped) != 3 {
		t.Errorf("added again: %+v", again)
	}
	l := mustRead(t, path)
	for i, n := range l.Nights {
		_, got := n.Started.Zone()
		_, want := nights[i].Started.Zone()
		if n.Run != nights[i].Run || got != want {
			t.Errorf("night %d is %s at %s, want %s", i, n.Run, n.Started, nights[i].Run)
		}
	}
	if len(l.Nights) != 6 {
		t.Errorf("%d nights", len(l.Nights))
	}
	// Sorted as text the lines stand in the order of their instants.
	b, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	slices.Sort(lines)
	for i, line := range lines {
		if !strings.Contains(line, nights[i].Run) {
			t.Errorf("sorted line %d is not of %s", i, nights[i].Run)
		}
	}
}

// TestSameNameOtherRun: two machines name a run alike; both count, and neither
// can be meant by the name alone.
func TestSameNameOtherRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	a, b := truth(0), truth(0)
	b.Value = func(simulated.Point) float64 { return 3e9 }
	mustAdd(t, path, night(t, a), night(t, b))
	l := mustRead(t, path)
	if len(l.Nights) != 2 || l.Nights[0].Run != l.Nights[1].Run {
		t.Fatalf("%v", names(l))
	}
	if _, err := l.Lookup(l.Nights[0].Run); err == nil || !strings.Contains(err.Error(), "2 runs match") {
		t.Errorf("ambiguous name: %v", err)
	}
	if n, err := l.Lookup(l.Nights[1].Run + "@" + l.Nights[1].Digest); err != nil || n != l.Nights[1] {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := l.Lookup("nothing"); err == nil {
		t.Error("found nothing")
	}
}

// TestUnionMerge: two branches add to one history; git's union of both sides,
// in any order and with lines twice, is the history of all.
func TestUnionMerge(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	base := []*Night{night(t, truth(0)), night(t, truth(1))}
	mustAdd(t, ours, base...)
	mustAdd(t, theirs, base...)
	mustAdd(t, ours, night(t, truth(3)), night(t, truth(4)))
	mustAdd(t, theirs, night(t, truth(4)), night(t, truth(2)))
	a, _ := os.ReadFile(ours)
	b, _ := os.ReadFile(theirs)
	merged := filepath.Join(dir, "merged")
	if err := os.WriteFile(merged, append(b, a...), 0o644); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 5 {
		want = append(want, night(t, truth(i)).Run)
	}
	if got := names(mustRead(t, merged)); !slices.Equal(got, want) {
		t.Errorf("nights %v, want %v", got, want)
	}
}

// TestCrash cuts the last line short after every byte: readers see the nights
// before it and say what is wrong, the next add moves the rest aside, and
// nothing else is lost.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	a, b, c := night(t, truth(0)), night(t, truth(1)), night(t, truth(2))
	mustAdd(t, path, a)
	whole, _ := os.ReadFile(path)
	mustAdd(t, path, b)
	both, _ := os.ReadFile(path)
	step := max(1, (len(both)-len(whole))/97)
	cuts := []int{len(whole) + 1, len(whole) + 2, len(both) - 2, len(both) - 1}
	for cut := len(whole) + 3; cut < len(both); cut += step {
		cuts = append(cuts, cut)
	}
	for _, cut := range cuts {
		if err := os.WriteFile(path, both[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(tornPath(path))
		// A line that lacks only its newline is whole.
		torn := cut != len(both)-1
		l := mustRead(t, path)
		if want := 2 - btoi(torn); len(l.Nights) != want || (len(l.Notes) == 1) != torn {
			t.Fatalf("cut at %d of %d: %d nights, notes %v", cut, len(both), len(l.Nights), l.Notes)
		}
		if added := mustAdd(t, path, c); (len(added.Notes) == 1) != torn {
			t.Fatalf("cut at %d: notes of the add %v", cut, added.Notes)
		}
		l = mustRead(t, path)
		want := []string{a.Run, b.Run, c.Run}
		if torn {
			want = []string{a.Run, c.Run}
		}
		if !slices.Equal(names(l), want) || len(l.Notes) != 0 {
			t.Fatalf("cut at %d: nights %v, notes %v", cut, names(l), l.Notes)
		}
		aside, _ := os.ReadFile(tornPath(path))
		if torn && string(aside) != string(both[len(whole):cut])+"\n" {
			t.Fatalf("cut at %d: %d bytes were moved aside", cut, len(aside))
		}
	}
	// Blocks that a file system had reserved and not filled.
	if err := os.WriteFile(path, append(bytes.Clone(whole), make([]byte, 4096)...), 0o644); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, path, c)
	if l := mustRead(t, path); !slices.Equal(names(l), []string{a.Run, c.Run}) {
		t.Errorf("after zeros: %v", names(l))
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestDamage: what is not a history is refused by line and with a cure, by
// readers and by adds alike, and the file is not touched.
func TestDamage(t *testing.T) {
	good := asJSON(t, night(t, truth(0)))
	other := asJSON(t, night(t, truth(1)))
	edit := func(old, new string) string {
		out := strings.Replace(good, old, new, 1)
		if out == good {
			t.Fatalf("%q is not in the line", old)
		}
		return out
	}
	for name, c := range map[string]struct {
		text string
		want string // in the error, which begins with path:line
		line int
	}{
		"conflict":        {good + "\n<<<<<<< HEAD\n" + other + "\n=======\n>>>>>>> main\n", "conflict marker of git; keep the lines of both sides", 2},
		"conflict at end": {good + "\n>>>>>>> main", "conflict marker", 2},
		"text":            {good + "\nhello\n", "not a line of a history", 2},
		"text alone":      {"hello", "not a line of a history", 1},
		"truncated":       {good[:100] + "\n" + other + "\n", "not a line of a history", 1},
		"foreign":         {`{"a":1}` + "\n", "JSON of something else", 1},
		"foreign list":    {`[1,2]` + "\n", "not a line of a history", 1},
		"newer":           {edit(`"kbenchHistory":1`, `"kbenchHistory":7`) + "\n", "newer kbench (format 7, this one reads up to 1)", 1},
		"newer at end":    {good + "\n" + edit(`"kbenchHistory":1`, `"kbenchHistory":7`), "newer kbench", 2},
		"negative format": {edit(`"kbenchHistory":1`, `"kbenchHistory":-1`) + "\n", "never was", 1},
		"kind":            {edit(`"kind":"run"`, `"kind":"ran"`) + "\n", `unknown kind "ran"`, 1},
		"NaN":             {edit(`"load1":0.2`, `"load1":NaN`) + "\n", "not a line of a history", 1},
		"negative":        {edit(`"min":20`, `"min":-20`) + "\n", "min is -2", 1},
		"huge":            {edit(`"load1":0.2`, `"load1":1e999`) + "\n", "damaged", 1},
		"out of order":    {edit(`"min":20`, `"min":990`) + "\n", "out of order", 1},
		"no name":         {edit(`"run":"20260301T020000Z-nightly"`, `"run":""`) + "\n", "a run without a name", 1},
		"two instants":    {edit(`"at":"2026-03-01T02`, `"at":"2026-03-01T03`) + "\n", "are not one instant", 1},
		"accept":          {`{"at":"2026-03-01T02:00:00Z","kbenchHistory":1,"kind":"accept"}` + "\n", "accepted change without a run", 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), FileName)
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path)
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("%s:%d: ", path, c.line)) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("read: %v", err)
			}
			if _, err := Add(path, night(t, truth(5))); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("add: %v", err)
			}
			if after, _ := os.ReadFile(path); string(after) != c.text {
				t.Error("the damaged file was changed")
			}
		})
	}
}

// TestHarmless: what a merge or an editor leaves does no harm.
func TestHarmless(t *testing.T) {
	a, b := asJSON(t, night(t, truth(0))), asJSON(t, night(t, truth(1)))
	for name, text := range map[string]string{
		"blank lines": "\n" + a + "\n\n" + b + "\n\n",
		"byte order":  "\ufeff" + a + "\n" + b + "\n",
		"CRLF":        a + "\r\n" + b + "\r\n",
		"no newline":  a + "\n" + b,
		"twice":       a + "\n" + b + "\n" + a + "\n",
		"unknown key": strings.Replace(a, `"run":`, `"later":{"x":[1]},"run":`, 1) + "\n" + b + "\n",
	} {
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if l := mustRead(t, path); len(l.Nights) != 2 || len(l.Notes) != 0 {
			t.Errorf("%s: %v %v", name, names(l), l.Notes)
		}
		mustAdd(t, path, night(t, truth(2)))
		if l := mustRead(t, path); len(l.Nights) != 3 {
			t.Errorf("%s: %v", name, names(l))
		}
	}
}

// TestEmptyAndAbsent: an empty file is a history without nights; no file is an
// error that says how to begin; a directory of another kind is no history.
func TestEmptyAndAbsent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "kbench history add RUN") {
		t.Errorf("absent: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if l := mustRead(t, dir); len(l.Nights) != 0 {
		t.Errorf("empty: %v", names(l))
	}
	mustAdd(t, filepath.Join(dir, "new")+"/", night(t, truth(0)))
	if _, err := os.Stat(filepath.Join(dir, "new", FileName)); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d", FileName), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(filepath.Join(dir, "d")); err == nil {
		t.Error("a directory named like a history was read")
	}
	if _, err := Add("/proc/kbench/"+FileName, night(t, truth(0))); err == nil {
		t.Error("added to /proc")
	}
	if _, err := Add(filepath.Join(dir, "d", FileName, FileName, "x"), night(t, truth(0))); err != nil {
		t.Error(err)
	}
}

// TestOddRuns: nights without samples, of one sample, of equal samples, with
// names of any letters.
func TestOddRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	odd := "=a/b \"<b>\" ü\u2028\n'"
	for i, edit := range []func(*simulated.Truth){
		func(tr *simulated.Truth) { tr.Trials = 0 },
		func(tr *simulated.Truth) { tr.Trials, tr.Repeats = 1, 1 },
		func(tr *simulated.Truth) { tr.Value = func(simulated.Point) float64 { return 0 } },
		func(tr *simulated.Truth) { tr.Value = func(simulated.Point) float64 { return 3e12 } },
		func(tr *simulated.Truth) { tr.Invalid = func(simulated.Point) string { return odd } },
		func(tr *simulated.Truth) {
			tr.Name = odd
			tr.Edit = func(m *results.Manifest) { m.Warnings, m.Tool.Commit = []string{odd}, odd }
		},
	} {
		tr := truth(i)
		edit(&tr)
		n := night(t, tr)
		mustAdd(t, path, n)
		if l := mustRead(t, path); len(l.Nights) != i+1 || asJSON(t, l.Nights[i]) != asJSON(t, n) {
			t.Errorf("run %d came back as %s", i, asJSON(t, l.Nights[i]))
		}
	}
}

// TestManyValues: more values than are listed become a histogram.
func TestManyValues(t *testing.T) {
	tr := truth(0)
	tr.Trials = MaxValues/2 + 1
	n := night(t, tr)
	_, f := n.Find("zk.base.partitions-1k", "controller-failover", "recovery.controller.first-admin")
	if _, ok := f.Values(); ok || count(t, f.Repeats[0].Histogram) != f.N/2 || count(t, f.Repeats[1].Histogram) != f.N/2 || f.N != MaxValues+2 {
		t.Errorf("figure of %d values: %+v", f.N, f)
	}
}

// TestFullDisk: where the write fails nothing is added.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := writeLines(f, []any{night(t, truth(0))}); err == nil || !strings.Contains(err.Error(), "nothing was added") {
		t.Errorf("%v", err)
	}
	if _, err := openForAppend("/dev/full"); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a device was opened as a history: %v", err)
	}
}
