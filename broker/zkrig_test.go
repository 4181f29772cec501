package broker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/internal/zkserver"
	"kbench/kafka"
	"kbench/kafka/ibp"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

const (
	deadline = time.Minute // for whatever must come, on a busy machine
	// lasting is a session's time-out that no pause of the machine uses up; tests
	// that wait until a session is over have shorter ones.
	lasting = 20 * time.Second
)

// eventually polls until ok, or fails the test saying what it waited for.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(deadline)
	for !ok() {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", deadline, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// testLog logs at the level that KBENCH_TEST_LOG names, by default nothing.
func testLog() *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(os.Getenv("KBENCH_TEST_LOG"))) != nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// process is one broker with its listener.
type process struct {
	*Broker
	ln     net.Listener
	srv    *wire.Server
	cancel context.CancelFunc
	ran    chan error
	trace  string
	w      *trace.Writer
	once   sync.Once
}

// startProcess makes and runs a broker; port 0 picks one.
func startProcess(t testing.TB, id kafka.BrokerID, port uint16, plane Plane, tune func(*Config)) *process {
	t.Helper()
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{ln: ln, ran: make(chan error, 1), trace: filepath.Join(t.TempDir(), "trace")}
	w, err := trace.Create(p.trace, fmt.Sprintf("broker-%d", id))
	if err != nil {
		t.Fatal(err)
	}
	p.w = w
	t.Cleanup(func() { w.Close() })
	cfg := Config{
		ID: id, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: p.port()}},
		FetchWait: 100 * time.Millisecond, FetchBackoff: 50 * time.Millisecond, Logger: testLog(), Trace: w,
		RequestTimeout: 10 * time.Second,
	}
	if tune != nil {
		tune(&cfg)
	}
	if p.Broker, err = New(cfg, plane); err != nil {
		t.Fatal(err)
	}
	// One handler: a request that keeps it while it waits holds up the broker.
	requests, err := wire.NewRequestChannel(1, wire.DefaultQueuedRequests)
	if err != nil {
		t.Fatal(err)
	}
	if p.srv, err = wire.NewServer(wire.ServerConfig{APIs: p.APIs(), Listener: "PLAINTEXT", Logger: testLog(), Requests: requests}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() { _ = p.srv.Serve(ln) }()
	go func() { p.ran <- p.Run(ctx) }()
	t.Cleanup(func() { p.stop(t) })
	return p
}

func (p *process) port() uint16 { return uint16(p.ln.Addr().(*net.TCPAddr).Port) }

func (p *process) addr() string { return p.ln.Addr().String() }

// stop ends the broker without asking the controller.
func (p *process) stop(t testing.TB) {
	p.once.Do(func() {
		p.cancel()
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := p.srv.Close(ctx); err != nil {
			t.Error(err)
		}
		select {
		case err := <-p.ran:
			if err != nil {
				t.Error(err)
			}
		case <-ctx.Done():
			t.Error("Run did not return")
		}
	})
}

// events gives the kinds of what the broker traced; it ends the trace.
func (p *process) events(t testing.TB) string {
	t.Helper()
	if err := p.w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(p.trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := trace.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, string(e.Kind))
	}
	return strings.Join(kinds, " ")
}

