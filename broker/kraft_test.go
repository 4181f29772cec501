package broker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/raftclient"
)

// Brokers register, are unfenced and show what the log holds; clients create
// topics through any of them and produce idempotently.
func TestKRaftBrokers(t *testing.T) {
	r := newKRaftRig(t)
	var seeds []string
	brokers := map[kafka.BrokerID]*process{}
	for id := kafka.BrokerID(1); id <= 3; id++ {
		brokers[id] = r.start(id, nil)
		seeds = append(seeds, brokers[id].addr())
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if _, err := adm.CreateTopic(ctx, 6, 3, nil, "a"); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	inner := r.forwarded[0]
	r.mu.Unlock()
	if inner.Principal != "User:ANONYMOUS" || inner.ClientID != "kgo" {
		t.Errorf("forwarded as %q, client %q", inner.Principal, inner.ClientID)
	}
	eventually(t, "every broker has the topic", func() bool {
		for _, p := range brokers {
			if p.Image().NumPartitions() != 6 {
				return false
			}
		}
		return true
	})
	m, err := adm.Metadata(ctx, "a")
	if err != nil || len(m.Brokers) != 3 || m.Cluster != testCluster || m.Controller < 1 || m.Controller > 3 {
		t.Fatalf("metadata %+v, %v", m, err)
	}
	const n = 300
	for i := range n {
		cl.Produce(ctx, &kgo.Record{Topic: "a", Partition: int32(i % 6), Value: []byte("x")}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if d1, d2 := brokers[1].Image().Digest(), brokers[2].Image().Digest(); d1 != d2 {
		t.Errorf("images differ: %x, %x", d1, d2)
	}
	if got := brokers[1].events(t); !strings.HasPrefix(got, "broker.controller-epoch broker.registered") || !strings.Contains(got, "broker.applied") {
		t.Errorf("trace: %s", got)
	}
}

// A broker that was killed and restarts without memory is a new incarnation
// with a greater epoch, fetches and rejoins every ISR with that epoch.
func TestKRaftRestartRejoins(t *testing.T) {
	r := newKRaftRig(t)
	one, two := r.start(1, nil), r.start(2, nil)
	id := r.create("a", 40, 2)
	eventually(t, "broker 1 leads", func() bool { return one.Replicas().Led == 20 })
	first := two.Epoch()
	two.stop(t)
	var records []metadata.Record
	records = append(records, &metadata.BrokerRegistrationChangeRecord{BrokerID: 2, BrokerEpoch: first, Fenced: 1})
	for p := range int32(40) {
		c := metadata.NewPartitionChange(id, p)
		c.ISR = []kafka.BrokerID{1}
		if p%2 == 1 {
			c.Leader = 1
		}
		records = append(records, c)
	}
	r.write(records...)
	eventually(t, "broker 1 leads all", func() bool { return one.Replicas().Led == 40 })
	again := r.start(2, nil)
	if again.Epoch() <= first {
		t.Errorf("epoch %d after %d", again.Epoch(), first)
	}
	eventually(t, "all ISRs are whole", func() bool {
		for p := range int32(40) {
			if !slices.Equal(r.isr(kafka.TopicPartition{Topic: "a", Partition: p}), []kafka.BrokerID{1, 2}) {
				return false
			}
		}
		return true
	})
	eventually(t, "the leader tells of acknowledged ISRs", func() bool {
		b, err := os.ReadFile(one.trace)
		return err == nil && bytes.Contains(b, []byte(trace.BrokerISRAcknowledged))
	})
}

// A fenced follower that is caught up joins when it is unfenced, and not
// before.
func TestKRaftFencedFollowerWaits(t *testing.T) {
	r := newKRaftRig(t)
	one, two := r.start(1, nil), r.start(2, nil)
	id := r.create("a", 1, 2)
	tp := kafka.TopicPartition{Topic: "a"}
	eventually(t, "the follower follows", func() bool { i, ok := two.Replica(tp); return ok && i.Leader == 1 })
	// From now on heartbeats do not unfence.
	r.mu.Lock()
	r.onHeartbeat = func(_ *kmsg.BrokerHeartbeatRequest, resp *kmsg.BrokerHeartbeatResponse) {}
	r.mu.Unlock()
	c := metadata.NewPartitionChange(id, 0)
	c.ISR, c.Leader = []kafka.BrokerID{1}, 1
	r.write(&metadata.BrokerRegistrationChangeRecord{BrokerID: 2, BrokerEpoch: two.Epoch(), Fenced: 1}, c)
	eventually(t, "the follower is back in sync once unfenced by its heartbeat", func() bool {
		return slices.Equal(r.isr(tp), []kafka.BrokerID{1, 2})
	})
	if i, _ := one.Replica(tp); i.LeaderEpoch != 1 {
		t.Errorf("leader epoch %d", i.LeaderEpoch)
	}
}

// A duplicate registration is retried until the old session is over; another
// cluster's quorum ends the start.
func TestKRaftRegistrationRefused(t *testing.T) {
	r := newKRaftRig(t)
	tries := 0
	r.onRegister = func(*kmsg.BrokerRegistrationRequest) kafka.ErrorCode {
		if tries++; tries < 3 {
			return kafka.DuplicateBrokerRegistration
		}
		return kafka.None
	}
	var log lockedBuffer
	r.start(1, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	if tries != 3 {
		t.Errorf("%d tries", tries)
	}
	const told = `level=WARN msg="another broker with this id is registered and alive: trying again until its session ends; if that is another process, end it or give this one another id" broker=1 id=1`
	if strings.Count(log.String(), told) != 1 {
		t.Errorf("want one warning that names the cure, have %s", log.String())
	}
	r.mu.Lock()
	r.onRegister = func(*kmsg.BrokerRegistrationRequest) kafka.ErrorCode { return kafka.DuplicateBrokerRegistration }
	r.mu.Unlock()
	if err := r.run(3, 2*time.Second); !errors.Is(err, kafka.DuplicateBrokerRegistration) || !strings.Contains(err.Error(), "another broker with id 3 is alive: end it, or give this one another id") {
		t.Errorf("got %v", err)
	}
	r.mu.Lock()
	r.onRegister = func(*kmsg.BrokerRegistrationRequest) kafka.ErrorCode { return kafka.InconsistentClusterID }
	r.mu.Unlock()
	if err := r.run(2, deadline); !errors.Is(err, kafka.InconsistentClusterID) || !strings.Contains(err.Error(), "set the broker's cluster id to that of the quorum") {
		t.Errorf("got %v", err)
	}
}

// run runs a broker that does not get far, and gives why.
func (r *kraftRig) run(id kafka.BrokerID, registrationTimeout time.Duration) error {
	b, err := New(Config{ID: id, ClusterID: testCluster, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 1}}}, KRaft(KRaftConfig{
		Voters: []raftclient.Voter{r.voter}, Heartbeat: 50 * time.Millisecond, RegistrationTimeout: registrationTimeout, FetchTimeout: time.Second, MetadataInMemory: true,
	}))
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	return b.Run(ctx)
}

// lockedBuffer keeps what loggers of several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A broker leaves when a heartbeat says so, and not before.
func TestKRaftControlledShutdown(t *testing.T) {
	r := newKRaftRig(t)
	p := r.start(1, nil)
	wishes := 0
	r.mu.Lock()
	r.onHeartbeat = func(req *kmsg.BrokerHeartbeatRequest, resp *kmsg.BrokerHeartbeatResponse) {
		if req.WantShutdown {
			wishes++
			resp.ShouldShutdown = wishes == 3
		}
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if wishes != 3 {
		t.Errorf("%d heartbeats wished to leave, want 3", wishes)
	}
	if got := p.events(t); !strings.HasSuffix(got, "broker.shutdown-requested broker.shutdown-granted") {
		t.Errorf("trace: %s", got)
	}
}

// A broker that heartbeats and is fenced traces since when it has had the word of
// the controller that it is not; one that asks to leave is fenced by that.
func TestKRaftHeardFenced(t *testing.T) {
	r := newKRaftRig(t)
	p := r.start(1, nil)
	fence := func() {
		b, ok := r.committed().Broker(1)
		if !ok {
			t.Fatal("it is not registered")
		}
		r.write(&metadata.BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: b.Epoch, Fenced: 1})
	}
	heartbeats := func() int { r.mu.Lock(); defer r.mu.Unlock(); return r.heartbeats[1] }
	eventually(t, "it has had the word", func() bool { return heartbeats() > 3 })
	fence()
	after := heartbeats()
	eventually(t, "it has it again", func() bool { return heartbeats() > after+3 })
	r.mu.Lock()
	granted := false
	r.onHeartbeat = func(req *kmsg.BrokerHeartbeatRequest, _ *kmsg.BrokerHeartbeatResponse) {
		if req.WantShutdown && !granted {
			granted = true
			fence()
		}
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if got := p.events(t); strings.Count(got, "broker.heard-fenced") != 1 {
		t.Errorf("trace: %s", got)
	}
}

// A registration that the controller no longer knows is made again.
func TestKRaftStaleEpochRegistersAgain(t *testing.T) {
	r := newKRaftRig(t)
	p := r.start(1, nil)
	first := p.Epoch()
	r.write(&metadata.UnregisterBrokerRecord{BrokerID: 1, BrokerEpoch: first})
	eventually(t, "a new registration", func() bool { return p.Epoch() > first })
}

// Without a controller a forwarded request ends with a code, in time.
func TestKRaftForwardWithoutController(t *testing.T) {
	voter := raftclient.Voter{ID: 100, Host: "127.0.0.1", Port: 1}
	p := startProcess(t, 1, 0, KRaft(KRaftConfig{Voters: []raftclient.Voter{voter}, MetadataInMemory: true}), func(c *Config) {
		c.ClusterID, c.RequestTimeout = testCluster, 300*time.Millisecond
	})
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = "a"
	req.Topics = append(req.Topics, topic)
	began := time.Now()
	resp := ask[*kmsg.CreateTopicsResponse](t, p.addr(), req)
	if len(resp.Topics) != 1 || kafka.ErrorCode(resp.Topics[0].ErrorCode) != kafka.RequestTimedOut || time.Since(began) > deadline/2 {
		t.Fatalf("after %v: %+v", time.Since(began), resp)
	}
	// Nor does a broker that never registered wait for a grant.
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// Without a controller whatever a broker forwards is refused in a response of
// its own; no connection is closed.
func TestKRaftForwardIsRefusedInShape(t *testing.T) {
	voter := raftclient.Voter{ID: 100, Host: "127.0.0.1", Port: 1}
	p := startProcess(t, 1, 0, KRaft(KRaftConfig{Voters: []raftclient.Voter{voter}, MetadataInMemory: true}), func(c *Config) {
		c.ClusterID, c.RequestTimeout = testCluster, 20*time.Millisecond
	})
	for _, a := range p.plane.apis() {
		for v := a.MinVersion; v <= a.MaxVersion; v++ {
			req := kmsg.RequestForKey(a.Key)
			req.SetVersion(v)
			ask[kmsg.Response](t, p.addr(), req)
		}
	}
}

// A metadata log on disk is replayed after a restart.
func TestKRaftMetadataOnDisk(t *testing.T) {
	r := newKRaftRig(t)
	dir := filepath.Join(t.TempDir(), "b")
	plane := func() Plane {
		return KRaft(KRaftConfig{Voters: []raftclient.Voter{r.voter}, Heartbeat: 50 * time.Millisecond, FetchTimeout: time.Second})
	}
	tune := func(c *Config) { c.ClusterID, c.DataDir = testCluster, dir }
	p := startProcess(t, 1, 0, plane(), tune)
	eventually(t, "registration", func() bool { b, ok := p.Image().Broker(1); return ok && !b.Fenced })
	r.create("a", 3, 1)
	eventually(t, "the topic", func() bool { return p.Image().NumPartitions() == 3 })
	p.stop(t)
	q := startProcess(t, 1, 0, plane(), tune)
	eventually(t, "registration", func() bool { b, ok := q.Image().Broker(1); return ok && b.Epoch == q.Epoch() && !b.Fenced })
	if n := q.Image().NumPartitions(); n != 3 {
		t.Errorf("%d partitions", n)
	}
	eventually(t, "the replicas, which follow the image", func() bool { return q.Replicas().Led == 3 })
}

// A broker that knows bootstrap servers alone, one of which is gone, finds the
// leader, registers with it and forwards to it.
func TestKRaftBootstrapServers(t *testing.T) {
	r := newKRaftRig(t)
	p := startProcess(t, 1, 0, KRaft(KRaftConfig{
		Bootstrap: []string{"127.0.0.1:1", r.voter.Addr()}, Heartbeat: 50 * time.Millisecond, FetchTimeout: time.Second, MetadataInMemory: true,
	}), func(c *Config) { c.ClusterID = testCluster })
	eventually(t, "registration", func() bool { b, ok := p.Image().Broker(1); return ok && b.Epoch == p.Epoch() && !b.Fenced })
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, 2, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
}

// Faulty configurations are named all at once.
func TestConfigFaults(t *testing.T) {
	_, err := New(Config{ID: -1, ReplicaLagMax: -1, Endpoints: []kafka.Endpoint{{Listener: "A", Host: "h"}}}, KRaft(KRaftConfig{}))
	for _, want := range []string{"id -1", "ReplicaLagMax", "endpoint"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	good := Config{ID: 7, Endpoints: []kafka.Endpoint{{Listener: "A", Host: "h", Port: 1}}, ClusterID: testCluster}
	for want, plane := range map[string]Plane{
		"no voter":                KRaft(KRaftConfig{}),
		"is that of a controller": KRaft(KRaftConfig{Voters: []raftclient.Voter{{ID: 7, Host: "h", Port: 2}}}),
		"no ZooKeeper server":     ZooKeeper(ZooKeeperConfig{}),
	} {
		if _, err := New(good, plane); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}
