package metalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kbench/kafka"
)

const testDir = "/data/__cluster_metadata-0"

func mustOpen(t *testing.T, cfg Config) *Log {
	t.Helper()
	l, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// add appends one batch of n records in epoch and gives its bytes.
func add(t *testing.T, l *Log, epoch kafka.LeaderEpoch, n int) []byte {
	t.Helper()
	raw := batch(t, l.EndOffset(), epoch, n)
	if err := l.Append(raw); err != nil {
		t.Fatal(err)
	}
	return raw
}

func batch(t testing.TB, base kafka.Offset, epoch kafka.LeaderEpoch, n int) []byte {
	t.Helper()
	b := Batch{BaseOffset: base, Epoch: epoch, Timestamp: 1700000000000 + int64(base)}
	for i := range n {
		b.Records = append(b.Records, Record{Value: fmt.Appendf(nil, "record %d", int(base)+i)})
	}
	raw, err := b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// content reads the whole log by small reads.
func content(t *testing.T, l *Log) []byte {
	t.Helper()
	var all []byte
	for at := l.StartOffset(); at < l.EndOffset(); {
		raw, err := l.Read(at, 100)
		if err != nil {
			t.Fatal(err)
		}
		bs, err := ReadBatches(raw)
		if err != nil || len(bs) == 0 {
			t.Fatalf("read at %d: %d batches, %v", at, len(bs), err)
		}
		all, at = append(all, raw...), bs[len(bs)-1].EndOffset()
	}
	return all
}

func TestAppendReadReopen(t *testing.T) {
	for _, fs := range []FS{OS(), &MemFS{}} {
		t.Run(fmt.Sprintf("%T", fs), func(t *testing.T) {
			cfg := Config{FS: fs, Dir: filepath.Join(t.TempDir(), PartitionDir), SegmentBytes: 600}
			l := mustOpen(t, cfg)
			var want []byte
			for i := range 50 {
				want = append(want, add(t, l, kafka.LeaderEpoch(1+i/20), 1+i%5)...)
			}
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			if len(l.segments) < 5 {
				t.Fatalf("%d segments, the size bound does not work", len(l.segments))
			}
			end, epochs := l.EndOffset(), l.Epochs()
			if l.SyncedOffset() != end || len(epochs) != 3 {
				t.Fatalf("synced %d of %d, epochs %v", l.SyncedOffset(), end, epochs)
			}
			if !bytes.Equal(content(t, l), want) {
				t.Fatal("content differs from what was appended")
			}
			l.Close()
			l = mustOpen(t, cfg)
			if l.EndOffset() != end || !slices.Equal(l.Epochs(), epochs) || !bytes.Equal(content(t, l), want) {
				t.Fatal("the reopened log differs")
			}
			for _, at := range []kafka.Offset{-1, end + 1} {
				if _, err := l.Read(at, 1); !errors.Is(err, kafka.OffsetOutOfRange) {
					t.Errorf("read at %d: %v", at, err)
				}
			}
		})
	}
}

func TestReadWithinABatchGivesAllOfIt(t *testing.T) {
	l := mustOpen(t, Config{FS: &MemFS{}, Dir: testDir})
	add(t, l, 1, 3)
	want := add(t, l, 1, 5)
	got, err := l.Read(5, 1)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes, %v", len(got), err)
	}
}

func TestAppendRefusesWhatDoesNotFollow(t *testing.T) {
	l := mustOpen(t, Config{FS: &MemFS{}, Dir: testDir})
	add(t, l, 4, 3)
	damaged := batch(t, 3, 4, 2)
	damaged[len(damaged)-1] ^= 1
	for name, raw := range map[string][]byte{
		"gap": batch(t, 4, 4, 1), "overlap": batch(t, 2, 4, 1), "old epoch": batch(t, 3, 3, 1),
		"checksum": damaged, "cut": batch(t, 3, 4, 2)[:70], "empty": nil,
	} {
		if err := l.Append(raw); err == nil {
			t.Errorf("%s: appended", name)
		}
	}
	if l.EndOffset() != 3 {
		t.Errorf("end moved to %d", l.EndOffset())
	}
	add(t, l, 5, 1)
}

func TestCrashLosesWhatWasNotSynced(t *testing.T) {
	fs := &MemFS{}
	cfg := Config{FS: fs, Dir: testDir}
	l := mustOpen(t, cfg)
	want := add(t, l, 1, 3)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	lost := add(t, l, 1, 2)
	for keep := range len(lost) {
		fs.Crash(func(_ string, n int) int { return min(keep, n) })
		var log bytes.Buffer
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		l = mustOpen(t, cfg)
		if l.EndOffset() != 3 || !bytes.Equal(content(t, l), want) {
			t.Fatalf("kept %d bytes: log ends at %d", keep, l.EndOffset())
		}
		if warned := strings.Contains(log.String(), "cut the torn end"); warned != (keep > 0) {
			t.Fatalf("kept %d bytes: log says %q", keep, log.String())
		}
		if err := l.Append(lost); err != nil {
			t.Fatal(err)
		}
		if keep == len(lost)-1 { // the last round: and now it is synced
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			fs.Crash(nil)
			if l = mustOpen(t, cfg); l.EndOffset() != 5 {
				t.Fatalf("a synced batch is lost: end %d", l.EndOffset())
			}
		}
	}
}

func TestDamageInTheMiddleIsRefused(t *testing.T) {
	fs := &MemFS{}
	cfg := Config{FS: fs, Dir: testDir, SegmentBytes: 300}
	l := mustOpen(t, cfg)
	for range 12 {
		add(t, l, 1, 2)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if len(l.segments) < 3 {
		t.Fatal("want several segments")
	}
	last := l.segments[len(l.segments)-1]
	l.Close()
	for _, tc := range []struct {
		name, file string
		at         int64
		want       string
	}{
		{"first segment", filepath.Join(testDir, segmentName(0)), 100, "damaged in its middle"},
		{"last segment, first batch", last.path, 70, "damaged in its middle"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, _ := fs.Open(tc.file)
			var b [1]byte
			f.ReadAt(b[:], tc.at)
			f.WriteAt([]byte{b[0] ^ 0xff}, tc.at)
			defer f.WriteAt(b[:], tc.at)
			_, err := Open(cfg)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.file) || !strings.Contains(err.Error(), "at byte") {
				t.Fatalf("got %v", err)
			}
		})
	}
	t.Run("missing segment", func(t *testing.T) {
		fs.Remove(filepath.Join(testDir, segmentName(0)))
		if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), "files are missing") {
			t.Fatalf("got %v", err)
		}
	})
}

