package metalog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// scanned gives the bytes of all batches.
func scanned(dir string) ([]byte, error) {
	var out []byte
	for raw, err := range Batches(dir) {
		if err != nil {
			return out, err
		}
		out = append(out, raw...)
	}
	return out, nil
}

// Another process reads the files of a log that is open, through several
// segments, without a half batch at the end, and changes none of them.
func TestBatchesOfAnOpenLog(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, Config{FS: OS(), Dir: dir, SegmentBytes: 300})
	defer l.Close()
	for range 10 {
		add(t, l, 2, 2)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	takeSnapshot(t, l, SnapshotID{EndOffset: 14, Epoch: 2}, []byte("v"))
	want := content(t, l)
	if got, err := scanned(dir); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %d were written; %v", len(got), len(want), err)
	}
	if ids, err := Snapshots(dir); err != nil || !slices.Equal(ids, []SnapshotID{{14, 2}}) {
		t.Fatalf("snapshots %v, %v", ids, err)
	}
	for raw := range Batches(dir) {
		if len(raw) == 0 {
			t.Error("a batch without bytes")
		}
		break // ends the scan
	}

	last := segmentFiles(t, dir)
	torn, err := os.OpenFile(last[len(last)-1], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.Write(batch(t, l.EndOffset(), 2, 5)[:70]); err != nil {
		t.Fatal(err)
	}
	if err := torn.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := scanned(dir); err != nil || !bytes.Equal(got, want) {
		t.Errorf("with a torn end: %d bytes of %d, %v", len(got), len(want), err)
	}
}

func TestBatchesOfADamagedLog(t *testing.T) {
	for name, damage := range map[string]func(files []string) error{
		"a byte of the first file": func(f []string) error { return flipByte(f[0], 70) },
		"a byte of the last file":  func(f []string) error { return flipByte(f[len(f)-1], 70) },
		"a file is gone":           func(f []string) error { return os.Remove(f[1]) },
	} {
		dir := t.TempDir()
		l := mustOpen(t, Config{FS: OS(), Dir: dir, SegmentBytes: 300})
		for range 11 {
			add(t, l, 2, 2)
		}
		if err := errors.Join(l.Flush(), l.Close()); err != nil {
			t.Fatal(err)
		}
		if err := damage(segmentFiles(t, dir)); err != nil {
			t.Fatal(err)
		}
		if _, err := scanned(dir); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := scanned(filepath.Join(t.TempDir(), "absent")); len(got) != 0 || err != nil {
		t.Errorf("no directory: %d bytes, %v", len(got), err)
	}
}

func segmentFiles(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil || len(files) < 3 {
		t.Fatalf("segments %v, %v", files, err)
	}
	return files
}

func flipByte(file string, at int64) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	b[at] ^= 1
	return os.WriteFile(file, b, 0o600)
}
