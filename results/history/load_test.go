package history

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"kbench/results/simulated"
)

func mustLoad(t testing.TB, path string) Loaded {
	t.Helper()
	l, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sameAsFile judges what Load gives by what the file says.
func sameAsFile(t *testing.T, what, path string, notes int) {
	t.Helper()
	log := mustRead(t, path)
	got := mustLoad(t, path)
	if want := log.Series(); !reflect.DeepEqual(got.Series, want) {
		t.Errorf("%s: series\n%+v\nwant\n%+v", what, got.Series, want)
	}
	if len(got.Accepts) != len(log.Accepts) {
		t.Errorf("%s: accepts %+v, want %+v", what, got.Accepts, log.Accepts)
	}
	for i, a := range got.Accepts {
		if !a.same(log.Accepts[i]) {
			t.Errorf("%s: accept %+v, want %+v", what, a, log.Accepts[i])
		}
	}
	if len(got.Notes) != notes {
		t.Errorf("%s: notes %q, want %d", what, got.Notes, notes)
	}
}

// indexed counts the nights of the index.
func indexed(t *testing.T, path string) (n int) {
	t.Helper()
	x, err := openIndex(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer x.db.Close()
	if err := x.db.QueryRow("SELECT count(*) FROM nights").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestIndex: whatever becomes of the index or the file, Load says what the
// file says.
func TestIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a history?#%.jsonl")
	for i := range 4 {
		tr := truth(3 - i)
		if i == 2 {
			tr.Invalid = func(simulated.Point) string { return "the generator slipped" }
		}
		mustAdd(t, path, night(t, tr))
	}
	sameAsFile(t, "no index", path, 0)
	if n := indexed(t, path); n != 4 {
		t.Errorf("the index has %d nights", n)
	}
	sameAsFile(t, "index", path, 0)

	mustAdd(t, path, night(t, truth(9)), night(t, truth(-3)))
	if _, err := AddAccept(path, AcceptNight(night(t, truth(9)), "", "", "known", "me", first)); err != nil {
		t.Fatal(err)
	}
	sameAsFile(t, "appended", path, 0)
	if n := indexed(t, path); n != 6 {
		t.Errorf("the index has %d nights after an append", n)
	}

	b, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append(b, b...), 0o644); err != nil {
		t.Fatal(err)
	}
	sameAsFile(t, "every line twice", path, 0)

	if _, err := Prune(path, Keep{Newest: 2}); err != nil {
		t.Fatal(err)
	}
	sameAsFile(t, "pruned", path, 0)
	if n := indexed(t, path); n != 2 {
		t.Errorf("the index has %d nights after a prune", n)
	}

	// Of the same size, at the same time.
	b, _ = os.ReadFile(path)
	info, _ := os.Stat(path)
	if err := os.WriteFile(path, bytes.Replace(b, []byte(`"median":2`), []byte(`"median":3`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(b, []byte(`"commit":"0000009"`), []byte(`"commit":"abcdef9"`)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	sameAsFile(t, "edited in place", path, 0)
}

// TestDamagedIndex: an index that is no index is made anew, with a note; one
// that cannot be made is done without.
func TestDamagedIndex(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	mustAdd(t, path, night(t, truth(0)), night(t, truth(1)))
	sameAsFile(t, "first", path, 0)
	whole, err := os.ReadFile(path + indexSuffix)
	if err != nil {
		t.Fatal(err)
	}
	holed := bytes.Clone(whole)
	for i := 4096; i < len(holed); i++ {
		holed[i] = 0x5a
	}
	for name, b := range map[string][]byte{
		"text": []byte("not a database"), "empty": {}, "cut short": whole[:len(whole)/2], "overwritten": holed,
	} {
		if err := os.WriteFile(path+indexSuffix, b, 0o644); err != nil {
			t.Fatal(err)
		}
		sameAsFile(t, name, path, 1)
		sameAsFile(t, name+", again", path, 0)
	}
	if err := os.Remove(path + indexSuffix); err != nil {
		t.Fatal(err)
	}
	sameAsFile(t, "deleted", path, 0)

	// Another kbench's index.
	db, err := sql.Open("sqlite", path+indexSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE meta SET value = '99' WHERE key = 'version'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	sameAsFile(t, "another version", path, 1)

	// A directory in its place stands for a directory that cannot be written.
	if err := errorsOf(os.Remove(path+indexSuffix), os.MkdirAll(filepath.Join(path+indexSuffix, "x"), 0o755)); err != nil {
		t.Fatal(err)
	}
	sameAsFile(t, "in the way", path, 0)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "-new-") {
			t.Errorf("left behind %s", e.Name())
		}
	}
}

// TestLoadTorn: a history whose last line is torn is read without touching
// anything.
func TestLoadTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	mustAdd(t, path, night(t, truth(0)), night(t, truth(1)))
	mustLoad(t, path)
	b, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append(b, b[:200]...), 0o644); err != nil {
		t.Fatal(err)
	}
	sameAsFile(t, "torn", path, 1)
	if after, _ := os.ReadFile(path); len(after) != len(b)+200 {
		t.Error("reading changed the history")
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("loaded nothing")
	}
	if err := os.WriteFile(path, append(b, "<<<<<<< HEAD\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path+":3: a conflict marker") {
		t.Errorf("conflict after the indexed part: %v", err)
	}
}

// TestApart: repeats of one night are an A/A pair.
func TestApart(t *testing.T) {
	for name, c := range map[string]struct {
		repeats []Repeat
		noisy   bool
	}{
		"one":             {[]Repeat{{Median: 5}}, false},
		"equal":           {[]Repeat{{Median: 5}, {Median: 5}}, false},
		"within":          {[]Repeat{{Median: 100}, {Median: 102}}, false},
		"beyond":          {[]Repeat{{Median: 100}, {Median: 103}}, true},
		"third beyond":    {[]Repeat{{Median: 101}, {Median: 100}, {Median: 103}}, true},
		"zero":            {[]Repeat{{Median: 0}, {Median: 1}}, true},
		"no chance":       {[]Repeat{{Median: 100, Values: []float64{99, 100, 100, 101}}, {Median: 110, Values: []float64{109, 110, 110, 111}}}, true},
		"by chance":       {[]Repeat{{Median: 100, Values: []float64{80, 95, 105, 130}}, {Median: 110, Values: []float64{82, 108, 112, 125}}}, false},
		"too few to tell": {[]Repeat{{Median: 100, Values: []float64{80, 100, 130}}, {Median: 110, Values: []float64{82, 110, 125}}}, true},
	} {
		f := Figure{Repeats: c.repeats}
		var r Reading
		r.Apart, r.Chance = f.apart()
		if r.Noisy(0.025) != c.noisy {
			t.Errorf("%s: apart %v by chance %v: noisy %v", name, r.Apart, r.Chance, r.Noisy(0.025))
		}
	}
}

// TestNoisyNight: a night whose second repeat ran on a disturbed machine is
// noisy in what was disturbed, a quiet one is not.
func TestNoisyNight(t *testing.T) {
	const metric = "recovery.controller.first-admin"
	quiet, disturbed := truth(0), truth(1)
	for _, tr := range []*simulated.Truth{&quiet, &disturbed} {
		tr.Trials, tr.Noise = 10, &simulated.Noise{Sigma: 0.02}
	}
	disturbed.Value = func(p simulated.Point) float64 {
		if p.Repeat == 2 && p.Metric == metric && p.Target == "zk" {
			return 2.3e9
		}
		return 2e9
	}
	var l Log
	l.Insert(night(t, quiet))
	l.Insert(night(t, disturbed))
	for _, s := range l.Series() {
		if s.Name() != metric {
			continue
		}
		if s.Readings[0].Noisy(0.025) || s.Readings[1].Noisy(0.025) != (s.Target == "zk") {
			t.Errorf("%s: apart %v and %v", s.Cell, s.Readings[0].Apart, s.Readings[1].Apart)
		}
	}
}

// largeHistory writes 3,000 nights of 20 series.
func largeHistory(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	template := truth(0)
	template.Trials, template.Partitions = 10, []int{1000, 10_000}
	template.Metrics = []string{"recovery.controller.first-admin", "recovery.controller.detect", "recovery.controller.total", "controlled-shutdown.moved", "propagation.last"}
	one := night(t, template)
	var nights []*Night
	for i := range 3000 {
		n := *one
		n.At = first.AddDate(0, 0, i)
		n.Started, n.Run, n.Digest = n.At, fmt.Sprintf("%s-nightly", n.At.Format("20060102T150405Z")), fmt.Sprint(i)
		nights = append(nights, &n)
	}
	mustAdd(t, path, nights...)
	return path
}

func TestLargeHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: the race detector makes it ten times slower")
	}
	path := largeHistory(t)
	for _, what := range []string{"without an index", "with an index"} {
		if l := mustLoad(t, path); len(l.Series) != 20 || len(l.Series[0].Readings) != 3000 {
			t.Errorf("%s: %d series", what, len(l.Series))
		}
	}
}

// BenchmarkLoad loads 3,000 nights, and checks beside it that their lines are
// JSON, which is the least that reading them without an index takes.
func BenchmarkLoad(b *testing.B) {
	path := largeHistory(b)
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	for _, indexed := range []bool{false, true} {
		b.Run(fmt.Sprintf("index=%t", indexed), func(b *testing.B) {
			var limit time.Duration
			for b.Loop() {
				b.StopTimer()
				began := time.Now()
				for line := range bytes.Lines(text) {
					if !json.Valid(line) {
						b.Fatalf("no JSON: %.80s", line)
					}
				}
				limit += time.Since(began)
				if !indexed {
					if err := os.Remove(path + indexSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				mustLoad(b, path)
			}
			b.ReportMetric(float64(b.Elapsed())/float64(limit), "x-of-checking-JSON")
		})
	}
}