// ask sends one request to a broker, as a client or controller would.
func ask[R kmsg.Response](t testing.TB, addr string, req kmsg.Request) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	conn, err := wire.Dial(ctx, addr, wire.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	resp, err := conn.Request(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(R)
}

// zkRig is an embedded store, brokers, and a controller of the test's own that
// runs in broker 1's process.
type zkRig struct {
	t     testing.TB
	store string

	mu      sync.Mutex
	epoch   int32
	brokers map[kafka.BrokerID]*process
	truth   map[kafka.TopicPartition]*metadata.Partition
	ids     map[string]kafka.UUID
	altered int // AlterPartition requests
	nextPID int64
	// onShutdown answers ControlledShutdown; nil grants.
	onShutdown func(id int32, epoch int64) *kmsg.ControlledShutdownResponse
	onAlter    func() kafka.ErrorCode
	onAllocate func(ctx context.Context) // before a block is given; nil: at once
	protocol   ibp.Version
}

func startStore(t testing.TB) string {
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

func newZKRig(t testing.TB, brokers int) *zkRig {
	r := &zkRig{
		t: t, store: startStore(t), epoch: 1, brokers: map[kafka.BrokerID]*process{},
		truth: map[kafka.TopicPartition]*metadata.Partition{}, ids: map[string]kafka.UUID{}, nextPID: 1000,
	}
	for id := kafka.BrokerID(1); id <= kafka.BrokerID(brokers); id++ {
		r.start(id, 0, nil)
	}
	r.update(nil)
	return r
}

// start brings up a broker and waits until it is registered.
func (r *zkRig) start(id kafka.BrokerID, port uint16, tune func(*Config)) *process {
	r.t.Helper()
	p := startProcess(r.t, id, port, r.plane(), func(c *Config) {
		if id == 1 {
			c.ControllerAPIs = r.apis()
		}
		if tune != nil {
			tune(c)
		}
	})
	eventually(r.t, "broker is registered", func() bool { return p.Epoch() >= 0 })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.brokers[id] = p
	return p
}

func (r *zkRig) plane() Plane {
	return ZooKeeper(ZooKeeperConfig{Servers: []string{r.store}, SessionTimeout: lasting, ShutdownBackoff: 10 * time.Millisecond, Protocol: r.protocol})
}

// kill ends a broker as far as the others see.
func (r *zkRig) kill(id kafka.BrokerID) {
	r.mu.Lock()
	p := r.brokers[id]
	delete(r.brokers, id)
	r.mu.Unlock()
	p.stop(r.t)
}

// live gives the brokers that run, by id.
func (r *zkRig) live() []*process {
	var out []*process
	for _, p := range r.brokers {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *process) int { return int(a.ID() - b.ID()) })
	return out
}

// create makes a topic with n partitions on brokers 1..rf in turn and tells
// everybody.
func (r *zkRig) create(topic string, n int32, rf int) {
	r.t.Helper()
	var changed []kafka.TopicPartition
	r.mu.Lock()
	r.ids[topic] = randomUUID()
	live := r.live()
	for p := range n {
		var replicas []kafka.BrokerID
		for i := range rf {
			replicas = append(replicas, live[(int(p)+i)%len(live)].ID())
		}
		tp := kafka.TopicPartition{Topic: topic, Partition: p}
		r.truth[tp] = &metadata.Partition{Replicas: replicas, ISR: replicas, Leader: replicas[0]}
		changed = append(changed, tp)
	}
	r.mu.Unlock()
	r.push(changed)
}

// change decides anew on one partition, in a new leader epoch, and tells
// everybody.
func (r *zkRig) change(tp kafka.TopicPartition, f func(*metadata.Partition)) {
	r.mu.Lock()
	s := *r.truth[tp]
	s.LeaderEpoch, s.PartitionEpoch = s.LeaderEpoch+1, s.PartitionEpoch+1
	f(&s)
	r.truth[tp] = &s
	r.mu.Unlock()
	r.push([]kafka.TopicPartition{tp})
}

// push sends the state of partitions by LeaderAndIsr and UpdateMetadata.
func (r *zkRig) push(tps []kafka.TopicPartition) {
	r.t.Helper()
	for _, p := range r.live() {
		resp := ask[*kmsg.LeaderAndISRResponse](r.t, p.addr(), r.leaderAndISR(p, tps))
		if resp.ErrorCode != 0 {
			r.t.Fatalf("LeaderAndIsr to %d: %v", p.ID(), kafka.ErrorCode(resp.ErrorCode))
		}
	}
	r.update(tps)
}

func (r *zkRig) leaderAndISR(p *process, tps []kafka.TopicPartition) *kmsg.LeaderAndISRRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	req := kmsg.NewPtrLeaderAndISRRequest()
	req.Version, req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = 7, 1, r.epoch, int64(p.Epoch())
	for _, tp := range tps {
		s := r.truth[tp]
		if !s.HasReplica(p.ID()) {
			continue
		}
		n := len(req.TopicStates)
		if n == 0 || req.TopicStates[n-1].Topic != tp.Topic {
			t := kmsg.NewLeaderAndISRRequestTopicState()
			t.Topic, t.TopicID = tp.Topic, r.ids[tp.Topic]
			req.TopicStates = append(req.TopicStates, t)
			n++
		}
		part := kmsg.NewLeaderAndISRRequestTopicPartition()
		part.Partition, part.Leader, part.LeaderEpoch, part.ZKVersion = tp.Partition, int32(s.Leader), int32(s.LeaderEpoch), int32(s.PartitionEpoch)
		part.Replicas, part.ISR = int32s(s.Replicas), int32s(s.ISR)
		req.TopicStates[n-1].PartitionStates = append(req.TopicStates[n-1].PartitionStates, part)
	}
	return req
}

func int32s(ids []kafka.BrokerID) []int32 {
	var out []int32
	for _, id := range ids {
		out = append(out, int32(id))
	}
	return out
}

func (r *zkRig) updateMetadata(p *process, tps []kafka.TopicPartition) *kmsg.UpdateMetadataRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	req := kmsg.NewPtrUpdateMetadataRequest()
	req.Version, req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = 8, 1, r.epoch, int64(p.Epoch())
	for _, tp := range tps {
		s := r.truth[tp]
		n := len(req.TopicStates)
		if n == 0 || req.TopicStates[n-1].Topic != tp.Topic {
			t := kmsg.NewUpdateMetadataRequestTopicState()
			t.Topic, t.TopicID = tp.Topic, r.ids[tp.Topic]
			req.TopicStates = append(req.TopicStates, t)
			n++
		}
		part := kmsg.NewUpdateMetadataRequestTopicPartition()
		part.Partition, part.Leader, part.LeaderEpoch, part.ZKVersion = tp.Partition, int32(s.Leader), int32(s.LeaderEpoch), int32(s.PartitionEpoch)
		part.Replicas, part.ISR = int32s(s.Replicas), int32s(s.ISR)
		req.TopicStates[n-1].PartitionStates = append(req.TopicStates[n-1].PartitionStates, part)
	}
	for _, live := range r.live() {
		b := kmsg.NewUpdateMetadataRequestLiveBroker()
		b.ID = int32(live.ID())
		e := kmsg.NewUpdateMetadataRequestLiveBrokerEndpoint()
		e.ListenerName, e.Host, e.Port = "PLAINTEXT", "127.0.0.1", int32(live.port())
		b.Endpoints = append(b.Endpoints, e)
		req.LiveBrokers = append(req.LiveBrokers, b)
	}
	return req
}

