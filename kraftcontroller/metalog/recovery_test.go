package metalog

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kbench/kafka"
)

// damaged is a directory with a log of three segments, 3 batches of 2 records
// each, and ways to damage it.
type damaged struct {
	t  *testing.T
	fs *MemFS
}

func newDamaged(t *testing.T) damaged {
	t.Helper()
	d := damaged{t, &MemFS{}}
	size := int64(len(batch(t, 0, 1, 2)))
	l, err := Open(Config{FS: d.fs, Dir: testDir, SegmentBytes: 3*size + size/2})
	if err != nil {
		t.Fatal(err)
	}
	for range 9 {
		add(t, l, 1, 2)
	}
	if err := errors.Join(l.Flush(), l.Close()); err != nil {
		t.Fatal(err)
	}
	for _, base := range []kafka.Offset{0, 6, 12} {
		if _, err := d.fs.ReadFile(d.segment(base)); err != nil {
			t.Fatalf("the log has no segment at %d: %v", base, err)
		}
	}
	return d
}

func (d damaged) segment(base kafka.Offset) string { return filepath.Join(testDir, segmentName(base)) }

// edit changes the bytes of a file.
func (d damaged) edit(name string, change func([]byte) []byte) {
	d.t.Helper()
	b, err := d.fs.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Fatal(err)
	}
	b = change(append([]byte(nil), b...))
	f, err := d.fs.Open(name)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(b, 0)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		d.t.Fatal(err)
	}
}

func (d damaged) remove(name string) {
	d.t.Helper()
	if err := d.fs.Remove(name); err != nil {
		d.t.Fatal(err)
	}
}

// snapshot puts a whole snapshot of that id there.
func (d damaged) snapshot(id SnapshotID) {
	d.t.Helper()
	fs := &MemFS{}
	l := mustOpen(d.t, Config{FS: fs, Dir: testDir})
	for l.EndOffset() < id.EndOffset {
		add(d.t, l, id.Epoch, 2)
	}
	w, err := l.NewSnapshot(id, 1, Quorum{})
	if err == nil {
		err = errors.Join(w.Append([]byte("a value")), w.Freeze(), w.Close())
	}
	if err != nil {
		d.t.Fatal(err)
	}
	name := filepath.Join(testDir, id.String()+snapshotSuffix)
	b, err := fs.ReadFile(name)
	if err != nil {
		d.t.Fatal(err)
	}
	d.edit(name, func([]byte) []byte { return b })
}

func cut(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		if at < 0 {
			at += len(b)
		}
		b[at] ^= 0x40
		return b
	}
}

func garbage([]byte) []byte { return []byte("what no program wrote\n") }