func TestTruncate(t *testing.T) {
	fs := &MemFS{}
	cfg := Config{FS: fs, Dir: testDir, SegmentBytes: 300}
	for to := kafka.Offset(0); to <= 20; to += 2 {
		fs.Crash(nil)
		*fs = MemFS{}
		l := mustOpen(t, cfg)
		var want []byte
		for i := range 10 {
			raw := add(t, l, kafka.LeaderEpoch(i/3), 2)
			if l.EndOffset() <= to {
				want = append(want, raw...)
			}
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := l.TruncateTo(to); err != nil {
			t.Fatal(err)
		}
		fs.Crash(nil) // a truncation is durable
		l = mustOpen(t, cfg)
		if l.EndOffset() != to || !bytes.Equal(content(t, l), want) {
			t.Fatalf("to %d: ends at %d", to, l.EndOffset())
		}
		for _, e := range l.Epochs() {
			if e.Start >= to {
				t.Fatalf("to %d: epochs %v", to, l.Epochs())
			}
		}
		add(t, l, 9, 1)
	}
}

// leader-epoch-checkpoint has an epoch once it has begun, and no longer than the
// log has, also after a crash.
func TestEpochCheckpointFollowsTheLog(t *testing.T) {
	fs := &MemFS{}
	l := mustOpen(t, Config{FS: fs, Dir: testDir, SegmentBytes: 300})
	told := func(when, want string) {
		t.Helper()
		fs.Crash(nil)
		if got, err := fs.ReadFile(filepath.Join(testDir, epochCheckpointName)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", when, got, err, want)
		}
		l = mustOpen(t, l.cfg)
	}
	grow := func(epoch kafka.LeaderEpoch, n int) {
		t.Helper()
		add(t, l, epoch, n)
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	told("an empty log", "0\n0\n")
	grow(1, 2)
	grow(1, 2)
	told("one epoch", "0\n1\n1 0\n")
	grow(4, 9)
	told("a second one", "0\n2\n1 0\n4 4\n")
	grow(6, 9)
	told("a third one", "0\n3\n1 0\n4 4\n6 13\n")
	if err := l.TruncateTo(13); err != nil {
		t.Fatal(err)
	}
	told("truncated", "0\n2\n1 0\n4 4\n")
	grow(7, 9)
	takeSnapshot(t, l, SnapshotID{EndOffset: 22, Epoch: 7}, []byte("all"))
	if start, err := l.DropPrefix(13); err != nil || start <= 4 {
		t.Fatalf("the log begins at %d, %v", start, err)
	}
	told("without its beginning", "0\n1\n7 13\n")
	if err := l.TruncateFullyTo(SnapshotID{EndOffset: 22, Epoch: 7}); err != nil {
		t.Fatal(err)
	}
	told("behind a snapshot", "0\n0\n")
}

// A file ends where the next batch is too much later than its first, also one that
// was opened again.
func TestSegmentAge(t *testing.T) {
	cfg := Config{FS: &MemFS{}, Dir: testDir, SegmentAge: 5 * time.Millisecond} // a batch is as many ms late as its offset
	l := mustOpen(t, cfg)
	for _, want := range []int{1, 1, 1, 2, 2, 2, 3} { // offsets 0, 2, 4 | 6, 8, 10 | 12
		add(t, l, 1, 2)
		if len(l.segments) != want {
			t.Errorf("at offset %d there are %d segments, want %d", l.EndOffset()-2, len(l.segments), want)
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		l.Close()
		l = mustOpen(t, cfg)
	}
}

func TestFsyncErrorIsFinal(t *testing.T) {
	bad := false
	fs := &MemFS{Fault: func(op Op, name string) error {
		if bad && op == OpSync && strings.HasSuffix(name, segmentSuffix) {
			return unix.EIO
		}
		return nil
	}}
	l := mustOpen(t, Config{FS: fs, Dir: testDir})
	add(t, l, 1, 1)
	bad = true
	if err := l.Flush(); !errors.Is(err, unix.EIO) {
		t.Fatalf("got %v", err)
	}
	bad = false
	if err := l.Flush(); !errors.Is(err, unix.EIO) {
		t.Errorf("a second flush was believed: %v", err)
	}
	if err := l.Append(batch(t, 1, 1, 1)); !errors.Is(err, unix.EIO) {
		t.Errorf("an append after it: %v", err)
	}
	if l.SyncedOffset() != 0 {
		t.Errorf("synced %d", l.SyncedOffset())
	}
}

// TestTruncationThatFails: wherever a truncation over two files ends, what is left
// opens: the second file must not come back behind a first one that was cut.
func TestTruncationThatFails(t *testing.T) {
	for at := range 20 {
		var ops, fails int
		fs := &MemFS{Fault: func(Op, string) error {
			if ops++; ops == fails {
				return unix.EIO
			}
			return nil
		}}
		cfg := Config{FS: fs, Dir: testDir, SegmentBytes: 3 * int64(len(batch(t, 0, 1, 2)))}
		l := mustOpen(t, cfg)
		for range 5 {
			add(t, l, 1, 2)
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		if len(l.segments) != 2 {
			t.Fatalf("%d files", len(l.segments))
		}
		fails = ops + 1 + at
		err := l.TruncateTo(2)
		if err == nil && at == 0 || err != nil && at == 19 {
			t.Fatalf("operation %d of a truncation fails: %v", at, err)
		}
		fails = 0
		fs.Crash(nil)
		if l, err = Open(cfg); err != nil {
			t.Fatalf("after operation %d failed: %v", at, err)
		}
		if end := l.EndOffset(); end != 2 && end != 10 && end != 6 {
			t.Errorf("after operation %d failed the log ends at %d", at, end)
		}
	}
}

func TestFullDisk(t *testing.T) {
	fs := &MemFS{LimitBytes: 1500}
	cfg := Config{FS: fs, Dir: testDir}
	l := mustOpen(t, cfg)
	var err error
	for n := 0; err == nil; n++ {
		if n == 100 {
			t.Fatal("the disk never filled")
		}
		err = l.Append(batch(t, l.EndOffset(), 1, 3))
		if err == nil {
			err = l.Flush()
		}
	}
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), segmentName(0)) {
		t.Fatalf("got %v", err)
	}
	end := l.EndOffset()
	fs.LimitBytes = 0
	if l = mustOpen(t, cfg); l.EndOffset() != end {
		t.Fatalf("after room was made the log ends at %d, not %d", l.EndOffset(), end)
	}
	add(t, l, 1, 1)
}

func TestNoSyncNeverSyncs(t *testing.T) {
	fs := &MemFS{Fault: func(op Op, name string) error {
		if op == OpSync || op == OpSyncDir {
			return io.ErrUnexpectedEOF
		}
		return nil
	}}
	l := mustOpen(t, Config{FS: fs, Dir: testDir, NoSync: true, SegmentBytes: 300})
	for range 10 {
		add(t, l, 1, 2)
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	start, err := l.DropPrefix(9)
	if err != nil || start == 0 || start > 9 {
		t.Fatalf("dropped to %d, %v", start, err)
	}
	if _, err := l.Read(start, 1); err != nil {
		t.Fatal(err)
	}
}
