package results

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	runtime "runtime/metrics"
	"testing"
)

// withinBounds fails where read allocates more than its input can need: 1 KiB
// for each byte, and 4 MiB, to which the counter is exact.
func withinBounds(t *testing.T, inputBytes int, read func()) {
	t.Helper()
	s := []runtime.Sample{{Name: "/gc/heap/allocs:bytes"}}
	runtime.Read(s)
	before := s[0].Value.Uint64()
	read()
	runtime.Read(s)
	if got := s[0].Value.Uint64() - before; got > uint64(inputBytes)<<10+4<<20 {
		t.Fatalf("%d bytes were allocated for an input of %d", got, inputBytes)
	}
}

// addStored gives a target a file of the run folders that are kept.
func addStored(f *testing.F, name string) {
	files, err := filepath.Glob(filepath.Join("testdata/readme/*", name))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 4<<10)])
		f.Add(b)
	}
}

// FuzzReadSamples: whatever stands in trials.csv, reading it ends with samples or
// an error, and those read again as they are written.
func FuzzReadSamples(f *testing.F) {
	addStored(f, trialsName)
	f.Fuzz(func(t *testing.T, b []byte) {
		var samples []Sample
		var err error
		withinBounds(t, len(b), func() { samples, err = readSamples(bytes.NewReader(b)) })
		if err != nil {
			return
		}
		var file bytes.Buffer
		w, err := sampleWriter(&file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			if err := w.Write(s.row()); err != nil {
				t.Fatal(err)
			}
		}
		w.Flush()
		if again, err := readSamples(&file); err != nil || !reflect.DeepEqual(samples, again) {
			t.Fatalf("%+v came back as %+v, %v", samples, again, err)
		}
	})
}

// FuzzReadManifest: a folder with any manifest is one that is read or refused.
func FuzzReadManifest(f *testing.F) {
	addStored(f, manifestName)
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, manifestName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		withinBounds(t, len(b), func() {
			if m, err := readManifest(dir); err == nil {
				_ = checkFiles(dir, m.Files)
			}
		})
	})
}
