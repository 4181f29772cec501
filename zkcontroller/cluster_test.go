package zkcontroller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/internal/zkserver"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

const (
	patience = time.Minute // for whatever must come, on a busy machine
	// lasting is a session's time-out that no pause of the machine uses up, and
	// brief one for tests that wait until a session is over.
	lasting = 20 * time.Second
	brief   = 3 * time.Second
)

// cluster is a store with brokers that obey and candidates that control.
type cluster struct {
	t       testing.TB
	addr    string
	brokers map[kafka.BrokerID]*testBroker
	zk      *zk.Session // to look at znodes
}

// testStore gives the address of a store: the embedded server, or the one that
// KBENCH_TEST_ZOOKEEPER names, whose znodes are then removed.
func testStore(t testing.TB) string {
	if addr := os.Getenv("KBENCH_TEST_ZOOKEEPER"); addr != "" {
		return addr
	}
	srv, err := zkserver.New(zkserver.Config{
		DataDir: t.TempDir(), TickTime: 50 * time.Millisecond, MaxSessionTimeout: lasting, NoSync: true,
		Logger: slog.New(slog.DiscardHandler),
	})
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
	return srv.Addr().String()
}

func newCluster(t testing.TB) *cluster {
	c := &cluster{t: t, addr: testStore(t), brokers: map[kafka.BrokerID]*testBroker{}}
	c.zk = c.connect(zk.Config{})
	for _, p := range []string{zk.ControllerPath, zk.ControllerEpochPath, "/brokers", "/admin", "/config", "/feature", "/latest_producer_id_block", "/isr_change_notification"} {
		c.wipe(p)
	}
	if err := c.zk.EnsurePersistentPaths(context.Background()); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) connect(cfg zk.Config) *zk.Session {
	c.t.Helper()
	cfg.Servers = []string{c.addr}
	if cfg.SessionTimeout == 0 {
		cfg.SessionTimeout = lasting
	}
	s, err := zk.Connect(context.Background(), cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func (c *cluster) wipe(path string) {
	r := c.zk.Do(context.Background(), zk.Children(path))
	for _, n := range r.Children {
		c.wipe(path + "/" + n)
	}
	if r.Err == nil {
		c.zk.Do(context.Background(), zk.Delete(path, zk.AnyVersion))
	}
}

// testBroker answers the controller's requests and keeps what they say.
type testBroker struct {
	c       *cluster
	id      kafka.BrokerID
	epoch   kafka.BrokerEpoch
	ep      kafka.Endpoint
	session *zk.Session
	srv     *wire.Server
	served  chan error

	controller *Controller
	stop       context.CancelFunc
	ran        chan error
	cable      *cable
	trace      string

	mu     sync.Mutex
	ctlr   int32
	cepoch int32
	live   []int32
	ports  map[int32]int
	meta   map[kafka.TopicPartition]kmsg.UpdateMetadataRequestTopicPartition
	roles  map[kafka.TopicPartition]kmsg.LeaderAndISRRequestTopicPartition
	names  map[[16]byte]string
	log    []string
	broken bool                          // answers nothing
	failed map[kafka.TopicPartition]bool // replicas in a directory that failed
}

// start brings up a broker; a candidate runs a controller too.
func (c *cluster) start(id kafka.BrokerID, candidate bool, tune ...func(*Config)) *testBroker {
	c.t.Helper()
	b := &testBroker{
		c: c, id: id, served: make(chan error, 1), ran: make(chan error, 1), cable: &cable{},
		meta:  map[kafka.TopicPartition]kmsg.UpdateMetadataRequestTopicPartition{},
		roles: map[kafka.TopicPartition]kmsg.LeaderAndISRRequestTopicPartition{}, names: map[[16]byte]string{},
	}
	apis := []wire.API{
		{Key: 4, MinVersion: 0, MaxVersion: 7, Handle: b.leaderAndISR},
		{Key: 5, MinVersion: 0, MaxVersion: 4, Handle: b.stopReplica},
		{Key: 6, MinVersion: 0, MaxVersion: 8, Handle: b.updateMetadata},
	}
	if candidate {
		b.trace = c.t.TempDir() + "/trace.jsonl"
		w, err := trace.Create(b.trace, fmt.Sprintf("broker-%d", id))
		if err != nil {
			c.t.Fatal(err)
		}
		cfg := Config{ID: id, Servers: []string{c.addr}, SessionTimeout: lasting, NoRebalance: true, Trace: w, DialZooKeeper: b.cable.dial}
		for _, f := range tune {
			f(&cfg)
		}
		if b.controller, err = New(cfg); err != nil {
			c.t.Fatal(err)
		}
		apis = append(apis, b.controller.APIs()...)
	}
	var err error
	if b.srv, err = wire.NewServer(wire.ServerConfig{APIs: apis}); err != nil {
		c.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	go func() { b.served <- b.srv.Serve(ln) }()
	b.ep = kafka.Endpoint{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port)}
	b.session = c.connect(zk.Config{})
	b.mu.Lock() // the controller may send before the epoch is known here
	b.epoch, err = b.session.RegisterBroker(context.Background(), zk.BrokerRegistration{ID: id, Endpoints: []kafka.Endpoint{b.ep}})
	b.mu.Unlock()
	if err != nil {
		c.t.Fatal(err)
	}
	if b.controller != nil {
		ctx, cancel := context.WithCancel(context.Background())
		b.stop = cancel
		go func() { b.ran <- b.controller.Run(ctx) }()
	}
	c.brokers[id] = b
	c.t.Cleanup(b.kill)
	return b
}

// kill ends a broker's session and server at once.
func (b *testBroker) kill() {
	if b.session == nil {
		return
	}
	b.session.Close(context.Background())
	b.session = nil
	if b.stop != nil {
		b.stop()
		if err := <-b.ran; err != nil {
			b.c.t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.srv.Close(ctx); err != nil {
		b.c.t.Error(err)
	}
	<-b.served
	delete(b.c.brokers, b.id)
}

func (b *testBroker) seen(controller, epoch int32) {
	if epoch >= b.cepoch {
		b.ctlr, b.cepoch = controller, epoch
	}
}

func (b *testBroker) leaderAndISR(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.LeaderAndISRRequest)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return nil, errors.New("broken")
	}
	resp := kmsg.NewPtrLeaderAndISRResponse()
	if req.ControllerEpoch < b.cepoch {
		resp.ErrorCode = int16(kafka.StaleControllerEpoch)
		return resp, nil
	}
	if kafka.BrokerEpoch(req.BrokerEpoch) < b.epoch {
		resp.ErrorCode = int16(kafka.StaleBrokerEpoch)
		return resp, nil
	}
	b.seen(req.ControllerID, req.ControllerEpoch)
	n := 0
	for _, p := range req.PartitionStates { // not grouped by topic before version 2
		b.roles[kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}] = p
		n++
	}
	for _, t := range req.TopicStates {
		b.names[t.TopicID] = t.Topic
		for _, p := range t.PartitionStates {
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			if n++; b.failed[tp] {
				rp := kmsg.NewLeaderAndISRResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, int16(kafka.KafkaStorageError)
				resp.Topics = append(resp.Topics, kmsg.LeaderAndISRResponseTopic{TopicID: t.TopicID, Partitions: []kmsg.LeaderAndISRResponseTopicPartition{rp}})
				continue
			}
			b.roles[tp] = p
		}
	}
	b.log = append(b.log, fmt.Sprintf("LeaderAndIsr %d", n))
	return resp, nil
}

func (b *testBroker) updateMetadata(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.UpdateMetadataRequest)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return nil, errors.New("broken")
	}
	resp := kmsg.NewPtrUpdateMetadataResponse()
	if req.ControllerEpoch < b.cepoch {
		resp.ErrorCode = int16(kafka.StaleControllerEpoch)
		return resp, nil
	}
	b.seen(req.ControllerID, req.ControllerEpoch)
	b.live, b.ports = nil, map[int32]int{}
	for _, l := range req.LiveBrokers {
		b.live = append(b.live, l.ID)
		b.ports[l.ID] = int(l.Endpoints[0].Port)
	}
	n := 0
	for _, t := range req.TopicStates {
		for _, p := range t.PartitionStates {
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			n++
			if p.Leader == -2 {
				delete(b.meta, tp)
				continue
			}
			b.meta[tp] = p
		}
	}
	b.log = append(b.log, fmt.Sprintf("UpdateMetadata %d", n))
	return resp, nil
}