// TestRecovery: a log whose end is torn, or whose helper files are gone, opens
// with all that is whole; one with damage in its middle is refused by the name
// of the file, and is not touched.
func TestRecovery(t *testing.T) {
	const whole = 18
	for _, c := range []struct {
		name   string
		damage func(damaged)
		start  kafka.Offset
		end    kafka.Offset // where it opens
		refuse string       // in the error, where it does not
	}{
		{"nothing", func(damaged) {}, 0, whole, ""},
		{"the last batch is torn", func(d damaged) { d.edit(d.segment(12), cut(1)) }, 0, 16, ""},
		{"the last batch has only its header", func(d damaged) { d.edit(d.segment(12), cut(25)) }, 0, 16, ""},
		{"the last batch has a bad checksum", func(d damaged) { d.edit(d.segment(12), flip(-1)) }, 0, 16, ""},
		{"nothing of the last segment was written", func(d damaged) {
			d.edit(d.segment(12), cut(0))
			d.edit(d.segment(12), func([]byte) []byte { return nil })
		}, 0, 12, ""},
		{"bytes of an older use behind the end", func(d damaged) {
			d.edit(d.segment(12), func(b []byte) []byte { return append(b, make([]byte, 4096)...) })
		}, 0, whole, ""},
		{"a bad checksum with good batches behind", func(d damaged) { d.edit(d.segment(12), flip(70)) }, 0, 0, segmentName(12)},
		{"a bad checksum in an older segment", func(d damaged) { d.edit(d.segment(6), flip(-1)) }, 0, 0, segmentName(6)},
		{"an older segment is cut short", func(d damaged) { d.edit(d.segment(6), cut(3)) }, 0, 0, segmentName(6)},
		{"a segment in the middle is missing", func(d damaged) { d.remove(d.segment(6)) }, 0, 0, segmentName(12)},
		{"the first segment is missing", func(d damaged) { d.remove(d.segment(0)) }, 0, 0, segmentName(6)},
		{"the first segment is missing, a snapshot holds it", func(d damaged) { d.remove(d.segment(0)); d.snapshot(SnapshotID{6, 1}) }, 6, whole, ""},
		{"a snapshot was to replace all segments", func(d damaged) {
			for _, base := range []kafka.Offset{0, 6, 12} {
				d.remove(d.segment(base))
			}
			d.edit(filepath.Join(testDir, epochCheckpointName), func([]byte) []byte { return []byte("0\n0\n") })
			d.snapshot(SnapshotID{12, 1})
		}, 12, 12, ""},
		{"a snapshot is ahead of the log", func(d damaged) { d.snapshot(SnapshotID{40, 2}) }, 40, 40, ""},
		{"the indexes are missing", func(d damaged) {
			for _, suffix := range []string{indexSuffix, timeIndexSuffix} {
				d.remove(strings.TrimSuffix(d.segment(6), segmentSuffix) + suffix)
			}
		}, 0, whole, ""},
		{"the indexes and the checkpoint are garbage", func(d damaged) {
			d.edit(strings.TrimSuffix(d.segment(6), segmentSuffix)+indexSuffix, garbage)
			d.edit(filepath.Join(testDir, "leader-epoch-checkpoint"), garbage)
			d.edit(filepath.Join(testDir, "partition.metadata"), garbage)
		}, 0, whole, ""},
		{"a snapshot was being written and another deleted", func(d damaged) {
			d.edit(filepath.Join(testDir, SnapshotID{16, 1}.String()+partialSuffix), garbage)
			d.edit(filepath.Join(testDir, SnapshotID{6, 1}.String()+deletedSuffix), garbage)
		}, 0, whole, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDamaged(t)
			c.damage(d)
			before := d.segments()
			l, err := Open(Config{FS: d.fs, Dir: testDir})
			if c.refuse != "" {
				if err == nil || !strings.Contains(err.Error(), c.refuse) {
					t.Fatalf("want an error that names %s, got %v", c.refuse, err)
				}
				if after := d.segments(); after != before {
					t.Errorf("the refused files were changed")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if l.StartOffset() != c.start || l.EndOffset() != c.end {
				t.Errorf("it holds %d to %d, want %d to %d", l.StartOffset(), l.EndOffset(), c.start, c.end)
			}
			content(t, l)
			add(t, l, 3, 2) // and it goes on
		})
	}
}

// segments gives the bytes of all segments.
func (d damaged) segments() string {
	var all strings.Builder
	for _, base := range []kafka.Offset{0, 6, 12} {
		b, _ := d.fs.ReadFile(d.segment(base))
		all.Write(b)
	}
	return all.String()
}

// TestDamagedQuorumState: a vote that cannot be read is not taken for none.
func TestDamagedQuorumState(t *testing.T) {
	d := newDamaged(t)
	name := filepath.Join(testDir, quorumStateName)
	if _, ok, err := ReadQuorumState(d.fs, name); ok || err != nil {
		t.Fatalf("a missing file: %v, %v", ok, err)
	}
	if err := WriteQuorumState(d.fs, name, QuorumState{Version: 1, Leader: 1, Epoch: 5, Voted: -1}); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func([]byte) []byte{cut(4), garbage, func([]byte) []byte { return nil }} {
		d.edit(name, damage)
		if s, _, err := ReadQuorumState(d.fs, name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("it is read as %+v, %v", s, err)
		}
	}
}

// TestDamagedSnapshot: one that is cut short or changed is not loaded as far as
// it goes.
func TestDamagedSnapshot(t *testing.T) {
	for i, damage := range []func([]byte) []byte{cut(1), cut(30), flip(-1), flip(70), garbage, func([]byte) []byte { return nil }} {
		d := newDamaged(t)
		id := SnapshotID{12, 1}
		d.snapshot(id)
		d.edit(filepath.Join(testDir, id.String()+snapshotSuffix), damage)
		l, err := Open(Config{FS: d.fs, Dir: testDir})
		if err != nil {
			if !strings.Contains(err.Error(), id.String()) {
				t.Errorf("refused without its name: %v", err)
			}
			continue
		}
		if err := readAll(l, id); err == nil {
			t.Errorf("damage %d: the snapshot reads to its end", i)
		}
		l.Close()
	}
}

func readAll(l *Log, id SnapshotID) error {
	r, err := l.OpenSnapshot(id)
	if err != nil {
		return err
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
