package results

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What was written after the last checkpoint is gone when a run is resumed,
// and the folder is as if nothing had happened.
func TestResume(t *testing.T) {
	out := t.TempDir()
	w, err := Create(out, "nightly", started)
	if err != nil {
		t.Fatal(err)
	}
	write := func(w *Writer, trial int) {
		t.Helper()
		rec := NewRecorder(1)
		rec.Shard(0).Record(time.Duration(trial) * time.Millisecond)
		err := errors.Join(
			w.Sample(testSample("kraft.base", trial, float64(trial))),
			w.Event(Event{Kind: "trial", Trial: trial}),
			w.Metric(Resource{Node: "broker-1", MonoNs: int64(trial)}),
			w.Hlog("kraft.base", HlogFigure("propagation", "propagation", trial), []Interval{{Tag: "last", Start: started, End: started, Dist: rec.Merged()}}),
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	write(w, 1)
	dir, err := w.NodesDir("kraft.base.1")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "broker-1.log"), nil, 0o644)
	}
	from := w.Mark()
	write(w, 2)
	err = errors.Join(err, w.Drop(from, w.Mark(), "dropped-1", "its pair was run again"), w.Checkpoint(1, map[string]string{"spec": "x"}))
	if err != nil {
		t.Fatal(err)
	}
	write(w, 3) // lost
	if dir, err = w.NodesDir("kraft.base.2"); err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "broker-1.log"), nil, 0o644), w.Flush())
	}
	if err != nil {
		t.Fatal(err)
	}
	u, err := FindUnfinished(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Resume(); err == nil || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("a run that goes on was taken: %v", err)
	}
	if err := u.Free(); err == nil || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("a run that goes on is free: %v", err)
	}
	if err := w.lock.Close(); err != nil { // as the kernel does for a killed process
		t.Fatal(err)
	}
	if u, err = FindUnfinished(w.Dir()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // looking takes nothing
		if err := u.Free(); err != nil {
			t.Fatal(err)
		}
	}
	var state map[string]string
	if err := json.Unmarshal(u.State, &state); err != nil || state["spec"] != "x" || u.Done != 1 {
		t.Errorf("state %v of %d, %v", state, u.Done, err)
	}
	again, err := u.Resume()
	if err != nil {
		t.Fatal(err)
	}
	write(again, 5) // lost too
	again = resumeFailed(t, again)
	write(again, 4)
	path, err := again.Commit(Manifest{Cells: []Cell{{ID: "kraft.base", Verdict: Valid}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(out, runID("nightly", started)); path != want {
		t.Errorf("the run is %s, want %s", path, want)
	}
	checkResumed(t, path)
}

// resumeFailed has the manifest not be written, as where no room is left for it,
// and takes the folder up again.
func resumeFailed(t *testing.T, w *Writer) *Writer {
	t.Helper()
	obstacle := filepath.Join(w.Dir(), manifestName)
	if err := os.Mkdir(obstacle, 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := w.Commit(Manifest{Cells: []Cell{{ID: "kraft.base", Verdict: Valid}}}); err == nil || !strings.Contains(err.Error(), w.Dir()) {
		t.Fatalf("finished as %s: %v", path, err)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	u, err := FindUnfinished(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	again, err := u.Resume()
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func checkResumed(t *testing.T, path string) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var trials []int
	for _, s := range r.Samples {
		if s.Valid != (s.Trial != 2) {
			t.Errorf("trial %d: valid %t", s.Trial, s.Valid)
		}
		trials = append(trials, s.Trial)
	}
	events, err := r.Events()
	for _, e := range events {
		trials = append(trials, e.Trial)
	}
	if want := []int{1, 2, 4, 1, 2, 4}; err != nil || !slices.Equal(trials, want) {
		t.Errorf("samples and events of trials %v, want %v, %v", trials, want, err)
	}
	var files []string
	for _, f := range r.Manifest.Files {
		files = append(files, f.Name)
	}
	want := []string{
		"events.jsonl", "kraft.base.propagation.propagation.1.hlog", "kraft.base.propagation.propagation.2.dropped-1.hlog",
		"kraft.base.propagation.propagation.4.hlog", "metrics.jsonl", "nodes/kraft.base.1/broker-1.log", "trials.csv",
	}
	if !slices.Equal(files, want) {
		t.Errorf("files %q\nwant %q", files, want)
	}
	if err := r.VerifyFiles(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(path); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }) {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestFindUnfinished(t *testing.T) {
	out := t.TempDir()
	says := func(path, want string) {
		t.Helper()
		if u, err := FindUnfinished(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", path, u, err)
		}
	}
	says(out, "no unfinished run")
	says(filepath.Join(out, "absent"), "no unfinished run")
	says(writeRun(t, out), "is finished")
	var dirs []string
	for range 2 {
		w, err := Create(out, "killed", started)
		if err == nil {
			err = errors.Join(w.Checkpoint(0, 1), w.lock.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, w.Dir())
	}
	says(out, "2 unfinished runs")
	if u, err := FindUnfinished(dirs[0]); err != nil || u.Dir != dirs[0] {
		t.Errorf("%v, %v", u, err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], journalName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	says(dirs[0], "damaged")
	if err := os.WriteFile(filepath.Join(dirs[1], journalName), []byte(`{"format":"kbench-journal-9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	says(dirs[1], "resume it with the version that wrote it")
}
