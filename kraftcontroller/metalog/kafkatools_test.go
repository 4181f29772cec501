package metalog

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const kafkaRelease = "4.4.0"

// kafkaTool runs a class of Apache Kafka and gives what it prints. Without a
// Java runtime or the jars that `make kafka` installs the test is skipped, or
// fails where KBENCH_REQUIRE_KAFKA is set.
func kafkaTool(t *testing.T, class string, args ...string) string {
	t.Helper()
	root := os.Getenv("KBENCH_KAFKA")
	if root == "" {
		root = filepath.Join("..", "..", "bin", "kafka")
	}
	jars, err := filepath.Abs(filepath.Join(root, kafkaRelease, "libs"))
	if err == nil {
		_, err = os.Stat(jars)
	}
	java, javaErr := exec.LookPath("java")
	if err != nil || javaErr != nil {
		if os.Getenv("KBENCH_REQUIRE_KAFKA") != "" {
			t.Fatal(err, javaErr)
		}
		t.Skip("SKIPPED: needs java and the jars of Kafka ", kafkaRelease, ", `make kafka`: ", err, javaErr)
	}
	cmd := exec.CommandContext(t.Context(), java, append([]string{"-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", jars + "/*", class}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", class, args, err, out)
	}
	return string(out)
}

// kafka-dump-log reads our segments, indexes, snapshots and what formatting
// wrote, and finds nothing wrong.
func TestKafkaDumpsOurFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a Java program")
	}
	dir := t.TempDir()
	noop := []byte{1, 20, 0, 0} // NoOpRecord
	first := Quorum{1, votersGolden.Voters}
	if _, err := FormatDirectory(OS(), dir, Format{ClusterID: formatCluster, NodeID: 3001, Quorum: first, Values: [][]byte{noop}, Timestamp: 9}); err != nil {
		t.Fatal(err)
	}
	logDir := filepath.Join(dir, PartitionDir)
	l := mustOpen(t, Config{FS: OS(), Dir: logDir, SegmentBytes: 60_000})
	appendBatch := func(b Batch) {
		t.Helper()
		b.BaseOffset = l.EndOffset()
		raw, err := b.Append(nil)
		if err == nil {
			err = l.Append(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	appendBatch(Batch{Epoch: 1, Timestamp: 1000, Control: true, Records: []Record{leaderChangeGolden(0).Record(), KRaftVersion{1}.Record(), votersGolden.Record()}})
	for i := range 1000 {
		stamp := int64(1001 + i - i%7*3) // now and then a clock goes back
		appendBatch(Batch{Epoch: 1, Timestamp: stamp, Records: []Record{{Value: noop}, {Value: noop}}})
	}
	appendBatch(Batch{Epoch: 2, Timestamp: 3000, Control: true, Records: []Record{leaderChangeGolden(0).Record()}})
	if err := l.TruncateTo(l.EndOffset() - 3); err != nil {
		t.Fatal(err)
	}
	end := l.EndOffset()
	w, err := l.NewSnapshot(SnapshotID{end, 1}, 2000, first)
	if err == nil {
		err = w.Append(noop, noop)
	}
	if err == nil {
		err = w.Freeze()
	}
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(logDir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	kinds := map[string]int{}
	for _, n := range names {
		switch ext := filepath.Ext(n.Name()); ext {
		case ".log", ".index", ".timeindex", ".checkpoint":
			files = append(files, filepath.Join(logDir, n.Name()))
			kinds[ext]++
		}
	}
	if kinds[".log"] < 2 || kinds[".index"] != kinds[".log"] || kinds[".timeindex"] != kinds[".log"] || kinds[".checkpoint"] != 2 {
		t.Fatalf("files %v", kinds)
	}
	out := kafkaTool(t, "org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", strings.Join(files, ","))
	for _, bad := range []string{"isvalid: false", "Mismatch", "mismatch", "Non-secutive", "Error", "Exception", "Found ", "out of order", "does not match"} {
		for line := range strings.Lines(out) {
			if strings.Contains(line, bad) && !strings.Contains(line, "LEADER_CHANGE") {
				t.Errorf("kafka-dump-log says: %s", line)
			}
		}
	}
	for _, want := range []string{
		fmt.Sprintf("Snapshot end offset: %d, epoch: 1", end), `KRaftVersion {"version":0,"kRaftVersion":1}`, `"host":"host-1.example","port":65535`,
		"LeaderChange: {", "NO_OP_RECORD", fmt.Sprintf("offset: %d ", end-1), "SnapshotFooter",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("kafka-dump-log does not say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%.3000s", out)
	}
}
