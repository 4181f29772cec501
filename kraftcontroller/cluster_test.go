package kraftcontroller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"kbench/internal/heldport/heldtest"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const clusterID = "MkU3OEVBNTcwNTJENDM2Qg"

const patience = time.Minute // for whatever must come, on a busy machine

// hasty gives timers for tests in which a controller is killed; those of the
// others no pause of the machine uses up.
func hasty(c *Config) { c.Raft.FetchTimeout, c.Raft.RequestTimeout = 2*time.Second, 2*time.Second }

// await polls until ok.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// node is one controller of a test cluster.
type node struct {
	t      testing.TB
	id     kafka.BrokerID
	c      *Controller
	server *wire.Server
	trace  *trace.Writer
	cancel context.CancelFunc
	done   chan error
	gone   bool
}

type cluster struct {
	t       testing.TB
	dir     string
	voters  []raftclient.Voter
	tune    func(*Config)
	nodes   map[kafka.BrokerID]*node
	brokers []*fakeBroker
}

func testLogger() *slog.Logger {
	if os.Getenv("KBENCH_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

func newCluster(t testing.TB, n int, tune func(*Config)) *cluster {
	cl := addresses(t, n, tune)
	for _, v := range cl.voters {
		cl.start(v.ID)
	}
	return cl
}

// newDynamicCluster formats the directories of n controllers with themselves as
// the first voters; each one's configuration has bootstrap servers only.
func newDynamicCluster(t testing.TB, n int) *cluster {
	cl := addresses(t, n, nil)
	first := metalog.Quorum{Level: 1}
	var bootstrap []string
	for _, v := range cl.voters {
		bootstrap = append(bootstrap, v.Addr())
		first.Voters = append(first.Voters, metalog.Voter{
			VoterKey:  metalog.VoterKey{ID: v.ID, Directory: kafka.UUID{0x70, byte(v.ID)}},
			Endpoints: []kafka.Endpoint{{Listener: raftclient.ControllerListener, Host: v.Host, Port: v.Port}}, MaxLevel: 1,
		})
	}
	cl.tune = func(c *Config) {
		c.Raft.Voters, c.Raft.Controller, c.Raft.Bootstrap = nil, true, bootstrap
		for _, v := range first.Voters {
			if v.ID == c.Raft.NodeID {
				c.Raft.Endpoints = v.Endpoints
			}
		}
	}
	for _, v := range first.Voters {
		if _, err := metalog.FormatDirectory(metalog.OS(), filepath.Join(cl.dir, fmt.Sprint(v.ID)), metalog.Format{
			ClusterID: clusterID, NodeID: v.ID, Directory: v.Directory, Quorum: first, Timestamp: 1,
		}); err != nil {
			t.Fatal(err)
		}
		cl.start(v.ID)
	}
	return cl
}

// addresses takes n ports and makes the cluster that has them; it starts
// nothing.
func addresses(t testing.TB, n int, tune func(*Config)) *cluster {
	cl := &cluster{t: t, dir: t.TempDir(), tune: tune, nodes: map[kafka.BrokerID]*node{}}
	for i, port := range heldtest.Ports(t, n) {
		cl.voters = append(cl.voters, raftclient.Voter{ID: kafka.BrokerID(3001 + i), Host: "127.0.0.1", Port: port})
	}
	t.Cleanup(func() {
		for _, b := range cl.brokers {
			b.stop()
		}
		for _, n := range cl.nodes {
			n.kill()
		}
	})
	return cl
}

func (cl *cluster) start(id kafka.BrokerID) *node {
	cl.t.Helper()
	cfg := Config{
		Raft: raftclient.Config{
			NodeID: id, ClusterID: clusterID, Voters: cl.voters, Dir: filepath.Join(cl.dir, fmt.Sprint(id)),
			ElectionTimeout: 300 * time.Millisecond, FetchTimeout: 15 * time.Second,
			ElectionBackoffMax: 300 * time.Millisecond, RequestTimeout: 5 * time.Second,
			Logger: testLogger().With("node", id),
		},
		Machine: machine.Config{SessionTimeout: 20 * time.Second, NoOpInterval: 50 * time.Millisecond},
	}
	tr, err := trace.Create(filepath.Join(cl.dir, fmt.Sprintf("trace-%d", id)), fmt.Sprint(id))
	if err != nil {
		cl.t.Fatal(err)
	}
	cfg.Raft.Trace = tr
	if cl.tune != nil {
		cl.tune(&cfg)
	}
	n := &node{t: cl.t, id: id, trace: tr, done: make(chan error, 1)}
	if n.c, err = New(cfg); err != nil {
		cl.t.Fatal(err)
	}
	if n.server, err = wire.NewServer(wire.ServerConfig{APIs: n.c.APIs(), Features: n.c.Features, Listener: raftclient.ControllerListener, Logger: cfg.Raft.Logger}); err != nil {
		cl.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", cl.addr(id))
	if err != nil {
		cl.t.Fatal(err)
	}
	go n.server.Serve(ln)
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go func() { n.done <- n.c.Run(ctx) }()
	cl.nodes[id] = n
	return n
}

func (cl *cluster) addr(id kafka.BrokerID) string {
	for _, v := range cl.voters {
		if v.ID == id {
			return v.Addr()
		}
	}
	return ""
}

// kill ends a controller as a crash does.
func (n *node) kill() {
	if n.gone {
		return
	}
	n.gone = true
	n.cancel()
	if err := <-n.done; err != nil {
		n.t.Errorf("controller %d: %v", n.id, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(n.server.Close(ctx), n.trace.Close()); err != nil {
		n.t.Errorf("controller %d: %v", n.id, err)
	}
}

// active waits for a controller that serves, in an epoch above after.
func (cl *cluster) active(after kafka.LeaderEpoch) *node {
	cl.t.Helper()
	var found *node
	await(cl.t, "an active controller", func() bool {
		for _, n := range cl.nodes {
			if v := n.c.View(); !n.gone && v.Active && v.Epoch > after && v.Image.FeatureLevel("metadata.version") > 0 {
				found = n
				return true
			}
		}
		return false
	})
	return found
}

// request asks the active controller, and looks for it again while there is
// none.
func (cl *cluster) request(req kmsg.Request) kmsg.Response {
	cl.t.Helper()
	resp, _ := cl.ask(req)
	return resp
}

// ask is request that says how often it asked: all but the last answer came from
// no controller or not at all, and may have been carried out.
func (cl *cluster) ask(req kmsg.Request) (resp kmsg.Response, tries int) {
	cl.t.Helper()
	await(cl.t, "an answer to "+kmsg.NameForKey(req.Key()), func() bool {
		n := cl.active(-1)
		tries++
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		conn, err := wire.Dial(ctx, cl.addr(n.id), wire.DialOptions{})
		if err != nil {
			return false
		}
		defer conn.Close()
		resp, err = conn.Request(ctx, req)
		return err == nil && !isNotController(resp)
	})
	return resp, tries
}

func isNotController(resp kmsg.Response) bool {
	code := kafka.None
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		code = kafka.ErrorCode(r.Topics[0].ErrorCode)
	case *kmsg.BrokerRegistrationResponse:
		code = kafka.ErrorCode(r.ErrorCode)
	case *kmsg.BrokerHeartbeatResponse:
		code = kafka.ErrorCode(r.ErrorCode)
	case *kmsg.EnvelopeResponse:
		code = kafka.ErrorCode(r.ErrorCode)
	}
	return code == kafka.NotController
}

// upgrade raises the metadata.version.
func (cl *cluster) upgrade(to metadata.MetadataVersion) {
	cl.t.Helper()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.Version = 2
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = metadata.MetadataVersionFeature, int16(to), 1
	req.FeatureUpdates = append(req.FeatureUpdates, u)
	if r := cl.request(req).(*kmsg.UpdateFeaturesResponse); r.ErrorCode != 0 {
		cl.t.Fatalf("metadata.version %v: %v %v", to, kafka.ErrorCode(r.ErrorCode), *r.ErrorMessage)
	}
}

// createTopic makes a topic and says whether it was acknowledged.
func (cl *cluster) createTopic(name string, partitions int32, replication int16) kafka.ErrorCode {
	cl.t.Helper()
	resp, tries := cl.ask(createTopics(name, partitions, replication))
	code := kafka.ErrorCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
	if tries > 1 && code == kafka.TopicAlreadyExists {
		code = kafka.None
	}
	return code
}

func createTopics(name string, partitions int32, replication int16) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replication
	req.Topics = append(req.Topics, t)
	return req
}

// fakeBroker registers and sends heartbeats, wherever the controller is.
type fakeBroker struct {
	cl     *cluster
	id     kafka.BrokerID
	epoch  int64
	mu     sync.Mutex
	want   bool // to shut down
	last   *kmsg.BrokerHeartbeatResponse
	cancel context.CancelFunc
	done   chan struct{}
}

func (cl *cluster) broker(id kafka.BrokerID) *fakeBroker {
	cl.t.Helper()
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version, req.BrokerID, req.ClusterID = 4, int32(id), clusterID
	req.IncarnationID = kafka.UUID{0: byte(id), 15: 200}
	req.LogDirs = [][16]byte{{0: byte(id), 15: 201}}
	l := kmsg.NewBrokerRegistrationRequestListener()
	l.Name, l.Host, l.Port = "PLAINTEXT", "127.0.0.1", uint16(9000+int(id)%1000)
	req.Listeners = append(req.Listeners, l)
	f := kmsg.NewBrokerRegistrationRequestFeature()
	f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = "metadata.version", 1, 100
	req.Features = append(req.Features, f)
	req.PreviousBrokerEpoch = -1
	r := cl.request(req).(*kmsg.BrokerRegistrationResponse)
	if r.ErrorCode != 0 {
		cl.t.Fatalf("registration of broker %d: %v", id, kafka.ErrorCode(r.ErrorCode))
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &fakeBroker{cl: cl, id: id, epoch: r.BrokerEpoch, cancel: cancel, done: make(chan struct{})}
	cl.brokers = append(cl.brokers, b)
	go b.beat(ctx)
	await(cl.t, fmt.Sprintf("broker %d to be unfenced", id), func() bool { h := b.heartbeat(); return h != nil && !h.IsFenced })
	return b
}

func (b *fakeBroker) heartbeat() *kmsg.BrokerHeartbeatResponse {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// beat sends heartbeats to whoever answers as the controller.
func (b *fakeBroker) beat(ctx context.Context) {
	defer close(b.done)
	var conn *wire.Conn
	next := 0
	for ctx.Err() == nil {
		if conn == nil {
			v := b.cl.voters[next%len(b.cl.voters)]
			next++
			if c, err := wire.Dial(ctx, v.Addr(), wire.DialOptions{}); err == nil {
				conn = c
			}
		}
		if conn != nil && !b.once(ctx, conn) {
			conn.Close()
			conn = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	if conn != nil {
		conn.Close()
	}
}

func (b *fakeBroker) once(ctx context.Context, conn *wire.Conn) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version, req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset = 1, int32(b.id), b.epoch, 1<<40
	b.mu.Lock()
	req.WantShutdown = b.want
	b.mu.Unlock()
	resp, err := conn.Request(ctx, req)
	if err != nil || resp == nil || resp.(*kmsg.BrokerHeartbeatResponse).ErrorCode != 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = resp.(*kmsg.BrokerHeartbeatResponse)
	return true
}

func (b *fakeBroker) shutdown() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.want = true
}

func (b *fakeBroker) stop() {
	b.cancel()
	<-b.done
}

// events reads the trace of a controller that has ended.
func (cl *cluster) events(id kafka.BrokerID) []trace.Event {
	cl.t.Helper()
	f, err := os.Open(filepath.Join(cl.dir, fmt.Sprintf("trace-%d", id)))
	if err != nil {
		cl.t.Fatal(err)
	}
	defer f.Close()
	events, err := trace.Read(f)
	if err != nil {
		cl.t.Fatal(err)
	}
	return events
}
