package broker

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/metalog"
)

// Kafka 4's reassignment tool asks where replicas are before it moves them.
func TestDescribeLogDirs(t *testing.T) {
	r := newZKRig(t, 2)
	r.create("a", 2, 2)
	r.create("b", 1, 1)
	p := r.brokers[1]
	describe := func(topics ...kmsg.DescribeLogDirsRequestTopic) string {
		t.Helper()
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Version, req.Topics = 4, topics
		got := ask[*kmsg.DescribeLogDirsResponse](t, p.addr(), req)
		if got.ErrorCode != 0 || len(got.Dirs) != 1 || !filepath.IsAbs(got.Dirs[0].Dir) {
			t.Fatalf("%+v", got)
		}
		var out []string
		for _, topic := range got.Dirs[0].Topics {
			for _, one := range topic.Partitions {
				out = append(out, fmt.Sprintf("%s-%d %d", topic.Topic, one.Partition, one.Size))
			}
		}
		return strings.Join(out, ", ")
	}
	want := "a-0 0, a-1 0"
	if _, here := p.replicas.Info(kafka.TopicPartition{Topic: "b"}); here {
		want += ", b-0 0"
	}
	if got := describe(); got != want {
		t.Errorf("all: %s, want %s", got, want)
	}
	a := kmsg.NewDescribeLogDirsRequestTopic()
	a.Topic, a.Partitions = "a", []int32{1, 9}
	if got := describe(a); got != "a-1 0" {
		t.Errorf("some: %s", got)
	}
}

// brittle is a file layer that breaks.
type brittle struct {
	metalog.FS
	broken atomic.Bool
}

func (b *brittle) Open(name string) (metalog.File, error) {
	if b.broken.Load() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return b.FS.Open(name)
}

func (b *brittle) MkdirAll(dir string) error {
	if b.broken.Load() {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.EIO}
	}
	return b.FS.MkdirAll(dir)
}

// twoDirs gives a broker two log directories in root and the layers under them.
func twoDirs(root string) (layers []*brittle, tune func(*Config)) {
	for range 2 {
		layers = append(layers, &brittle{FS: metalog.OS()})
	}
	return layers, func(c *Config) {
		c.CheckpointInterval = 20 * time.Millisecond
		for i, l := range layers {
			c.LogDirs = append(c.LogDirs, LogDir{Path: filepath.Join(root, fmt.Sprint("logs-", i+1)), FS: l})
		}
	}
}

// described gives each log directory of a broker: its error, or its replicas.
func described(t *testing.T, p *process) []string {
	t.Helper()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version = 4
	var out []string
	for _, d := range ask[*kmsg.DescribeLogDirsResponse](t, p.addr(), req).Dirs {
		s := filepath.Base(d.Dir) + ":"
		if d.ErrorCode != 0 {
			s += " " + kafka.ErrorCode(d.ErrorCode).String()
		}
		for _, topic := range d.Topics {
			for _, one := range topic.Partitions {
				s += fmt.Sprintf(" %s-%d", topic.Topic, one.Partition)
			}
		}
		out = append(out, s)
	}
	return out
}

// directoryOf reads a directory's id from its meta.properties.
func directoryOf(t *testing.T, root, name string) kafka.UUID {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name, "meta.properties"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := metalog.DecodeMetaProperties(b)
	if err != nil || m.DirectoryID.IsZero() {
		t.Fatalf("%+v, %v", m, err)
	}
	return m.DirectoryID
}

func offlineReplicas(p *process, tp kafka.TopicPartition) []int32 {
	img := p.Image()
	a := metadataAnswer{img: img, version: 12, live: map[kafka.BrokerID]*metadata.Broker{}}
	for b := range img.Brokers() {
		a.live[b.ID] = b
	}
	s, ok := img.Partition(tp)
	if !ok {
		return nil
	}
	out := a.partition(tp.Partition, s)
	return out.OfflineReplicas
}

