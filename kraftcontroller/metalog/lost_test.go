package metalog

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kbench/kafka"
)

// TestLostRecords: a log that lacks what its directory says was durable is refused
// by the name of the file that says so, and nothing there is changed; one that lost
// no more than a crash takes opens.
func TestLostRecords(t *testing.T) {
	checkpoint := filepath.Join(testDir, epochCheckpointName)
	withoutLog := func(d damaged) {
		for _, base := range []kafka.Offset{0, 6, 12} {
			d.remove(d.segment(base))
		}
	}
	empty := func([]byte) []byte { return nil }
	for name, c := range map[string]struct {
		damage func(damaged)
		refuse string // in the error; empty where it opens
	}{
		"nothing":                 {func(damaged) {}, ""},
		"no log file":             {withoutLog, checkpoint + " has epoch 3 from offset 12, but there is no log file: "},
		"the last file is gone":   {func(d damaged) { d.remove(d.segment(12)) }, checkpoint + " has epoch 3 from offset 12, but records and snapshots end at offset 12: "},
		"the last file is empty":  {func(d damaged) { d.edit(d.segment(12), empty) }, checkpoint},
		"the last file is zeroed": {func(d damaged) { d.edit(d.segment(12), func(b []byte) []byte { return make([]byte, len(b)) }) }, checkpoint},
		"one file of garbage": {func(d damaged) {
			withoutLog(d)
			d.edit(d.segment(0), garbage)
		}, checkpoint + " has epoch 3 from offset 12, but records and snapshots end at offset 0: "},
		"the first epoch alone, cut to nothing": {func(d damaged) {
			withoutLog(d)
			d.edit(d.segment(0), empty)
			d.edit(checkpoint, func([]byte) []byte { return []byte("0\n1\n1 0\n") })
		}, checkpoint + " has epoch 1 from offset 0, but records and snapshots end at offset 0: "},
		"a snapshot that does not reach": {func(d damaged) {
			withoutLog(d)
			d.snapshot(SnapshotID{6, 1})
		}, checkpoint + " has epoch 3 from offset 12, but there is no log file, and the snapshots end at offset 6: "},
		"no log file and no checkpoint": {func(d damaged) {
			withoutLog(d)
			d.remove(checkpoint)
		}, filepath.Join(testDir, partitionMetadataName) + " is that of a log that was begun, but there is no log file: "},
		"quorum-state alone": {func(d damaged) {
			withoutLog(d)
			d.remove(checkpoint)
			d.remove(filepath.Join(testDir, partitionMetadataName))
			d.edit(filepath.Join(testDir, quorumStateName), garbage)
		}, filepath.Join(testDir, quorumStateName)},
		"no checkpoint": {func(d damaged) { d.remove(checkpoint) }, ""},
		"the last epoch is torn behind its first record": {func(d damaged) { d.edit(d.segment(12), cut(1)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := damaged{t, &MemFS{}}
			newEpochs(t, d.fs).Close()
			c.damage(d)
			before := d.segments()
			l, err := Open(Config{FS: d.fs, Dir: testDir})
			if c.refuse == "" {
				if err != nil {
					t.Fatal(err)
				}
				l.Close()
				return
			}
			if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), c.refuse) || !strings.HasSuffix(err.Error(), StartAnew) {
				t.Fatalf("want ErrLost with %q, have %v", c.refuse, err)
			}
			if d.segments() != before {
				t.Error("the refused files were changed")
			}
			if _, again := Open(Config{FS: d.fs, Dir: testDir}); again == nil || again.Error() != err.Error() {
				t.Errorf("refused again otherwise: %v", again)
			}
			l, err = Open(Config{FS: d.fs, Dir: testDir, NoSync: true})
			if err != nil {
				t.Fatalf("nobody counts on a log without fsync: %v", err)
			}
			l.Close()
		})
	}
}

// TestCrashIsNoLoss: a power cut at every operation of a log's life takes nothing
// that the next start could miss.
func TestCrashIsNoLoss(t *testing.T) {
	for stop := 1; ; stop++ {
		ops := 0
		fs := &MemFS{Fault: func(Op, string) error {
			if ops++; ops >= stop {
				return unix.EIO
			}
			return nil
		}}
		durable, done := epochsComeAndGo(t, fs)
		fs.Fault = nil
		fs.Crash(nil)
		l, err := Open(Config{FS: fs, Dir: testDir})
		if err != nil {
			t.Fatalf("a power cut at operation %d: %v", stop, err)
		}
		if l.EndOffset() < durable {
			t.Errorf("a power cut at operation %d: the log ends at %d, all below %d was flushed", stop, l.EndOffset(), durable)
		}
		l.Close()
		if done {
			return
		}
	}
}

// epochsComeAndGo takes a log through a fetch of several epochs, a truncation that
// drops them all, a new beginning behind a snapshot and a second start, and gives
// what was durable when an operation failed.
func epochsComeAndGo(t *testing.T, fs *MemFS) (durable kafka.Offset, done bool) {
	cfg := Config{FS: fs, Dir: testDir}
	l, err := Open(cfg)
	if err != nil {
		return 0, false
	}
	defer func() { l.Close() }()
	id := SnapshotID{20, 9}
	for _, step := range []func() error{
		func() error { return l.Append(slices.Concat(batch(t, 0, 1, 2), batch(t, 2, 3, 2), batch(t, 4, 4, 2))) },
		func() error { return l.Flush() },
		func() error { durable = 0; return l.TruncateTo(0) },
		func() error { return l.Append(slices.Concat(batch(t, 0, 5, 2), batch(t, 2, 6, 2))) },
		func() error { return l.Append(batch(t, 4, 7, 2)) },
		func() error { return l.Flush() },
		func() error {
			w, err := l.NewSnapshot(id, 1, Quorum{})
			if err != nil {
				return err
			}
			return errors.Join(w.Freeze(), w.Close())
		},
		func() error { return l.TruncateFullyTo(id) },
		func() error { return l.Append(batch(t, 20, 9, 2)) },
		func() error { return l.Flush() },
		func() error {
			again, err := Open(cfg)
			if err != nil {
				return err
			}
			return again.Close()
		},
	} {
		if step() != nil {
			return durable, false
		}
		durable = l.SyncedOffset()
	}
	return durable, true
}