func (b *testBroker) stopReplica(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.StopReplicaRequest)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return nil, errors.New("broken")
	}
	resp := kmsg.NewPtrStopReplicaResponse()
	n := 0
	for _, t := range req.Topics {
		for _, p := range t.PartitionStates {
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			delete(b.roles, tp)
			n++
			x := kmsg.NewStopReplicaResponsePartition()
			x.Topic, x.Partition = t.Topic, p.Partition
			resp.Partitions = append(resp.Partitions, x)
		}
	}
	b.log = append(b.log, fmt.Sprintf("StopReplica %d", n))
	return resp, nil
}

// leader gives what a broker's metadata says of a partition.
func (b *testBroker) leader(topic string, p int32) (leader, epoch int32, isr []int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok := b.meta[kafka.TopicPartition{Topic: topic, Partition: p}]
	if !ok {
		return -9, -9, nil
	}
	return m.Leader, m.LeaderEpoch, m.ISR
}

// port gives where another broker listens, as far as this one knows. The caller
// holds mu.
func (b *testBroker) port(id int32) int { return b.ports[id] }

func (b *testBroker) controllerSeen() (id, epoch int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ctlr, b.cepoch
}

func (b *testBroker) isolate(down bool) { b.cable.set(down) }

// eventually waits until ok holds.
func (c *cluster) eventually(what string, ok func() bool) {
	c.t.Helper()
	c.eventuallyIn(patience, what, ok)
}