// A broker of ZooKeeper mode tells of a failed directory by a znode and answers
// for the replicas in it with KAFKA_STORAGE_ERROR; the others it serves on.
func TestZKLogDirFails(t *testing.T) {
	r := newZKRig(t, 1)
	root := t.TempDir()
	layers, tune := twoDirs(root)
	p := r.start(2, 0, tune)
	r.update(nil)
	r.create("a", 4, 2)
	if got := described(t, p); !slices.Equal(got, []string{"logs-1: a-0 a-2", "logs-2: a-1 a-3"}) {
		t.Fatalf("%q", got)
	}
	checkpoint := filepath.Join(root, "logs-1", checkpointName)
	eventually(t, "a checkpoint is written", func() bool {
		b, _ := os.ReadFile(checkpoint)
		return string(b) == "0\n0\n"
	})
	conn, _, err := zk.Connect([]string{r.store}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	events := func() string {
		names, _, err := conn.Children("/log_dir_event_notification")
		if err != nil || len(names) == 0 {
			return fmt.Sprint(len(names), err)
		}
		data, _, _ := conn.Get("/log_dir_event_notification/" + names[0])
		return fmt.Sprint(len(names), " ", string(data))
	}
	if got := events(); got != "0<nil>" && got != "0 <nil>" {
		t.Fatalf("before: %s", got)
	}
	layers[0].broken.Store(true)
	eventually(t, "the broker tells of it", func() bool { return events() == `1 {"version":1,"broker":2,"event":1}` })
	if got := described(t, p); !slices.Equal(got, []string{"logs-1: KAFKA_STORAGE_ERROR", "logs-2: a-1 a-3"}) {
		t.Errorf("%q", got)
	}

	tps := slices.SortedFunc(func(yield func(kafka.TopicPartition) bool) {
		for tp := range r.truth {
			if !yield(tp) {
				return
			}
		}
	}, kafka.TopicPartition.Compare)
	var codes []string
	for _, topic := range ask[*kmsg.LeaderAndISRResponse](t, p.addr(), r.leaderAndISR(p, tps)).Topics {
		for _, part := range topic.Partitions {
			codes = append(codes, fmt.Sprint(part.Partition, " ", kafka.ErrorCode(part.ErrorCode)))
		}
	}
	if got := strings.Join(codes, ", "); got != "0 KAFKA_STORAGE_ERROR, 1 STALE_CONTROLLER_EPOCH, 2 KAFKA_STORAGE_ERROR, 3 STALE_CONTROLLER_EPOCH" {
		t.Errorf("LeaderAndIsr: %s", got)
	}
	stop := kmsg.NewPtrStopReplicaRequest()
	stop.Version, stop.ControllerID, stop.ControllerEpoch, stop.BrokerEpoch = 4, 1, r.epoch, int64(p.Epoch())
	st := kmsg.NewStopReplicaRequestTopic()
	st.Topic = "a"
	for _, n := range []int32{0, 1} {
		s := kmsg.NewStopReplicaRequestTopicPartitionState()
		s.Partition, s.LeaderEpoch, s.Delete = n, 0, true
		st.PartitionStates = append(st.PartitionStates, s)
	}
	stop.Topics = append(stop.Topics, st)
	stopped := ask[*kmsg.StopReplicaResponse](t, p.addr(), stop).Partitions
	if len(stopped) != 2 || stopped[0].ErrorCode != int16(kafka.KafkaStorageError) || stopped[1].ErrorCode != 0 {
		t.Errorf("StopReplica: %+v", stopped)
	}

	// What the controller calls offline is so in Metadata, until it says otherwise.
	update := r.updateMetadata(p, tps[:1])
	update.TopicStates[0].PartitionStates[0].OfflineReplicas = []int32{2}
	ask[*kmsg.UpdateMetadataResponse](t, p.addr(), update)
	if got := offlineReplicas(p, tps[0]); !slices.Equal(got, []int32{2}) {
		t.Errorf("offline: %v", got)
	}
	ask[*kmsg.UpdateMetadataResponse](t, p.addr(), r.updateMetadata(p, tps[:1]))
	if got := offlineReplicas(p, tps[0]); got != nil {
		t.Errorf("offline: %v", got)
	}
}

// A broker of KRaft mode registers the ids of its directories, has the controller
// told where its replicas lie, and tells in heartbeats which directory failed.
// After a restart all lies where it lay.
func TestKRaftLogDirFails(t *testing.T) {
	r := newKRaftRig(t)
	r.write(&metadata.FeatureLevelRecord{Name: metadata.MetadataVersionFeature, FeatureLevel: int16(metadata.DefaultMetadataVersion)})
	var mu sync.Mutex
	var offline [][16]byte
	refusals := 1
	r.mu.Lock()
	r.onHeartbeat = func(req *kmsg.BrokerHeartbeatRequest, _ *kmsg.BrokerHeartbeatResponse) {
		mu.Lock()
		defer mu.Unlock()
		offline = req.OfflineLogDirs
	}
	r.onAssign = func(partition int32) kafka.ErrorCode {
		mu.Lock()
		defer mu.Unlock()
		if partition == 2 && refusals > 0 {
			refusals--
			return kafka.NotController
		}
		return kafka.None
	}
	r.mu.Unlock()
	root := t.TempDir()
	layers, tune := twoDirs(root)
	p := r.start(1, tune)
	ids := []kafka.UUID{directoryOf(t, root, "logs-1"), directoryOf(t, root, "logs-2")}
	reg, _ := r.committed().Broker(1)
	if got := slices.Clone(reg.LogDirs); len(got) != 2 || !slices.Contains(got, ids[0]) || !slices.Contains(got, ids[1]) {
		t.Fatalf("registered %v, want %v", got, ids)
	}
	r.create("a", 4, 1)
	placed := func() bool {
		img := r.committed()
		for n := range int32(4) {
			s, ok := img.Partition(kafka.TopicPartition{Topic: "a", Partition: n})
			if !ok || s.Directory(1) != ids[n%2] {
				return false
			}
		}
		return true
	}
	eventually(t, "the controller knows where replicas lie", placed)
	want := []string{"logs-1: a-0 a-2", "logs-2: a-1 a-3"}
	if got := described(t, p); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}

	layers[1].broken.Store(true)
	eventually(t, "a heartbeat tells of it", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(offline) == 1 && offline[0] == ids[1]
	})
	if _, ok := p.dirs.untold(); ok {
		eventually(t, "the answer came", func() bool { _, ok := p.dirs.untold(); return !ok })
	}
	failed := []string{want[0], "logs-2: KAFKA_STORAGE_ERROR"}
	if got := described(t, p); !slices.Equal(got, failed) {
		t.Errorf("%q", got)
	}
	r.write(&metadata.BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: p.Epoch(), LogDirs: ids[:1]})
	eventually(t, "clients are told", func() bool {
		return slices.Equal(offlineReplicas(p, kafka.TopicPartition{Topic: "a", Partition: 1}), []int32{1})
	})
	if got := offlineReplicas(p, kafka.TopicPartition{Topic: "a", Partition: 0}); got != nil {
		t.Errorf("the other directory's are offline: %v", got)
	}
	p.stop(t)

	// It is still broken at the start: its replicas must not be put elsewhere.
	again, tune := twoDirs(root)
	again[1].broken.Store(true)
	p = r.start(1, tune)
	eventually(t, "replicas are there", func() bool { return p.Image().NumPartitions() == 4 })
	eventually(t, "what failed is offline", func() bool { return slices.Equal(described(t, p), failed) })
	p.stop(t)

	_, tune = twoDirs(root)
	p = r.start(1, tune)
	eventually(t, "all lies where it lay", func() bool { return slices.Equal(described(t, p), want) })
	if !placed() {
		t.Error("the metadata says otherwise")
	}
	reg, _ = r.committed().Broker(1)
	if len(reg.LogDirs) != 2 {
		t.Errorf("registered %v", reg.LogDirs)
	}
}

