package metalog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"kbench/kafka"
)

// goldens are directories that Apache Kafka wrote.
var goldens = []string{"testdata/kafka-4.4.0-static", "testdata/kafka-4.4.0-dynamic"}

// goldenCopy copies one, since a log is opened for writing.
func goldenCopy(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestKafkasLogIsReadAndWrittenByteForByte(t *testing.T) {
	for _, dir := range goldens {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, PartitionDir, segmentName(0)))
			if err != nil {
				t.Fatal(err)
			}
			batches, err := ReadBatches(raw)
			if err != nil {
				t.Fatal(err)
			}
			var again []byte
			for _, b := range batches {
				if again, err = b.Append(again); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(again, raw) {
				t.Fatal("the batches of Kafka's log come out different")
			}
			first := batches[0]
			if !first.Control || first.Epoch != 1 {
				t.Fatalf("first batch %+v", first)
			}
			lc, err := ParseLeaderChange(first.Records[0].Value)
			if err != nil || lc.Leader != 3001 || len(lc.Voters) != 1 || lc.Voters[0].ID != 3001 {
				t.Fatalf("leader change %+v, %v", lc, err)
			}
			{
				// A LeaderChange of ours has the same bytes.
				if ours := lc.Record(); !bytes.Equal(ours.Value, first.Records[0].Value) || !bytes.Equal(ours.Key, first.Records[0].Key) {
					t.Errorf("LeaderChange: ours %x %x, Kafka's %x %x", ours.Key, ours.Value, first.Records[0].Key, first.Records[0].Value)
				}
			}
		})
	}
}

func TestKafkasDirectoryIsOpened(t *testing.T) {
	for _, golden := range goldens {
		t.Run(filepath.Base(golden), func(t *testing.T) {
			dir := goldenCopy(t, golden)
			d, err := OpenDirectory(OS(), dir, "MkU3OEVBNTcwNTJENDM2Qg", 3001)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if d.Meta().DirectoryID.IsZero() {
				t.Error("no directory id")
			}
			l := mustOpen(t, Config{FS: OS(), Dir: d.LogDir()})
			if l.EndOffset() < 30 || l.StartOffset() != 0 || l.LastEpoch() != 1 {
				t.Fatalf("log %d to %d in epoch %d", l.StartOffset(), l.EndOffset(), l.LastEpoch())
			}
			id, ok := l.LatestSnapshot()
			if !ok || id.Epoch != 1 {
				t.Fatalf("latest snapshot %v", id)
			}
			if err := l.CheckSnapshotID(id); err != nil {
				t.Errorf("Kafka's own snapshot: %v", err)
			}
			qs, ok, err := ReadQuorumState(OS(), d.QuorumStatePath())
			if err != nil || !ok || qs.Leader != 3001 || qs.Epoch != 1 || qs.Voted != -1 {
				t.Fatalf("quorum-state %+v, %v", qs, err)
			}
			b, err := qs.Encode()
			if err != nil {
				t.Fatal(err)
			}
			for name, ours := range map[string][]byte{quorumStateName: b} {
				want, err := os.ReadFile(filepath.Join(golden, PartitionDir, name))
				if err != nil || !bytes.Equal(ours, want) {
					t.Errorf("%s: ours %q, Kafka's %q, %v", name, ours, want, err)
				}
			}
			// What Open writes anew beside the segments is what Kafka wrote.
			for _, name := range []string{epochCheckpointName, partitionMetadataName} {
				ours, err1 := os.ReadFile(filepath.Join(d.LogDir(), name))
				want, err2 := os.ReadFile(filepath.Join(golden, PartitionDir, name))
				if err := errors.Join(err1, err2); err != nil || !bytes.Equal(ours, want) {
					t.Errorf("%s: ours %q, Kafka's %q, %v", name, ours, want, err)
				}
			}
		})
	}
}

func TestKafkasSnapshotIsReadAndWrittenByteForByte(t *testing.T) {
	for _, golden := range goldens {
		t.Run(filepath.Base(golden), func(t *testing.T) {
			dir := filepath.Join(goldenCopy(t, golden), PartitionDir)
			l := mustOpen(t, Config{FS: OS(), Dir: dir})
			id, _ := l.LatestSnapshot()
			r, err := l.OpenSnapshot(id)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var vs [][]byte
			for {
				b, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, rec := range b.Records {
					vs = append(vs, rec.Value)
				}
			}
			if len(vs) == 0 {
				t.Fatal("an empty snapshot")
			}
			want, err := os.ReadFile(filepath.Join(dir, id.String()+snapshotSuffix))
			if err != nil {
				t.Fatal(err)
			}
			batches, err := ReadBatches(want)
			if err != nil {
				t.Fatal(err)
			}
			fs := &MemFS{}
			ours := mustOpen(t, Config{FS: fs, Dir: testDir})
			w, err := ours.NewSnapshot(id, r.LastContainedLogTimestamp(), r.Quorum())
			if err != nil {
				t.Fatal(err)
			}
			// Header, data and footer as we write them, at Kafka's batch times:
			// Kafka takes the clock's for each batch.
			w.timestamp = batches[0].Timestamp
			if err := w.Append(vs...); err != nil {
				t.Fatal(err)
			}
			if err := w.Freeze(); err != nil {
				t.Fatal(err)
			}
			got, err := fs.ReadFile(ours.snapshotPath(id))
			if err != nil {
				t.Fatal(err)
			}
			gotBatches, err := ReadBatches(got)
			if err != nil || len(gotBatches) != len(batches) {
				t.Fatalf("%d batches, Kafka's has %d, %v", len(gotBatches), len(batches), err)
			}
			for i := range batches {
				g, k := gotBatches[i], batches[i]
				g.Timestamp = k.Timestamp
				a, err1 := g.Append(nil)
				b, err2 := k.Append(nil)
				if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
					t.Errorf("batch %d: ours %x, Kafka's %x, %v", i, a, b, err)
				}
			}
		})
	}
}

func TestMetaPropertiesRefusesNonsense(t *testing.T) {
	for _, bad := range []string{
		"", "version=0\nbroker.id=1\n", "version=1\n", "version=1\nnode.id=1\n", "version=1\nnode.id=x\ncluster.id=a\n",
		"version=1\nnode.id=-2\ncluster.id=a\n", "version=1\nnode.id=1\ncluster.id=a\ndirectory.id=!\n", "nonsense",
	} {
		if m, err := DecodeMetaProperties([]byte(bad)); err == nil {
			t.Errorf("%q gives %+v", bad, m)
		}
	}
	m := MetaProperties{ClusterID: "a", NodeID: 2, DirectoryID: kafka.UUID{9}}
	if got, err := DecodeMetaProperties(m.Encode()); err != nil || got != m {
		t.Errorf("round trip: %+v, %v", got, err)
	}
}