func (c *cluster) eventuallyIn(limit time.Duration, what string, ok func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			for id, b := range c.brokers {
				b.mu.Lock()
				c.t.Logf("broker %d: controller %d epoch %d live %v log %v meta %v", id, b.ctlr, b.cepoch, b.live, b.log[max(0, len(b.log)-5):], len(b.meta))
				b.mu.Unlock()
			}
			c.t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// active waits for the one active controller.
func (c *cluster) active() *testBroker {
	c.t.Helper()
	var found *testBroker
	c.eventually("a controller is active", func() bool {
		found = nil
		for _, b := range c.brokers {
			if b.controller != nil && b.controller.Active() {
				found = b
			}
		}
		return found != nil
	})
	return found
}

// ask sends one request to a broker on a connection of its own.
func (c *cluster) ask(b *testBroker, req kmsg.Request, version int16) kmsg.Response {
	c.t.Helper()
	return c.askFor(b, req, version, patience)
}

func (c *cluster) askFor(b *testBroker, req kmsg.Request, version int16, limit time.Duration) kmsg.Response {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := wire.Dial(ctx, b.ep.Addr(), wire.DialOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	req.SetVersion(version)
	resp, err := conn.Request(ctx, req)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

// create makes a topic with the replicas of each partition, and fails if that
// does.
func (c *cluster) create(topic string, replicas ...[]int32) {
	c.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(patience.Milliseconds())
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, -1, -1
	for i, r := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), r
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	req.Topics = append(req.Topics, t)
	// A broker that has just registered is no replica until the controller has
	// heard of it.
	c.eventually("topic "+topic+" is created", func() bool {
		got := c.ask(c.active(), req, 7).(*kmsg.CreateTopicsResponse).Topics[0]
		code := kafka.ErrorCode(got.ErrorCode)
		if code != kafka.None && code != kafka.InvalidReplicaAssignment {
			c.t.Fatalf("create %s: %v %v", topic, code, got.ErrorMessage)
		}
		return code == kafka.None
	})
}

func (c *cluster) shutdown(b *testBroker, epoch kafka.BrokerEpoch) *kmsg.ControlledShutdownResponse {
	c.t.Helper()
	req := kmsg.NewPtrControlledShutdownRequest()
	req.BrokerID, req.BrokerEpoch = int32(b.id), int64(epoch)
	return c.ask(c.active(), req, 3).(*kmsg.ControlledShutdownResponse)
}

// converged waits until every broker's metadata of a partition is so.
func (c *cluster) converged(topic string, p, leader int32, isr ...int32) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%s-%d has leader %d and ISR %v everywhere", topic, p, leader, isr), func() bool {
		for _, b := range c.brokers {
			l, _, got := b.leader(topic, p)
			if l != leader || isr != nil && !slices.Equal(got, isr) {
				return false
			}
		}
		return true
	})
}

func (c *cluster) state(topic string, p int32) (zk.PartitionState, int32) {
	c.t.Helper()
	r := c.zk.Do(context.Background(), zk.Get(zk.StatePath(topic, p)))
	if r.Err != nil {
		c.t.Fatal(r.Err)
	}
	s, err := zk.DecodeState(r.Data)
	if err != nil {
		c.t.Fatal(err)
	}
	return s, r.Version
}

func (b *testBroker) kinds() []trace.Kind {
	f, err := os.Open(b.trace)
	if err != nil {
		b.c.t.Fatal(err)
	}
	defer f.Close()
	events, err := trace.Read(f)
	if err != nil {
		b.c.t.Fatal(err)
	}
	var out []trace.Kind
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

// cable is a dialer to ZooKeeper that can be cut.
type cable struct {
	mu    sync.Mutex
	conns []net.Conn
	down  bool
}

func (c *cable) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, &net.OpError{Op: "dial", Err: errors.New("cable is cut")}
	}
	conn, err := net.DialTimeout(network, addr, timeout)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *cable) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
	if down {
		for _, conn := range c.conns {
			conn.Close()
		}
		c.conns = nil
	}
}