// runAlone runs a broker of which Run is to end by itself, and gives its error.
func runAlone(t *testing.T, id kafka.BrokerID, plane Plane, tune func(*Config), serving func()) error {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		ID: id, ClusterID: testCluster, Logger: testLog(), RequestTimeout: 10 * time.Second,
		Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port)}},
	}
	tune(&cfg)
	b, err := New(cfg, plane)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := wire.NewServer(wire.ServerConfig{APIs: b.APIs(), Listener: "PLAINTEXT", Logger: testLog()})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(ln) }()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- b.Run(ctx) }()
	eventually(t, "the broker is registered", func() bool { return b.Epoch() >= 0 })
	serving()
	err = <-ran
	if ctx.Err() != nil {
		t.Error("Run did not end by itself")
	}
	if cerr := srv.Close(ctx); cerr != nil {
		t.Error(cerr)
	}
	return err
}

// A broker without a log directory that works ends, in both modes.
func TestLastLogDirFails(t *testing.T) {
	for mode, plane := range map[string]func(t *testing.T) Plane{
		"zk":    func(t *testing.T) Plane { return newZKRig(t, 1).plane() },
		"kraft": func(t *testing.T) Plane { return newKRaftRig(t).plane() },
	} {
		t.Run(mode, func(t *testing.T) {
			layers, tune := twoDirs(t.TempDir())
			err := runAlone(t, 2, plane(t), tune, func() {
				layers[0].broken.Store(true)
				layers[1].broken.Store(true)
			})
			if err == nil || !strings.Contains(err.Error(), "all 2 log directories have failed") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A broker that cannot tell its controller of a failed directory ends.
func TestLogDirFailureIsNotTold(t *testing.T) {
	r := newKRaftRig(t)
	layers, tune := twoDirs(t.TempDir())
	err := runAlone(t, 1, r.plane(), func(c *Config) {
		tune(c)
		c.LogDirFailureTimeout = 100 * time.Millisecond
	}, func() {
		r.mu.Lock()
		r.onHeartbeat = func(_ *kmsg.BrokerHeartbeatRequest, resp *kmsg.BrokerHeartbeatResponse) {
			resp.ErrorCode = int16(kafka.NotController)
		}
		r.mu.Unlock()
		layers[0].broken.Store(true)
	})
	if err == nil || !strings.Contains(err.Error(), "could not be told") {
		t.Errorf("got %v", err)
	}
}

// A directory of another broker is refused, not taken for a broken one.
func TestLogDirOfAnotherBroker(t *testing.T) {
	r := newKRaftRig(t)
	root := t.TempDir()
	_, tune := twoDirs(root)
	r.start(1, tune).stop(t)
	b, err := New(Config{
		ID: 2, ClusterID: testCluster, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 1}},
		LogDirs: []LogDir{{Path: filepath.Join(root, "logs-1")}},
	}, r.plane())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "it belongs to node 1, this is node 2; give") {
		t.Errorf("got %v", err)
	}
}