// update sends UpdateMetadata alone.
func (r *zkRig) update(tps []kafka.TopicPartition) {
	r.t.Helper()
	for _, p := range r.live() {
		if resp := ask[*kmsg.UpdateMetadataResponse](r.t, p.addr(), r.updateMetadata(p, tps)); resp.ErrorCode != 0 {
			r.t.Fatalf("UpdateMetadata to %d: %v", p.ID(), kafka.ErrorCode(resp.ErrorCode))
		}
	}
}

// apis is the test's controller in broker 1.
func (r *zkRig) apis() []wire.API {
	return []wire.API{
		{Key: 7, MinVersion: 1, MaxVersion: 3, Handle: r.controlledShutdown},
		{Key: 56, MinVersion: 2, MaxVersion: 3, Handle: r.alterPartition},
		{Key: 67, MinVersion: 0, MaxVersion: 0, Handle: r.allocateProducerIDs},
	}
}

func (r *zkRig) controlledShutdown(_ context.Context, q *wire.Request) (kmsg.Response, error) {
	req := q.Body.(*kmsg.ControlledShutdownRequest)
	if r.onShutdown != nil {
		return r.onShutdown(req.BrokerID, req.BrokerEpoch), nil
	}
	return kmsg.NewPtrControlledShutdownResponse(), nil
}

func (r *zkRig) allocateProducerIDs(ctx context.Context, _ *wire.Request) (kmsg.Response, error) {
	if r.onAllocate != nil {
		r.onAllocate(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	resp := kmsg.NewPtrAllocateProducerIDsResponse()
	resp.ProducerIDStart, resp.ProducerIDLen = r.nextPID, 2
	r.nextPID += 2
	return resp, nil
}

// alterPartition accepts what a controller of ZooKeeper mode would.
func (r *zkRig) alterPartition(_ context.Context, q *wire.Request) (kmsg.Response, error) {
	req := q.Body.(*kmsg.AlterPartitionRequest)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.altered++
	resp := kmsg.NewPtrAlterPartitionResponse()
	if r.onAlter != nil {
		if code := r.onAlter(); code != kafka.None {
			resp.ErrorCode = int16(code)
			return resp, nil
		}
	}
	names := map[kafka.UUID]string{}
	for name, id := range r.ids {
		names[id] = name
	}
	for _, t := range req.Topics {
		rt := kmsg.NewAlterPartitionResponseTopic()
		rt.TopidID = t.TopicID
		for _, p := range t.Partitions {
			tp := kafka.TopicPartition{Topic: names[t.TopicID], Partition: p.Partition}
			rt.Partitions = append(rt.Partitions, r.alterOne(tp, &p))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

func (r *zkRig) alterOne(tp kafka.TopicPartition, p *kmsg.AlterPartitionRequestTopicPartition) kmsg.AlterPartitionResponseTopicPartition {
	out := kmsg.NewAlterPartitionResponseTopicPartition()
	out.Partition = tp.Partition
	s, ok := r.truth[tp]
	switch {
	case !ok:
		out.ErrorCode = int16(kafka.UnknownTopicID)
		return out
	case int32(s.LeaderEpoch) != p.LeaderEpoch:
		out.ErrorCode = int16(kafka.FencedLeaderEpoch)
		return out
	case int32(s.PartitionEpoch) != p.PartitionEpoch:
		out.ErrorCode = int16(kafka.InvalidUpdateVersion)
		return out
	}
	next := *s
	next.ISR = nil
	for _, m := range p.NewEpochISR {
		if r.brokers[kafka.BrokerID(m.BrokerID)] == nil {
			out.ErrorCode = int16(kafka.IneligibleReplica)
			return out
		}
		next.ISR = append(next.ISR, kafka.BrokerID(m.BrokerID))
	}
	next.PartitionEpoch++
	r.truth[tp] = &next
	out.LeaderID, out.LeaderEpoch, out.PartitionEpoch, out.ISR = int32(next.Leader), int32(next.LeaderEpoch), int32(next.PartitionEpoch), int32s(next.ISR)
	return out
}

func (r *zkRig) isr(tp kafka.TopicPartition) []kafka.BrokerID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.truth[tp].ISR))
}
