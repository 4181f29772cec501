package metalog

import (
	"maps"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"kbench/kafka"
)

// newEpochs is a directory with a log of three segments as newDamaged's, each in an
// epoch of its own.
func newEpochs(t *testing.T, fs *MemFS) *Log {
	t.Helper()
	size := int64(len(batch(t, 0, 1, 2)))
	l := mustOpen(t, Config{FS: fs, Dir: testDir, SegmentBytes: 3*size + size/2})
	for i := range 9 {
		add(t, l, kafka.LeaderEpoch(1+i/3), 2)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCrashAmongRemovals: where several files go, a crash may leave any part of the
// creations and removals that the directory was not synced for. Whatever it leaves
// opens.
func TestCrashAmongRemovals(t *testing.T) {
	old, snapshot, fetched := SnapshotID{6, 1}, SnapshotID{12, 2}, SnapshotID{40, 9}
	for name, c := range map[string]struct {
		snapshots  []SnapshotID
		do         func(*Log) error
		start, end []kafka.Offset // where the log may begin and end
	}{
		"retention": {
			[]SnapshotID{old, snapshot},
			func(l *Log) error { _, err := l.DeleteSnapshotsBefore(snapshot); return err },
			[]kafka.Offset{0, 6, 12},
			[]kafka.Offset{18},
		},
		"a truncation": {nil, func(l *Log) error { return l.TruncateTo(2) }, []kafka.Offset{0}, []kafka.Offset{2, 6, 12, 18}},
		"a new snapshot": {
			[]SnapshotID{old, snapshot, fetched},
			func(l *Log) error { return l.TruncateFullyTo(fetched) },
			[]kafka.Offset{40},
			[]kafka.Offset{40},
		},
	} {
		t.Run(name, func(t *testing.T) {
			crash := func(stop int, part uint) (pending int, whole bool) {
				ops, begun := 0, false
				fs := &MemFS{Fault: func(Op, string) error {
					if !begun {
						return nil
					}
					if ops++; ops >= stop {
						return unix.EIO
					}
					return nil
				}}
				l := newEpochs(t, fs)
				for _, id := range c.snapshots {
					takeSnapshot(t, l, id, []byte("all"))
				}
				begun = true
				whole = c.do(l) == nil
				pending = crashKeeping(fs, part)
				fs.Fault = nil
				l, err := Open(Config{FS: fs, Dir: testDir})
				if err != nil {
					t.Fatalf("operation %d fails, part %b of the directory is kept: %v", stop, part, err)
				}
				defer l.Close()
				if !slices.Contains(c.start, l.StartOffset()) || !slices.Contains(c.end, l.EndOffset()) {
					t.Errorf("operation %d fails, part %b of the directory is kept: it holds %d to %d", stop, part, l.StartOffset(), l.EndOffset())
				}
				content(t, l)
				return pending, whole
			}
			for stop := 1; ; stop++ {
				pending, whole := crash(stop, 0)
				for part := uint(1); part < 1<<pending; part++ {
					crash(stop, part)
				}
				if whole {
					return
				}
			}
		})
	}
}

// crashKeeping is Crash where part says, a bit for each name by order, which of the
// creations and removals are on the disk that the directory was not synced for, and
// gives their number.
func crashKeeping(m *MemFS, part uint) int {
	both := maps.Clone(m.names)
	maps.Copy(both, m.durable)
	n := 0
	for _, name := range sortedNames(both) {
		now, exists := m.names[name]
		if now == m.durable[name] {
			continue
		}
		if part&(1<<n) != 0 {
			if m.durable[name] = now; !exists {
				delete(m.durable, name)
			}
		}
		n++
	}
	m.Crash(nil)
	return n
}
