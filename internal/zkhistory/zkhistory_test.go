package zkhistory

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kbench/harness/zookeeper"
	"kbench/internal/trace"
	"kbench/internal/zkserver"
	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play writes what a small cluster writes: a controller is elected, a broker
// registers, a topic with one partition lives for two leader epochs and is
// deleted, a write is refused, the broker's session ends.
func play(t *testing.T, addr string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := zk.Connect(ctx, zk.Config{Servers: []string{addr}, SessionTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	if err := s.EnsurePersistentPaths(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := s.Elect(ctx, 1, 0)
	if err != nil || !e.Won {
		t.Fatalf("%+v, %v", e, err)
	}
	broker, err := zk.Connect(ctx, zk.Config{Servers: []string{addr}, SessionTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broker.RegisterBroker(ctx, zk.BrokerRegistration{ID: 1, Version: 5}); err != nil {
		t.Fatal(err)
	}
	state := func(epoch kafka.LeaderEpoch) []byte {
		return zk.EncodeState(zk.PartitionState{Leader: 1, LeaderEpoch: epoch, ControllerEpoch: 1, ISR: []kafka.BrokerID{1}})
	}
	topic := zk.EncodeTopic(zk.TopicAssignment{ID: kafka.UUID{1}, Partitions: map[int32]zk.Assignment{0: {Replicas: []kafka.BrokerID{1}}}})
	path := zk.StatePath("t", 0)
	for _, o := range []zk.Op{
		zk.Create(zk.EntityConfigPath(zk.TopicConfigs, "t"), zk.EncodeConfig(nil)), zk.Create(zk.TopicPath("t"), topic),
		zk.Create(zk.PartitionsPath("t"), nil).Fenced(e.EpochVersion), zk.Create(zk.PartitionPath("t", 0), nil).Fenced(e.EpochVersion),
		zk.Create(path, state(0)).Fenced(e.EpochVersion), zk.Set(path, state(1), 0).Fenced(e.EpochVersion),
	} {
		if r := s.Do(ctx, o); r.Err != nil {
			t.Fatalf("%s: %v", o.Path(), r.Err)
		}
	}
	if r := s.Do(ctx, zk.Set(path, state(2), 0).Fenced(e.EpochVersion)); r.Err == nil {
		t.Fatal("a write with an old version is taken")
	}
	if err := broker.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, zk.PartitionPath("t", 0), zk.PartitionsPath("t"), zk.EntityConfigPath(zk.TopicConfigs, "t"), zk.TopicPath("t")} {
		if r := s.Do(ctx, zk.Delete(p, zk.AnyVersion).Fenced(e.EpochVersion)); r.Err != nil {
			t.Fatalf("%s: %v", p, r.Err)
		}
	}
}

// want is what play leaves, without data and zxids.
var want = []string{
	"new /latest_producer_id_block v0", "new /controller_epoch v0", "/controller_epoch v1", "new /brokers/ids/1 v0", "/brokers/ids/1 v1",
	"new /config/topics/t v0", "new /brokers/topics/t v0", "new /brokers/topics/t/partitions/0/state v0", "/brokers/topics/t/partitions/0/state v1",
	"gone /brokers/ids/1", "gone /brokers/topics/t/partitions/0/state", "gone /config/topics/t", "gone /brokers/topics/t",
}

func seen(t *testing.T, source Source) []string {
	var out []string
	last := int64(0)
	err := source(func(c Change) error {
		if c.Zxid < last {
			t.Errorf("zxid 0x%x follows 0x%x", c.Zxid, last)
		}
		last = c.Zxid
		switch {
		case c.Gone:
			out = append(out, "gone "+c.Path)
		case c.New:
			out = append(out, fmt.Sprintf("new %s v%d", c.Path, c.Version))
		default:
			out = append(out, fmt.Sprintf("%s v%d", c.Path, c.Version))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func startEmbedded(t *testing.T) (dir, addr string) {
	dir = t.TempDir()
	srv, err := zkserver.New(zkserver.Config{DataDir: dir, TickTime: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
	return dir, srv.Addr().String()
}

// The history is read from the log of a server that runs.
func TestEmbedded(t *testing.T) {
	dir, addr := startEmbedded(t)
	play(t, addr)
	if got := seen(t, Embedded(dir)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A real ZooKeeper's log tells the same.
func TestZooKeeper(t *testing.T) {
	inst, err := zookeeper.Find()
	if err != nil {
		if os.Getenv("KBENCH_REQUIRE_ZOOKEEPER") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: the log of a real ZooKeeper was not read: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	e, err := zookeeper.Start(ctx, zookeeper.Config{Installation: inst, Dir: t.TempDir(), TickTime: 200 * time.Millisecond, HeapMB: 128})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	play(t, e.Servers()[0])
	if got := seen(t, ZooKeeper(e.DataDirs()...)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// What is stored is judged as it was when it was stored.
func TestStoreAndJudge(t *testing.T) {
	dir, addr := startEmbedded(t)
	play(t, addr)
	spoil := func(yield func(Change) error) error {
		return Embedded(dir)(func(c Change) error {
			if strings.HasSuffix(c.Path, "/state") && c.Version == 1 {
				c.Data = strings.Replace(c.Data, `"isr":[1]`, `"isr":[2]`, 1)
			}
			return yield(c)
		})
	}
	kept := func(yield func(Change) error) error { // the topic is not deleted
		return Embedded(dir)(func(c Change) error {
			if c.Gone && strings.HasPrefix(c.Path, zk.TopicPath("t")) {
				return nil
			}
			return yield(c)
		})
	}
	told := func(partitionEpoch int64, isr ...kafka.BrokerID) []trace.Event {
		return []trace.Event{{
			Kind: trace.BrokerISRAcknowledged, Topic: "t", TopicID: kafka.UUID{1}.String(), Broker: 1, Epoch: 1, N: partitionEpoch, ISR: trace.IDs(isr),
		}, {Kind: trace.BrokerApplied}}
	}
	for name, c := range map[string]struct {
		source Source
		traced []trace.Event
		fault  string
	}{
		"sound":                            {Embedded(dir), nil, ""},
		"an ISR without its leader":        {spoil, nil, "C3"},
		"acknowledged":                     {kept, told(1, 1), ""},
		"acknowledged and not there":       {kept, told(2, 1), "C7"},
		"acknowledged and different":       {kept, told(1, 1, 2), "C7"},
		"acknowledged and deleted by then": {Embedded(dir), told(2, 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			first, err := Store(&file, c.source, Rules{NoRecovery: true}, c.traced)
			if err != nil {
				t.Fatal(err)
			}
			whole := file.Bytes()
			again, err := Judge(bytes.NewReader(whole))
			if err != nil {
				t.Fatal(err)
			}
			if first.Looked == 0 || first.Looked != again.Looked || !slices.Equal(first.Faults, again.Faults) {
				t.Errorf("stored %+v, judged again %+v", first, again)
			}
			if c.fault == "" != first.OK() || !first.OK() && !strings.HasPrefix(first.Faults[0], c.fault) {
				t.Errorf("%+v", first)
			}
			if _, err := Judge(bytes.NewReader(whole[:len(whole)/2])); err == nil {
				t.Error("half of a history is judged")
			}
		})
	}
}

// A log that cannot be read is named.
func TestBadLogs(t *testing.T) {
	dir := t.TempDir()
	none := func(Change) error { return nil }
	if err := ZooKeeper(dir)(none); err == nil {
		t.Error("an empty directory is a history")
	}
	if err := os.MkdirAll(filepath.Join(dir, "version-2"), 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "version-2", "log.1")
	if err := os.WriteFile(name, []byte("something else entirely"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := ZooKeeper(dir)(none); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("%v", err)
	}
}
