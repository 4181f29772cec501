package metalog

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kbench/kafka"
)

func takeSnapshot(t *testing.T, l *Log, id SnapshotID, values ...[]byte) {
	t.Helper()
	w, err := l.NewSnapshot(id, 42, Quorum{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Append(values...); err != nil {
		t.Fatal(err)
	}
	if err := w.Freeze(); err != nil {
		t.Fatal(err)
	}
}

func values(t *testing.T, r *SnapshotReader) []string {
	t.Helper()
	var got []string
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range b.Records {
			got = append(got, string(rec.Value))
		}
	}
}

func TestSnapshotRoundTrip(t *testing.T) {
	fs := &MemFS{}
	cfg := Config{FS: fs, Dir: testDir, SegmentBytes: 300}
	l := mustOpen(t, cfg)
	for range 10 {
		add(t, l, 2, 2)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 3<<20) // several batches
	id := SnapshotID{EndOffset: 14, Epoch: 2}
	if err := l.CheckSnapshotID(id); err != nil {
		t.Fatal(err)
	}
	takeSnapshot(t, l, id, []byte("a"), big, big, big, []byte("b"))
	r, err := l.OpenSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := values(t, r)
	if len(got) != 5 || got[0] != "a" || got[4] != "b" || r.LastContainedLogTimestamp() != 42 {
		t.Fatalf("%d values", len(got))
	}
	start, err := l.DeleteSnapshotsBefore(id)
	if err != nil || start == 0 || start > id.EndOffset {
		t.Fatalf("log start %d, %v", start, err)
	}
	fs.Crash(nil)
	l = mustOpen(t, cfg)
	if latest, ok := l.LatestSnapshot(); !ok || latest != id {
		t.Fatalf("snapshot lost in the crash: %v", latest)
	}
	if l.EndOffset() != 20 {
		t.Fatalf("log ends at %d", l.EndOffset())
	}
}

func TestSnapshotIDMustBeABatchBorder(t *testing.T) {
	l := mustOpen(t, Config{FS: &MemFS{}, Dir: testDir})
	add(t, l, 2, 3)
	add(t, l, 3, 3)
	for _, id := range []SnapshotID{{0, 2}, {2, 2}, {3, 3}, {7, 3}, {5, 3}} {
		if err := l.CheckSnapshotID(id); err == nil {
			t.Errorf("%v is accepted", id)
		}
	}
	for _, id := range []SnapshotID{{3, 2}, {6, 3}} {
		if err := l.CheckSnapshotID(id); err != nil {
			t.Error(err)
		}
	}
}

// send copies a snapshot from one log to another in chunks.
func send(t *testing.T, from, to *Log, id SnapshotID, chunk int) *SnapshotReceiver {
	t.Helper()
	r, err := from.OpenSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, err := to.ReceiveSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	for rec.Size() < r.Size() {
		p := make([]byte, min(int64(chunk), r.Size()-rec.Size()))
		if _, err := r.ReadAt(p, rec.Size()); err != nil {
			t.Fatal(err)
		}
		if err := rec.Append(p); err != nil {
			t.Fatal(err)
		}
	}
	return rec
}

func TestReceivedSnapshotReplacesTheLog(t *testing.T) {
	leader := mustOpen(t, Config{FS: &MemFS{}, Dir: testDir})
	for range 10 {
		add(t, leader, 5, 2)
	}
	id := SnapshotID{EndOffset: 18, Epoch: 5}
	takeSnapshot(t, leader, id, []byte("x"), []byte("y"))

	fs := &MemFS{}
	cfg := Config{FS: fs, Dir: testDir, SegmentBytes: 200}
	l := mustOpen(t, cfg)
	for range 6 {
		add(t, l, 1, 2)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	rec := send(t, leader, l, id, 7)
	if err := rec.Freeze(); err != nil {
		t.Fatal(err)
	}
	// A crash between the snapshot and the truncation: Open completes it.
	fs.Crash(nil)
	l = mustOpen(t, cfg)
	if l.StartOffset() != 18 || l.EndOffset() != 18 || l.LastEpoch() != 5 {
		t.Fatalf("log is %d to %d in epoch %d", l.StartOffset(), l.EndOffset(), l.LastEpoch())
	}
	if err := l.TruncateFullyTo(id); err != nil {
		t.Fatal(err)
	}
	add(t, l, 6, 2)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	fs.Crash(nil)
	l = mustOpen(t, cfg)
	if e := l.Epochs(); len(e) != 1 || e[0] != (EpochStart{6, 18}) || l.StartEpoch() != 5 {
		t.Fatalf("epochs %v", e)
	}
	if err := l.TruncateTo(18); err != nil || l.LastEpoch() != 5 {
		t.Fatalf("epoch %d after truncation to the snapshot, %v", l.LastEpoch(), err)
	}
}

func TestBadSnapshotIsNotTaken(t *testing.T) {
	leader := mustOpen(t, Config{FS: &MemFS{}, Dir: testDir})
	add(t, leader, 5, 2)
	id := SnapshotID{EndOffset: 2, Epoch: 5}
	takeSnapshot(t, leader, id, []byte("x"))
	r, err := leader.OpenSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	whole := make([]byte, r.Size())
	r.ReadAt(whole, 0)
	for cut := range len(whole) {
		l := mustOpen(t, Config{FS: &MemFS{}, Dir: testDir})
		rec, err := l.ReceiveSnapshot(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := rec.Append(whole[:cut]); err != nil {
			t.Fatal(err)
		}
		if err := rec.Freeze(); err == nil {
			t.Fatalf("a snapshot cut after %d of %d bytes was taken", cut, len(whole))
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		if _, ok := l.LatestSnapshot(); ok {
			t.Fatal("it is listed")
		}
	}
}

// TestSnapshotSyncErrorIsFinal: a failed fsync of a snapshot, of its bytes or of
// its name, ends the log as one of its own does, and the snapshot is not believed
// when it is tried again.
func TestSnapshotSyncErrorIsFinal(t *testing.T) {
	id := SnapshotID{EndOffset: 2, Epoch: 1}
	source := mustOpen(t, Config{FS: &MemFS{}, Dir: testDir})
	add(t, source, 1, 2)
	big := make([]byte, snapshotSyncEvery) // is synced while it is written
	takeSnapshot(t, source, id, big)
	for what, take := range map[string]func(*Log) error{
		"own": func(l *Log) error {
			w, err := l.NewSnapshot(id, 1, Quorum{})
			if err != nil {
				return err
			}
			defer w.Close()
			return errors.Join(w.Append([]byte("small")), w.Freeze())
		},
		"own, large": func(l *Log) error {
			w, err := l.NewSnapshot(id, 1, Quorum{})
			if err != nil {
				return err
			}
			defer w.Close()
			return errors.Join(w.Append(big), w.Freeze())
		},
		"received": func(l *Log) error {
			r, err := source.OpenSnapshot(id)
			if err != nil {
				return err
			}
			defer r.Close()
			raw := make([]byte, r.Size())
			if _, err := r.ReadAt(raw, 0); err != nil {
				return err
			}
			rec, err := l.ReceiveSnapshot(id)
			if err != nil {
				return err
			}
			defer rec.Close()
			return errors.Join(rec.Append(raw), rec.Freeze())
		},
	} {
		for _, op := range []Op{OpSync, OpSyncDir} {
			t.Run(what+"/"+string(op), func(t *testing.T) {
				bad := false
				fs := &MemFS{Fault: func(o Op, _ string) error {
					if bad && o == op {
						bad = false // once: a second fsync must not be asked, it would succeed
						return unix.EIO
					}
					return nil
				}}
				l := mustOpen(t, Config{FS: fs, Dir: testDir})
				add(t, l, 1, 2)
				if err := l.Flush(); err != nil {
					t.Fatal(err)
				}
				bad = true
				if err := take(l); !errors.Is(err, unix.EIO) {
					t.Fatalf("the snapshot gives %v", err)
				}
				if err := l.Failed(); !errors.Is(err, unix.EIO) {
					t.Errorf("the log has failed with %v", err)
				}
				if err := l.Append(batch(t, 2, 1, 1)); !errors.Is(err, unix.EIO) {
					t.Errorf("an append after it: %v", err)
				}
				if err := l.Flush(); !errors.Is(err, unix.EIO) {
					t.Errorf("a flush after it: %v", err)
				}
				if latest, ok := l.LatestSnapshot(); ok {
					t.Errorf("%v is believed", latest)
				}
			})
		}
	}
}

// TestFullDiskOfASnapshot: the log goes on without a snapshot that had no room,
// and the next one has the room that it took.
func TestFullDiskOfASnapshot(t *testing.T) {
	fs := &MemFS{}
	l := mustOpen(t, Config{FS: fs, Dir: testDir})
	add(t, l, 1, 2)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	id := SnapshotID{EndOffset: 2, Epoch: 1}
	fs.LimitBytes = 10_000
	w, err := l.NewSnapshot(id, 1, Quorum{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(make([]byte, 20_000)), w.Freeze()); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the snapshot gives %v", err)
	}
	if err := w.Freeze(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("it is frozen in part: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := fs.ReadDir(testDir)
	for _, name := range names {
		if err != nil || isLeftover(name) {
			t.Errorf("%s is left, %v", name, err)
		}
	}
	add(t, l, 1, 1)
	if err := errors.Join(l.Failed(), l.Flush()); err != nil {
		t.Fatalf("the log has failed with it: %v", err)
	}
	takeSnapshot(t, l, id, make([]byte, 2_000))
}

func TestDirectory(t *testing.T) {
	for _, fs := range []FS{OS(), &MemFS{}} {
		t.Run(fmt.Sprintf("%T", fs), func(t *testing.T) {
			dir := t.TempDir()
			d, err := OpenDirectory(fs, dir, "cluster-a", 3)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := OpenDirectory(fs, dir, "cluster-a", 3); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
				t.Fatalf("a second process: %v", err)
			}
			meta := d.Meta()
			if meta.DirectoryID.IsZero() || strings.HasPrefix(meta.DirectoryID.String(), "-") {
				t.Errorf("directory id %v", meta.DirectoryID)
			}
			d.Close()
			for _, tc := range []struct {
				cluster string
				node    kafka.BrokerID
				want    []string
			}{
				{"cluster-b", 3, []string{"cluster-a", "cluster-b"}},
				{"cluster-a", 4, []string{"node 3", "node 4"}},
			} {
				_, err := OpenDirectory(fs, dir, tc.cluster, tc.node)
				for _, want := range append(tc.want, filepath.Join(dir, metaPropertiesName)) {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error lacks %q: %v", want, err)
					}
				}
			}
			if d, err = OpenDirectory(fs, dir, "cluster-a", 3); err != nil || d.Meta() != meta {
				t.Fatalf("reopened: %+v, %v", d.Meta(), err)
			}
			d.Close()
		})
	}
}

func TestQuorumState(t *testing.T) {
	fs := &MemFS{}
	path := testDir + "/quorum-state"
	if _, ok, err := ReadQuorumState(fs, path); ok || err != nil {
		t.Fatalf("absent file: %v, %v", ok, err)
	}
	dir := kafka.UUID{1, 2, 3}
	for _, want := range []QuorumState{
		{Leader: -1, Epoch: 7, Voted: 2, Voters: []kafka.BrokerID{1, 2, 3}},
		{Leader: 3, Epoch: 8, Voted: -1, VotedDirectory: kafka.UUID{}, Version: 1},
		{Leader: -1, Epoch: 9, Voted: 1, VotedDirectory: dir, Version: 1},
	} {
		if err := WriteQuorumState(fs, path, want); err != nil {
			t.Fatal(err)
		}
		fs.Crash(nil) // it must be durable when the write returns
		got, ok, err := ReadQuorumState(fs, path)
		if err != nil || !ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %+v, %v, %v", got, ok, err)
		}
	}
	for _, op := range []Op{OpWrite, OpSync, OpRename, OpSyncDir} {
		fs.Fault = func(o Op, _ string) error {
			if o == op {
				return errors.New("disk on fire")
			}
			return nil
		}
		if err := WriteQuorumState(fs, path, QuorumState{Epoch: 10}); err == nil {
			t.Errorf("%s failed in silence", op)
		}
	}
	fs.Fault = nil
	fs.Crash(nil)
	if got, _, err := ReadQuorumState(fs, path); err != nil || got.Epoch != 9 {
		t.Fatalf("a failed write was not atomic: %+v, %v", got, err)
	}
	for _, bad := range []string{"", "{", `{"data_version":2,"leaderId":1,"leaderEpoch":1}`, `{"leaderId":1}`, `{"data_version":0,"leaderId":1,"leaderEpoch":-4}`} {
		f, _ := fs.Open(path)
		f.Truncate(0)
		f.WriteAt([]byte(bad), 0)
		if _, _, err := ReadQuorumState(fs, path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
