package metalog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"kbench/internal/fuzzing"
)

func addGolden(f *testing.F, pattern string) {
	for _, dir := range goldens {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(names) == 0 {
			f.Fatalf("no golden file %s: %v", pattern, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
}

// allocationFactor bounds what a decoder may allocate for one byte of input: the
// smallest record takes 7 bytes there and, decoded, some 100 in a slice that
// grows by doubling.
const allocationFactor = 64

// withinBounds fails where decode allocates more than its input can need.
func withinBounds(t *testing.T, input int, decode func()) {
	t.Helper()
	fuzzing.Within(t, input, allocationFactor, decode)
}

// fuzzFiles gives a target the bytes as they are, and with their checksums put
// right: few changes of a fuzzer would get behind those.
func fuzzFiles(f *testing.F, judge func(t *testing.T, raw []byte)) {
	f.Fuzz(func(t *testing.T, raw []byte) {
		judge(t, raw)
		if mended := fuzzing.Mended(raw); !bytes.Equal(mended, raw) {
			judge(t, mended)
		}
	})
}

// FuzzReadBatch: no panic, memory bounded by the input, and what is decoded
// encodes to something that decodes to the same.
func FuzzReadBatch(f *testing.F) {
	addGolden(f, PartitionDir+"/*.log")
	f.Add(batch(f, 0, 1, 3))
	fuzzFiles(f, func(t *testing.T, raw []byte) {
		var b Batch
		var rest []byte
		var err error
		withinBounds(t, len(raw), func() { b, rest, err = ReadBatch(raw) })
		if err != nil {
			if !errors.Is(err, ErrShort) && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if b.SizeBytes+len(rest) != len(raw) {
			t.Fatal("bytes got lost")
		}
		once, err := b.Append(nil)
		if err != nil {
			return // larger than a batch may be when written plainly
		}
		again, _, err := ReadBatch(once)
		if err != nil {
			t.Fatalf("own encoding: %v", err)
		}
		twice, err := again.Append(nil)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not a fixed point: %v", err)
		}
	})
}

// FuzzSnapshot: any file is read to its end or to an error.
func FuzzSnapshot(f *testing.F) {
	addGolden(f, PartitionDir+"/*.checkpoint")
	fuzzFiles(f, func(t *testing.T, raw []byte) {
		withinBounds(t, len(raw), func() { readSnapshot(t, raw) })
	})
}

// readSnapshot takes a snapshot from a peer and reads it where it is whole.
func readSnapshot(t *testing.T, raw []byte) {
	id := SnapshotID{EndOffset: 5, Epoch: 1}
	l := mustOpen(t, Config{FS: &MemFS{}, Dir: testDir})
	rec, err := l.ReceiveSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Append(raw); err != nil {
		t.Fatal(err)
	}
	frozen := rec.Freeze()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.LatestSnapshot(); ok != (frozen == nil) {
		t.Fatalf("frozen: %v, listed: %v", frozen, ok)
	}
	if frozen != nil {
		return
	}
	r, err := l.OpenSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("a snapshot that was taken does not read: %v", err)
		}
	}
}

// FuzzOpen: recovery of any bytes ends in an error or in a log that opens again
// without a change.
func FuzzOpen(f *testing.F) {
	addGolden(f, PartitionDir+"/*.log")
	good := append(batch(f, 0, 1, 3), batch(f, 3, 2, 1)...)
	f.Add(good)
	f.Add(good[:len(good)-3])
	fuzzFiles(f, func(t *testing.T, raw []byte) {
		fs := &MemFS{}
		file, _ := fs.Open(filepath.Join(testDir, segmentName(0)))
		file.WriteAt(raw, 0)
		cfg := Config{FS: fs, Dir: testDir}
		var l *Log
		var err error
		withinBounds(t, len(raw), func() { l, err = Open(cfg) })
		if err != nil {
			return
		}
		end, sound := l.EndOffset(), readWhole(t, l)
		l.Close()
		if !sound {
			return
		}
		fs.Crash(nil)
		if l, err = Open(cfg); err != nil || l.EndOffset() != end {
			t.Fatalf("opened again: %v", err)
		}
		l.Close()
	})
}

// readWhole reads every batch; false says that records are not what the checksum
// is good for, a reader's error.
func readWhole(t *testing.T, l *Log) bool {
	for at := l.StartOffset(); at < l.EndOffset(); {
		b, err := l.Read(at, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := ReadBatch(b)
		if errors.Is(err, ErrCorrupt) {
			return false
		}
		if err != nil {
			t.Fatalf("a recovered batch does not read: %v", err)
		}
		at = got.EndOffset()
	}
	return true
}

// FuzzBatches reads the file of a log that another process may be writing: what
// is given is whole, and damage is told.
func FuzzBatches(f *testing.F) {
	addGolden(f, PartitionDir+"/*.log")
	f.Add(append(batch(f, 0, 1, 3), batch(f, 3, 2, 1)...))
	fuzzFiles(f, func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, segmentName(0)), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		withinBounds(t, len(raw), func() {
			for b, err := range Batches(dir) {
				if err != nil {
					if !errors.Is(err, ErrCorrupt) {
						t.Errorf("error of no kind: %v", err)
					}
					break
				}
				if h, err := ReadHeader(b); err != nil || h.SizeBytes != len(b) {
					t.Errorf("%d bytes are %+v, %v", len(b), h, err)
				}
			}
		})
	})
}

// FuzzQuorumState and FuzzMetaProperties: decoding, then encoding, then
// decoding gives the same.
func FuzzQuorumState(f *testing.F) {
	addGolden(f, PartitionDir+"/quorum-state")
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s QuorumState
		var err error
		withinBounds(t, len(raw), func() { s, err = DecodeQuorumState(raw) })
		if err != nil {
			return
		}
		once, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if s, err = DecodeQuorumState(once); err != nil {
			t.Fatalf("own encoding %q: %v", once, err)
		}
		if twice, err := s.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not a fixed point: %q, %q, %v", once, twice, err)
		}
	})
}

func FuzzMetaProperties(f *testing.F) {
	addGolden(f, metaPropertiesName)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m MetaProperties
		var err error
		withinBounds(t, len(raw), func() { m, err = DecodeMetaProperties(raw) })
		if err != nil {
			return
		}
		if _, err := DecodeMetaProperties(m.Encode()); err != nil && !bytes.ContainsAny(raw, "\\=#!\r\n\v\f\u0085\u00a0") {
			t.Fatalf("own encoding: %v", err)
		}
	})
}

// FuzzControlRecords: no panic, and what is decoded encodes to something that
// decodes to the same.
func FuzzControlRecords(f *testing.F) {
	for _, g := range controlGoldens {
		f.Add(g.record.Key, g.record.Value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		withinBounds(t, len(key)+len(value), func() {
			ControlTypeOf(key)
			ParseSnapshotHeader(value)
			ParseKRaftVersion(value)
			ParseLeaderChange(value)
			ParseVoters(value)
		})
		if m, err := ParseLeaderChange(value); err == nil {
			again, err := ParseLeaderChange(m.Record().Value)
			if err != nil || !reflect.DeepEqual(again, m) {
				t.Fatalf("LeaderChange %+v comes out as %+v, %v", m, again, err)
			}
		}
		if m, err := ParseVoters(value); err == nil {
			again, err := ParseVoters(m.Record().Value)
			if err != nil || !reflect.DeepEqual(again, m) {
				t.Fatalf("Voters %+v come out as %+v, %v", m, again, err)
			}
		}
	})
}
