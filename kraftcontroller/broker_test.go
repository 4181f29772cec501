package kraftcontroller

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"kbench/broker"
	"kbench/internal/heldport/heldtest"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// startBroker runs kbench's own broker 1, which no client reaches, and waits until
// it is unfenced. The cluster has one controller.
func (cl *cluster) startBroker(dir string, cfg broker.KRaftConfig, logDirs ...broker.LogDir) (b *broker.Broker, shutdown func()) {
	cl.t.Helper()
	cfg.Voters, cfg.Heartbeat, cfg.FetchTimeout = cl.voters, 50*time.Millisecond, 15*time.Second
	b, err := broker.New(broker.Config{
		ID: 1, ClusterID: clusterID, DataDir: dir, LogDirs: logDirs, Logger: testLogger().With("broker", 1),
		Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: heldtest.Ports(cl.t, 1)[0]}},
	}, broker.KRaft(cfg))
	if err != nil {
		cl.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Run(context.Background()) }()
	shutdown = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			cl.t.Error(err)
		}
		if err := <-ended; err != nil {
			cl.t.Error(err)
		}
	})
	cl.t.Cleanup(shutdown)
	await(cl.t, "the broker to be unfenced", func() bool {
		reg, ok := b.Image().Broker(1)
		return ok && !reg.Fenced && reg.Epoch == b.Epoch()
	})
	return b, shutdown
}

// A broker that registered before the metadata.version had log directories tells
// of its own once it has, with the registration that it has (KIP-858).
func TestBrokerRegistersAgainWithDirectories(t *testing.T) {
	cl := newCluster(t, 1, func(c *Config) { c.Machine.MetadataVersion = metadata.V3_6_IV2 })
	b, _ := cl.startBroker("", broker.KRaftConfig{})
	before, _ := b.Image().Broker(1)
	if len(before.LogDirs) != 0 {
		t.Fatalf("directories %v at metadata.version %s", before.LogDirs, metadata.V3_6_IV2)
	}
	cl.upgrade(metadata.V3_7_IV2)
	await(t, "the directory in the registration", func() bool {
		reg, ok := b.Image().Broker(1)
		if ok && (reg.Fenced || reg.Epoch != before.Epoch || reg.Incarnation != before.Incarnation) {
			t.Fatalf("registration %+v, before %+v", reg, before)
		}
		return ok && len(reg.LogDirs) == 1 && !metadata.IsReservedDirectory(reg.LogDirs[0])
	})
}

// Where the replicas lie that a broker with several log directories had before the
// metadata.version had directories, it tells when it starts again, or their
// partition changes: so does Kafka's.
func TestBrokerTellsDirectoriesAfterAnUpgrade(t *testing.T) {
	cl := newCluster(t, 1, func(c *Config) { c.Machine.MetadataVersion = metadata.V3_6_IV2 })
	root := t.TempDir()
	dirs := []broker.LogDir{{Path: filepath.Join(root, "1")}, {Path: filepath.Join(root, "2")}}
	b, shutdown := cl.startBroker("", broker.KRaftConfig{}, dirs...)
	told := func(topic string) (n int) {
		for _, p := range []int32{0, 1} {
			if s, ok := b.Image().Partition(kafka.TopicPartition{Topic: topic, Partition: p}); ok && !metadata.IsReservedDirectory(s.Directory(1)) {
				n++
			}
		}
		return n
	}
	if code := cl.createTopic("before", 2, 1); code != kafka.None {
		t.Fatal(code)
	}
	cl.upgrade(metadata.V3_7_IV2)
	await(t, "the directories in the registration", func() bool {
		reg, ok := b.Image().Broker(1)
		return ok && len(reg.LogDirs) == 2
	})
	if code := cl.createTopic("after", 2, 1); code != kafka.None {
		t.Fatal(code)
	}
	await(t, "the directories of new replicas", func() bool { return told("after") == 2 })
	if n := told("before"); n != 0 {
		t.Errorf("the broker tells of %d replicas that did not change", n)
	}
	shutdown()
	b, _ = cl.startBroker("", broker.KRaftConfig{}, dirs...)
	await(t, "the directories of all replicas", func() bool { return told("before") == 2 && told("after") == 2 })
}

// A broker whose metadata log is on a disk takes snapshots of it, the log is cut,
// and a broker that starts from them has the metadata again.
func TestBrokerTakesSnapshots(t *testing.T) {
	cl := newCluster(t, 1, nil)
	dir := t.TempDir()
	files := func(suffix string) []string {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, "metadata", metalog.PartitionDir, "*"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	cfg := broker.KRaftConfig{SnapshotBytes: 4000, SegmentBytes: 2000, RetentionBytes: 1}
	b, shutdown := cl.startBroker(dir, cfg)
	for i := range 20 {
		if code := cl.createTopic(fmt.Sprintf("t%d", i), 20, 1); code != kafka.None {
			t.Fatal(code)
		}
	}
	await(t, "the log to be cut at a snapshot", func() bool {
		logs := files(".log")
		return len(files(".checkpoint")) > 0 && len(logs) > 0 && filepath.Base(logs[0]) != fmt.Sprintf("%020d.log", 0)
	})
	if size := b.Gauges()[snapshotBean+"LatestSnapshotGeneratedBytes"](); size <= 0 {
		t.Errorf("the last snapshot has %d bytes", size)
	}
	shutdown()
	again, _ := cl.startBroker(dir, cfg)
	if n := again.Image().NumPartitions(); n != 400 {
		t.Errorf("%d partitions of 400 after a restart", n)
	}
	if loads := again.Gauges()[loaderBean+"HandleLoadSnapshotCount"](); loads != 1 {
		t.Errorf("%d snapshots loaded at the start", loads)
	}
}
