package metalog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kbench/kafka"
)

// formatted are directories that `kafka-storage format` of Kafka made (4.4.0
// where the name says no other), and what FormatDirectory is told for the same.
var formatted = []struct {
	name            string
	dynamic, voters bool
	separate        bool
}{
	{name: "static"},
	{name: "none", dynamic: true},
	{name: "standalone", dynamic: true, voters: true},
	{name: "initial", dynamic: true, voters: true},
	{name: "kafka-3.9.2-static", separate: true},
	{name: "kafka-3.9.2-initial", dynamic: true, voters: true, separate: true},
}

const formatCluster = "MkU3OEVBNTcwNTJENDM2Qg"

// undated gives the batches of a snapshot file without the times that a clock
// put into them.
func undated(t *testing.T, fs FS, name string) []byte {
	t.Helper()
	raw, err := fs.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	batches, err := ReadBatches(raw)
	if err != nil || len(batches) == 0 {
		t.Fatalf("%s: %d batches, %v", name, len(batches), err)
	}
	if h, err := ParseSnapshotHeader(batches[0].Records[0].Value); err == nil && h.LastContainedLogTimestamp != 0 {
		batches[0].Records[0] = SnapshotHeader{1}.Record()
	}
	var out []byte
	for _, b := range batches {
		b.Timestamp = 0
		if out, err = b.Append(out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestFormatWritesKafkasFiles(t *testing.T) {
	for _, c := range formatted {
		t.Run(c.name, func(t *testing.T) {
			kafkas := goldenCopy(t, filepath.Join("testdata", "format", c.name))
			d, err := OpenDirectory(OS(), kafkas, formatCluster, 3001)
			if err != nil {
				t.Fatal(err)
			}
			values, err := d.Bootstrap()
			if err != nil || len(values) == 0 {
				t.Fatalf("bootstrap records: %d, %v", len(values), err)
			}
			l := mustOpen(t, Config{FS: OS(), Dir: d.LogDir()})
			var q Quorum
			if id, ok := l.LatestSnapshot(); ok {
				if q, err = l.SnapshotQuorum(id); err != nil {
					t.Fatal(err)
				}
			}
			if (q.Level == 1) != c.dynamic || (len(q.Voters) > 0) != c.voters {
				t.Fatalf("quorum %+v", q)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}

			ours := t.TempDir()
			meta, err := FormatDirectory(OS(), ours, Format{
				ClusterID: formatCluster, NodeID: 3001, Directory: d.Meta().DirectoryID,
				Quorum: q, Values: values, Timestamp: 1, Separate: c.separate,
			})
			if err != nil || meta != d.Meta() {
				t.Fatalf("%+v, %v; want %+v", meta, err, d.Meta())
			}
			for _, name := range []string{bootstrapName, filepath.Join(PartitionDir, SnapshotID{}.String()+snapshotSuffix)} {
				_, theirs := os.Stat(filepath.Join("testdata", "format", c.name, name))
				_, own := os.Stat(filepath.Join(ours, name))
				if os.IsNotExist(theirs) != os.IsNotExist(own) {
					t.Errorf("%s: Kafka %v, we %v", name, theirs, own)
				}
				if theirs != nil || own != nil {
					continue
				}
				if a, b := undated(t, OS(), filepath.Join(ours, name)), undated(t, OS(), filepath.Join(kafkas, name)); !bytes.Equal(a, b) {
					t.Errorf("%s: ours %x\nKafka's %x", name, a, b)
				}
			}
			again, err := OpenDirectory(OS(), ours, formatCluster, 3001)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if got, err := again.Bootstrap(); err != nil || len(got) != len(values) {
				t.Errorf("bootstrap records come back as %d, %v", len(got), err)
			}
		})
	}
}

// tree is every file of a MemFS.
func tree(m *MemFS) string {
	var b strings.Builder
	for _, dir := range []string{"/d", "/d/" + PartitionDir} {
		names, err := m.ReadDir(dir)
		if err != nil {
			return err.Error()
		}
		for _, n := range names {
			raw, _ := m.ReadFile(dir + "/" + n)
			fmt.Fprintf(&b, "%s/%s %x\n", dir, n, raw)
		}
	}
	return b.String()
}

func TestFormatRefuses(t *testing.T) {
	f := Format{ClusterID: formatCluster, NodeID: 1, Directory: kafka.UUID{7}, Values: [][]byte{{1, 2}}, Timestamp: 5}
	for name, c := range map[string]struct {
		prepare func(*MemFS) error
		want    string
		is      error
	}{
		"a formatted directory": {
			prepare: func(m *MemFS) error { _, err := FormatDirectory(m, "/d", f); return err },
			want:    "for node 1 of cluster", is: ErrFormatted,
		},
		"a directory of another node": {
			prepare: func(m *MemFS) error { g := f; g.NodeID = 2; _, err := FormatDirectory(m, "/d", g); return err },
			want:    "for node 2 of cluster", is: ErrForeign,
		},
		"a directory of another cluster": {
			prepare: func(m *MemFS) error {
				g := f
				g.ClusterID = "another"
				_, err := FormatDirectory(m, "/d", g)
				return err
			},
			want: `for node 1 of cluster "another"`, is: ErrForeign,
		},
		"a log without its meta.properties": {
			prepare: func(m *MemFS) error { return WriteAtomic(m, "/d/"+PartitionDir+"/"+segmentName(0), []byte("x")) },
			want:    "holds 00000000000000000000.log of a log",
		},
		"a directory in use": {
			prepare: func(m *MemFS) error { _, err := m.Lock("/d/.lock"); return err },
			want:    "already in use", is: ErrLocked,
		},
		"a broken meta.properties": {
			prepare: func(m *MemFS) error { return WriteAtomic(m, "/d/"+metaPropertiesName, []byte("nonsense")) },
			want:    "is not key=value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &MemFS{}
			if err := c.prepare(m); err != nil {
				t.Fatal(err)
			}
			before := tree(m)
			_, err := FormatDirectory(m, "/d", f)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if after := tree(m); after != before {
				t.Errorf("it was changed:\n%s\n%s", before, after)
			}
		})
	}
	for _, bad := range []Format{{NodeID: 1}, {ClusterID: "a", NodeID: -1}} {
		if _, err := FormatDirectory(&MemFS{}, "/d", bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// A format that fails at any operation, or is cut off there by a power cut,
// leaves a directory that can be formatted, or that is.
func TestFormatSurvivesEveryFailure(t *testing.T) {
	f := Format{
		ClusterID: formatCluster, NodeID: 1, Directory: kafka.UUID{7}, Quorum: Quorum{1, votersGolden.Voters},
		Values: [][]byte{{1, 2}}, Timestamp: 5, Separate: true,
	}
	for at := 0; ; at++ {
		n, hit := 0, false
		m := &MemFS{}
		m.Fault = func(Op, string) error {
			n++
			if n == at+1 {
				hit = true
				return syscall.ENOSPC
			}
			return nil
		}
		_, err := FormatDirectory(m, "/d", f)
		if !hit {
			if err != nil || at < 10 {
				t.Fatalf("after %d operations: %v", at, err)
			}
			return
		}
		if err == nil {
			t.Fatalf("operation %d fails and nobody says so", at)
		}
		m.Fault = nil
		m.Crash(func(string, int) int { return 0 })
		if _, err := FormatDirectory(m, "/d", f); err != nil && !errors.Is(err, ErrFormatted) {
			t.Fatalf("operation %d failed; then: %v", at, err)
		}
		d, err := OpenDirectory(m, "/d", formatCluster, 1)
		if err != nil {
			t.Fatalf("operation %d failed; then: %v", at, err)
		}
		if v, err := d.Bootstrap(); err != nil || len(v) != 1 {
			t.Fatalf("operation %d failed; then: %d bootstrap records, %v", at, len(v), err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What a directory was formatted with is not taken as far as it can be read: the
// file is named, and the cure.
func TestDamagedBootstrapIsRefused(t *testing.T) {
	for _, separate := range []bool{true, false} {
		m, file := &MemFS{}, filepath.Join("/d", bootstrapName)
		if !separate {
			file = filepath.Join("/d", PartitionDir, SnapshotID{}.FileName())
		}
		f := Format{ClusterID: formatCluster, NodeID: 1, Values: [][]byte{{1, 2}}, Timestamp: 5, Separate: separate}
		if _, err := FormatDirectory(m, "/d", f); err != nil {
			t.Fatal(err)
		}
		damaged{t, m}.edit(file, cut(1))
		d, err := OpenDirectory(m, "/d", formatCluster, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Bootstrap(); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "remove the directory and format it again") {
			t.Errorf("Bootstrap gives %v", err)
		}
	}
}
