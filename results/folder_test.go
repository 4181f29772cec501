package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var started = time.Date(2026, 11, 29, 17, 0, 0, 0, time.UTC)

func testSample(cell string, trial int, ms float64) Sample {
	return Sample{
		Cell: cell, Workload: "controlled-shutdown", Repeat: 1, Trial: trial, Metric: "controlled-shutdown.moved",
		Value: ms * 1e6, Unit: Nanoseconds, AtNs: int64(trial), Subject: "broker-1", Valid: true,
	}
}

// writeRun makes a small whole run folder and returns it.
func writeRun(t *testing.T, out string) string {
	t.Helper()
	w, err := Create(out, "Nightly: a/b \"=1\"", started)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(1)
	r.Shard(0).Record(time.Second)
	bad := testSample("zk.base.partitions-1k", 4, 9)
	bad.Valid, bad.Reason = false, "=cmd|' /C calc'!A0, \"quoted\"\nand a line"
	dir, err := w.NodesDir("zk.base.partitions-1k")
	for _, err := range []error{
		err,
		w.Event(Event{MonoNs: 1, Wall: started, Kind: "fault.injected", Node: "broker-1"}),
		w.Metric(Resource{Node: "broker-1", MonoNs: 7, CPUMs: 500}),
		w.Sample(testSample("zk.base.partitions-1k", 1, 3)),
		w.Sample(testSample("zk.base.partitions-1k", 2, 1)),
		w.Sample(testSample("zk.base.partitions-1k", 3, 2)),
		w.Sample(bad),
		w.Hlog("zk.base.partitions-1k", "controlled-shutdown", []Interval{{Tag: "moved", Start: started, End: started, Dist: r.Merged()}}),
		w.Flush(),
		os.WriteFile(filepath.Join(dir, "broker-1.log"), []byte("log\n"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	path, err := w.Commit(Manifest{
		Name: "nightly", Started: started, Ended: started.Add(time.Minute), Verdict: Valid,
		Cells: []Cell{{ID: "zk.base.partitions-1k", Target: "zk", Variant: "base", Partitions: 1000, Verdict: Valid, Point: []Coordinate{{"cluster.partitions", "1k"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFolderRoundTrip(t *testing.T) {
	out := filepath.Join(t.TempDir(), "deep", "kbench-results")
	path := writeRun(t, out)
	if want := filepath.Join(out, "20261129T170000Z-nightly-a-b-1"); path != want {
		t.Errorf("folder %s, want %s", path, want)
	}
	for _, name := range []string{path, out, filepath.Join(out, "latest")} {
		r, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Samples) != 4 || !r.Samples[0].Valid || r.Samples[3].Valid {
			t.Errorf("samples %+v", r.Samples)
		}
		want := testSample("zk.base.partitions-1k", 1, 3)
		if !reflect.DeepEqual(r.Samples[0], want) {
			t.Errorf("sample %+v\nwant %+v", r.Samples[0], want)
		}
		if got := r.Samples[3].Reason; got != "=cmd|' /C calc'!A0, \"quoted\"\nand a line" {
			t.Errorf("reason came back as %q", got)
		}
		if ev, err := r.Events(); err != nil || len(ev) != 1 || ev[0].Kind != "fault.injected" {
			t.Errorf("events %+v, %v", ev, err)
		}
		var used []Resource
		if err := r.EachResource(func(u Resource) error { used = append(used, u); return nil }); err != nil || len(used) != 1 || used[0].CPUMs != 500 || used[0].MonoNs != 7 {
			t.Errorf("resources %+v, %v", used, err)
		}
		stop := errors.New("stop")
		if err := r.EachEvent(func(Event) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("the error of the caller is lost: %v", err)
		}
		iv, err := r.Hlog("zk.base.partitions-1k", "controlled-shutdown")
		if err != nil || len(iv) != 1 || iv[0].Tag != "moved" || iv[0].Dist.Count() != 1 {
			t.Errorf("hlog %+v, %v", iv, err)
		}
		if names := r.HlogNames(); len(names) != 1 {
			t.Errorf("hlogs %v", names)
		}
		if err := r.VerifyFiles(); err != nil {
			t.Error(err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(path, "trials.csv"))
	if err != nil || !strings.Contains(string(raw), "\r\n") || !strings.Contains(string(raw), `"'=cmd|`) {
		t.Errorf("trials.csv is not RFC 4180 with formulas guarded:\n%s", raw)
	}
}

// TestNeverOverwritten: runs of the same second get folders of their own, also
// when they end together, and `latest` leads to one of them.
func TestNeverOverwritten(t *testing.T) {
	out := t.TempDir()
	var wg sync.WaitGroup
	paths := make([]string, 8)
	for i := range paths {
		wg.Go(func() {
			w, err := Create(out, "same", started)
			if err != nil {
				t.Error(err)
				return
			}
			if paths[i], err = w.Commit(Manifest{Name: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i, p := range paths {
		r, err := Open(p)
		if err != nil || seen[p] || r.Manifest.Name != fmt.Sprint(i) {
			t.Errorf("run %d in %s: %v", i, p, err)
		}
		seen[p] = true
	}
	if _, err := Open(out); err != nil {
		t.Errorf("latest: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(out, PartialPrefix+"*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLatestThatIsNoLinkIsLeftAlone(t *testing.T) {
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "latest"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	writeRun(t, out)
	if b, err := os.ReadFile(filepath.Join(out, "latest")); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestAbandonAndClosed(t *testing.T) {
	out := t.TempDir()
	w, err := Create(out, "x", started)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Abandon(), w.Abandon()); err != nil {
		t.Fatal(err)
	}
	if w.Event(Event{}) == nil || w.Sample(testSample("c", 1, 1)) == nil || w.Flush() == nil {
		t.Error("a closed folder takes data")
	}
	if _, err := w.Commit(Manifest{}); err == nil {
		t.Error("an abandoned folder commits")
	}
	if left, _ := os.ReadDir(out); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestImpossibleSamplesAreRefused(t *testing.T) {
	w, err := Create(t.TempDir(), "x", started)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Sample){
		"negative": func(s *Sample) { s.Value = -1 },
		"NaN":      func(s *Sample) { s.Value = nan() },
		"unit":     func(s *Sample) { s.Unit = PerSecond },
		"metric":   func(s *Sample) { s.Metric = "speed" },
		"phase":    func(s *Sample) { s.Metric = "controlled-shutdown" },
		"cell":     func(s *Sample) { s.Cell = "" },
	} {
		s := testSample("c", 1, 1)
		change(&s)
		if w.Sample(s) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func nan() float64 { z := 0.0; return z / z }

// TestBrokenFolders: each way in which a folder can be broken has a message
// that says which.
func TestBrokenFolders(t *testing.T) {
	edit := func(name string, f func([]byte) []byte) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, f(b), 0o644)
		}
	}
	replace := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(strings.Replace(string(b), from, to, 1)) }
	}
	for name, c := range map[string]struct {
		do   func(dir string) error
		want string
	}{
		"no manifest":        {func(d string) error { return os.Remove(filepath.Join(d, manifestName)) }, "is no run folder"},
		"empty manifest":     {edit(manifestName, func([]byte) []byte { return nil }), "manifest.json is empty"},
		"truncated manifest": {edit(manifestName, func(b []byte) []byte { return b[:len(b)/2] }), "truncated or damaged"},
		"foreign":            {edit(manifestName, replace("kbench-run", "other")), "not of kbench"},
		"newer":              {edit(manifestName, replace(`"schemaVersion": 1`, `"schemaVersion": 2`)), "newer kbench (schema 2, this one reads up to 1)"},
		"version 0":          {edit(manifestName, replace(`"schemaVersion": 1`, `"schemaVersion": 0`)), "never was"},
		"wrong type":         {edit(manifestName, replace(`"name": "nightly"`, `"name": 3`)), "is damaged"},
		"half deleted":       {func(d string) error { return os.Remove(filepath.Join(d, "events.jsonl")) }, "1 of 5 files are missing: events.jsonl"},
		"truncated csv":      {edit("trials.csv", func(b []byte) []byte { return b[:len(b)-9] }), "changed or truncated: trials.csv"},
		"foreign csv":        {edit("trials.csv", replace("cell,", "sell,")), "trials.csv is damaged: the header"},
		"NaN in csv":         {edit("trials.csv", replace(",3000000,", ",NaN,,,,")), "changed or truncated"},
		"NaN of same length": {edit("trials.csv", replace(",3000000,", ",    NaN,")), "trials.csv is damaged: line 2"},
		"outside":            {edit(manifestName, replace(`"name": "events.jsonl"`, `"name": "../../etc/passwd"`)), "lies outside"},
		"unknown cell":       {edit(manifestName, replace(`"id": "zk.base.partitions-1k"`, `"id": "other"`)), "which the manifest does not list"},
		"a pipe": {func(d string) error {
			return errors.Join(os.Remove(filepath.Join(d, manifestName)), unix.Mkfifo(filepath.Join(d, manifestName), 0o644))
		}, "no regular file"},
		"nameless cell":       {edit(manifestName, replace(`"id": "zk.base.partitions-1k"`, `"id": ""`)), "cell 1 of 1 has no id"},
		"negative partitions": {edit(manifestName, replace(`"partitions": 1`, `"partitions": -1`)), "partitions"},
		"a cell twice": {edit(manifestName, func(b []byte) []byte {
			var m map[string]any
			if err := json.Unmarshal(b, &m); err != nil {
				t.Fatal(err)
			}
			cells := m["cells"].([]any)
			m["cells"] = append(cells, cells[0])
			b, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}), "is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeRun(t, t.TempDir())
			if err := c.do(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	dir := writeRun(t, t.TempDir())
	if err := edit("events.jsonl", replace("injected", "INJECTED"))(dir); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.VerifyFiles(); err == nil || !strings.Contains(err.Error(), "events.jsonl is not what the run wrote") {
		t.Errorf("a changed file passes: %v", err)
	}
	dir = writeRun(t, t.TempDir())
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   string // in the error, "" for none
	}{
		"verdict":           {replace(`"verdict": "valid"`, `"verdict": "invalid"`), "manifest.json is not what the run wrote"},
		"a space":           {replace(`"name": `, `"name":  `), "manifest.json is not what the run wrote"},
		"its digest":        {replace(`"digest": "`, `"digest": "0`), "manifest.json is not what the run wrote"},
		"an older kbench's": {func(b []byte) []byte { return regexp.MustCompile(`,\s*"digest": "\w+"`).ReplaceAll(b, nil) }, ""},
		"nothing":           {func(b []byte) []byte { return b }, ""},
	} {
		t.Run("manifest: "+name, func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "run")
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(filepath.Join(copied, manifestName))
			if err != nil {
				t.Fatal(err)
			}
			if err := edit(manifestName, c.change)(copied); err != nil {
				t.Fatal(err)
			}
			if after, err := os.ReadFile(filepath.Join(copied, manifestName)); err != nil || bytes.Equal(before, after) != (name == "nothing") {
				t.Fatalf("the change changed nothing, %v:\n%s", err, before)
			}
			r, err := Open(copied)
			if err != nil {
				t.Fatal(err)
			}
			err = r.VerifyFiles()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "no"):         "no such run folder",
		filepath.Join(dir, "nodes"):      "is no run folder",
		filepath.Join(dir, "trials.csv"): "is a file",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string]string{
		"":                             "is empty",
		file:                           "is a file",
		filepath.Join(file, "x"):       "not a directory",
		filepath.Join(dir, "dangling"): "leads nowhere",
		"/proc/kbench/out":             "cannot be written",
	} {
		if err := CheckDir("--out", out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", out, err, want)
		}
	}
	for _, out := range []string{dir, filepath.Join(dir, "new"), filepath.Join(dir, "new", "é mit space")} {
		if err := CheckDir("--out", out); err != nil {
			t.Errorf("%q: %v", out, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("CheckDir left %v", left)
	}
}

func TestSweepSparesTheLivingAndForeign(t *testing.T) {
	out := filepath.Join(t.TempDir(), "odd [name]*")
	whole := writeRun(t, out)
	living, err := Create(out, "living", started)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := Create(out, "dead", started)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as the kernel does for a killed process
		t.Fatal(err)
	}
	for _, name := range []string{"mine", PartialPrefix + "probe-1"} {
		if err := os.WriteFile(filepath.Join(out, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	worth, err := Create(out, "worth", started)
	if err == nil {
		err = errors.Join(worth.Checkpoint(1, "state"), worth.lock.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	removed, kept, err := SweepPartials(out, false)
	if err != nil || len(removed) != 2 || !slices.Equal(kept, []string{worth.Dir()}) {
		t.Errorf("removed %q, kept %q, %v", removed, kept, err)
	}
	if removed, kept, err := SweepPartials(out, true); err != nil || !slices.Equal(removed, []string{worth.Dir()}) || len(kept) != 0 {
		t.Errorf("of all: removed %q, kept %q, %v", removed, kept, err)
	}
	for path, want := range map[string]bool{whole: true, living.Dir(): true, dead.Dir(): false, filepath.Join(out, "mine"): true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := living.Commit(Manifest{}); err != nil {
		t.Error(err)
	}
	if removed, _, err := SweepPartials(filepath.Join(out, "absent"), true); err != nil || len(removed) != 0 {
		t.Errorf("%q, %v", removed, err)
	}
}
