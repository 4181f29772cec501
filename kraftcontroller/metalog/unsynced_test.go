package metalog

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnsyncedLogIsFetchedAgain: whatever a power cut leaves of a log without
// fsync and its snapshots opens, says what went, and goes on; nothing torn is left
// for who reads a snapshot.
func TestUnsyncedLogIsFetchedAgain(t *testing.T) {
	older, latest := SnapshotID{6, 1}, SnapshotID{12, 2}
	file := func(id SnapshotID) string { return filepath.Join(testDir, id.FileName()) }
	empty := func([]byte) []byte { return nil }
	zeroed := func(b []byte) []byte { clear(b[len(b)/2:]); return b }
	for name, c := range map[string]struct {
		damage     func(damaged)
		start, end int64
		says       string
	}{
		"the latest snapshot is cut short":    {func(d damaged) { d.edit(file(latest), cut(1)) }, 6, 18, "dropped a snapshot"},
		"the latest snapshot is empty":        {func(d damaged) { d.edit(file(latest), empty) }, 6, 18, "dropped a snapshot"},
		"the end of a snapshot is zeroed":     {func(d damaged) { d.edit(file(latest), zeroed) }, 6, 18, "dropped a snapshot"},
		"the older snapshot is empty":         {func(d damaged) { d.edit(file(older), empty) }, 6, 18, "dropped a snapshot"},
		"no snapshot is whole":                {func(d damaged) { d.edit(file(older), empty); d.edit(file(latest), empty) }, 0, 0, "discarded the metadata log"},
		"a file in the middle is cut short":   {func(d damaged) { d.edit(d.segment(6), cut(1)) }, 0, 0, "discarded the metadata log"},
		"a file in the middle is damaged":     {func(d damaged) { d.edit(d.segment(6), flip(70)) }, 0, 0, "discarded the metadata log"},
		"a file in the middle is gone":        {func(d damaged) { d.edit(d.segment(0), empty); d.remove(d.segment(6)) }, 0, 0, "discarded the metadata log"},
		"the last file lost its beginning":    {func(d damaged) { d.edit(d.segment(12), func(b []byte) []byte { clear(b[:70]); return b }) }, 0, 0, "discarded the metadata log"},
		"the last file is torn, as any other": {func(d damaged) { d.edit(d.segment(12), cut(1)) }, 6, 16, "cut the torn end"},
	} {
		t.Run(name, func(t *testing.T) {
			d := damaged{t, &MemFS{}}
			l := newEpochs(t, d.fs)
			takeSnapshot(t, l, older, []byte("a"))
			takeSnapshot(t, l, latest, []byte("b"))
			if start, err := l.DropPrefix(6); start != 6 || err != nil {
				t.Fatalf("the log starts at %d, %v", start, err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			c.damage(d)
			var log bytes.Buffer
			l = mustOpen(t, Config{FS: d.fs, Dir: testDir, NoSync: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if int64(l.StartOffset()) != c.start || int64(l.EndOffset()) != c.end {
				t.Errorf("it holds %d to %d, want %d to %d", l.StartOffset(), l.EndOffset(), c.start, c.end)
			}
			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), c.says) {
				t.Errorf("the log says %q", log.String())
			}
			if id, ok := l.LatestSnapshot(); ok {
				if err := readAll(l, id); err != nil {
					t.Error(err)
				}
			}
			if _, _, err := l.Expired(1); err != nil {
				t.Error(err)
			}
			add(t, l, 9, 2)
			if err := errors.Join(l.Flush(), l.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
