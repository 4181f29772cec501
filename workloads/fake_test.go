package workloads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"kbench/internal/heldport/heldtest"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeCluster is a cluster in memory: real sockets and Kafka's protocol, but
// every delay is known. A fault writes what will be true at which time, and
// each broker serves what was true delay ago.
type fakeCluster struct {
	t     *testing.T
	mode  nodeconfig.Mode
	delay map[kafka.BrokerID]time.Duration // how far behind each broker's view is

	detect, elect, load, push time.Duration      // of a controller's successor
	fence                     time.Duration      // until a lost broker's leaderships move
	grant                     time.Duration      // of a controlled shutdown; leaderships move then
	exit                      time.Duration      // of a stopped process
	create                    time.Duration      // until a creation is acknowledged and true
	straggler                 time.Duration      // the last partition moves so much later
	admin                     time.Duration      // until a change other than a creation is acknowledged and true
	serial                    bool               // such changes are made one after the other
	rejoin                    time.Duration      // of a broker that runs again, until ISRs hold it
	deaf                      bool               // faults do nothing
	leaky                     bool               // packets pass through faults of the network
	heap                      int64              // live in every process
	collected                 func(*fakeCluster) // called when garbage was collected
	late                      time.Duration      // faults do what they do so long after Inject returned
	untraced                  bool               // nodes write no traces
	blind                     bool               // exits cannot be seen: each is taken for one that was
	refuseOver                int                // produces of more bytes are refused; 0: none
	quorum                    fakeQuorum

	turn       sync.Mutex // of changes, where they are serial
	mu         sync.Mutex
	nodes      []*fakeNode
	topics     map[string]*fakeTopic
	controller []since[kafka.BrokerID] // what is true from when on
	servesFrom int64                   // the controller serves from then on
	epoch      int64
	events     []trace.Event
	unhealthy  error
	injected   []Fault
}

type since[T any] struct {
	ns int64
	v  T
}

// at gives what was true at ns.
func at[T any](history []since[T], ns int64) (v T, ok bool) {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].ns <= ns {
			return history[i].v, true
		}
	}
	return v, false
}

type fakeNode struct {
	Node
	broker bool
	srv    *wire.Server
	exitNs int64
	code   int
	gone   chan struct{} // closed when a stopped or killed node has exited
	paused chan struct{} // closed on resume; nil where it runs
	out    []since[bool] // whether ISRs are without it
}

type fakeTopic struct {
	id         kafka.UUID
	partitions []fakePartition
	goneNs     int64        // when it was deleted, 0 while it is there
	minISR     []since[int] // min.insync.replicas
}

type fakePartition struct {
	replicas []since[[]int32]
	leaders  []since[leaderClaim]
}

func newFakeCluster(t *testing.T, mode nodeconfig.Mode, brokers, partitions int) *fakeCluster {
	c := &fakeCluster{
		t: t, mode: mode, delay: map[kafka.BrokerID]time.Duration{}, topics: map[string]*fakeTopic{}, epoch: 1,
		events: []trace.Event{{T: 1, Kind: trace.ControllerElected, Epoch: 1, Node: "controller"}},
		quorum: fakeQuorum{removed: map[kafka.BrokerID]bool{}},
	}
	for id := 1; id <= brokers; id++ {
		c.nodes = append(c.nodes, &fakeNode{Node: Node{ID: kafka.BrokerID(id)}, broker: true})
	}
	for id := 1001; id <= 1003; id++ {
		c.nodes = append(c.nodes, &fakeNode{Node: Node{ID: kafka.BrokerID(id)}})
	}
	for _, n := range c.nodes {
		c.listen(n, fmt.Sprintf("127.0.0.1:%d", heldtest.Port(t)))
	}
	c.controller = []since[kafka.BrokerID]{{0, 1001}}
	for i := 0; partitions > 0; i++ {
		k := min(partitions, 20)
		c.addTopic(fmt.Sprintf("t%d", i), k, 0)
		partitions -= k
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			c.shut(n.srv)
		}
	})
	return c
}

func (c *fakeCluster) listen(n *fakeNode, addr string) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		c.t.Fatal(err)
	}
	held := func(h func(context.Context, *wire.Request) (kmsg.Response, error)) wire.Handler {
		return func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
			c.mu.Lock()
			paused := n.paused
			c.mu.Unlock()
			if paused != nil {
				select {
				case <-paused:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return h(ctx, r)
		}
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	srv, err := wire.NewServer(wire.ServerConfig{Listener: "FAKE", Logger: quiet, APIs: []wire.API{
		{Key: 0, MinVersion: 3, MaxVersion: 9, Handle: held(func(_ context.Context, r *wire.Request) (kmsg.Response, error) {
			return c.produce(n, r.Body.(*kmsg.ProduceRequest)), nil
		})},
		{Key: 3, MinVersion: 7, MaxVersion: 12, Handle: held(func(_ context.Context, r *wire.Request) (kmsg.Response, error) {
			return c.metadata(n, r.Body.(*kmsg.MetadataRequest)), nil
		})},
		{Key: 19, MinVersion: 4, MaxVersion: 7, Handle: held(func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
			return c.createTopics(ctx, n, r.Body.(*kmsg.CreateTopicsRequest))
		})},
		{Key: 43, MinVersion: 1, MaxVersion: 2, Handle: func(_ context.Context, r *wire.Request) (kmsg.Response, error) {
			return c.electLeaders(r.Body.(*kmsg.ElectLeadersRequest)), nil
		}},
		{Key: 20, MinVersion: 1, MaxVersion: 5, Handle: held(c.later(c.deleteTopics))},
		{Key: 37, MinVersion: 0, MaxVersion: 3, Handle: held(c.later(c.createPartitions))},
		{Key: 44, MinVersion: 0, MaxVersion: 1, Handle: held(c.later(c.alterConfigs))},
		{Key: 55, MinVersion: 0, MaxVersion: 2, Handle: held(c.later(c.describeQuorum))},
		{Key: 57, MinVersion: 1, MaxVersion: 1, Handle: held(c.later(c.updateFeatures))},
		{Key: 80, MinVersion: 0, MaxVersion: 1, Handle: held(c.later(c.addVoter))},
		{Key: 81, MinVersion: 0, MaxVersion: 0, Handle: held(c.later(c.removeVoter))},
		{Key: 45, MinVersion: 0, MaxVersion: 0, Handle: held(c.later(c.reassign))},
	}})
	if err != nil {
		c.t.Fatal(err)
	}
	n.srv, n.Addr, n.Live, n.exitNs = srv, ln.Addr().String(), true, 0
	go func() {
		if err := srv.Serve(ln); err != nil {
			c.t.Errorf("node %d: %v", n.ID, err)
		}
	}()
}

func (c *fakeCluster) shut(srv *wire.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := srv.Close(ctx); err != nil {
		c.t.Error(err)
	}
}

func (c *fakeCluster) addTopic(name string, partitions int, fromNs int64) kafka.UUID {
	ids := []int32{}
	for _, n := range c.nodes {
		if n.broker {
			ids = append(ids, int32(n.ID))
		}
	}
	t := &fakeTopic{id: kafka.UUID{byte(len(c.topics) + 1), byte(len(c.topics) >> 8), 9}}
	for p := range partitions {
		var replicas []int32
		for i := range min(3, len(ids)) {
			replicas = append(replicas, ids[(p+i)%len(ids)])
		}
		t.partitions = append(t.partitions, newFakePartition(replicas, fromNs))
	}
	c.topics[name] = t
	return t.id
}

func newFakePartition(replicas []int32, fromNs int64) fakePartition {
	return fakePartition{[]since[[]int32]{{fromNs, replicas}}, []since[leaderClaim]{{fromNs, leaderClaim{kafka.BrokerID(replicas[0]), 0}}}}
}

func (c *fakeCluster) metadata(n *fakeNode, req *kmsg.MetadataRequest) kmsg.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := trace.Now() - int64(c.delay[n.ID])
	resp := kmsg.NewPtrMetadataResponse()
	controller, _ := at(c.controller, now)
	resp.ControllerID = int32(controller)
	for _, other := range c.nodes {
		b := kmsg.NewMetadataResponseBroker()
		host, port, _ := net.SplitHostPort(other.Addr)
		b.NodeID, b.Host = int32(other.ID), host
		_, _ = fmt.Sscan(port, &b.Port)
		resp.Brokers = append(resp.Brokers, b)
	}
	names := []string{}
	if req.Topics == nil {
		for name := range c.topics {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	for _, t := range req.Topics {
		names = append(names, *t.Topic)
	}
	for _, name := range names {
		resp.Topics = append(resp.Topics, c.describe(name, now))
	}
	return resp
}

func (c *fakeCluster) describe(name string, now int64) kmsg.MetadataResponseTopic {
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic = &name
	t := c.topics[name]
	if t == nil || t.goneNs != 0 && t.goneNs <= now {
		rt.ErrorCode = int16(kafka.UnknownTopicOrPartition)
		return rt
	}
	rt.TopicID = t.id
	for p, part := range t.partitions {
		claim, ok := at(part.leaders, now)
		if !ok {
			rt.ErrorCode = int16(kafka.UnknownTopicOrPartition)
			return rt
		}
		rp := kmsg.NewMetadataResponseTopicPartition()
		rp.Partition, rp.Leader, rp.LeaderEpoch = int32(p), int32(claim.leader), int32(claim.epoch)
		rp.Replicas, _ = at(part.replicas, now)
		for _, id := range rp.Replicas {
			if out, _ := at(c.node(kafka.BrokerID(id)).out, now); !out {
				rp.ISR = append(rp.ISR, id)
			}
		}
		rt.Partitions = append(rt.Partitions, rp)
	}
	return rt
}

func (c *fakeCluster) produce(n *fakeNode, req *kmsg.ProduceRequest) kmsg.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	resp := kmsg.NewPtrProduceResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition = p.Partition
			topic := c.topics[t.Topic]
			claim, _ := at(topic.partitions[p.Partition].leaders, trace.Now())
			need, _ := at(topic.minISR, trace.Now()-int64(c.delay[n.ID]))
			switch {
			case claim.leader != n.ID, c.refuseOver > 0 && len(p.Records) > c.refuseOver:
				rp.ErrorCode = int16(kafka.NotLeaderOrFollower)
			case req.Acks == -1 && need > 1:
				rp.ErrorCode = int16(kafka.NotEnoughReplicas)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// createTopics answers as the mode does: in zk the controller alone takes it,
// in kraft any broker holds it until there is a controller.
func (c *fakeCluster) createTopics(ctx context.Context, n *fakeNode, req *kmsg.CreateTopicsRequest) (kmsg.Response, error) {
	resp := kmsg.NewPtrCreateTopicsResponse()
	c.mu.Lock()
	active, _ := at(c.controller, trace.Now())
	from := c.servesFrom
	c.mu.Unlock()
	code := kafka.None
	switch {
	case active != n.ID && (c.mode == nodeconfig.ModeZK || !n.broker):
		code = kafka.NotController
	default:
		if !sleepUntil(ctx, max(trace.Now(), from)+int64(c.create)) {
			return nil, ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range req.Topics {
		rt := kmsg.NewCreateTopicsResponseTopic()
		rt.Topic, rt.ErrorCode = t.Topic, int16(code)
		switch {
		case code != kafka.None:
		case c.topics[t.Topic] != nil:
			rt.ErrorCode = int16(kafka.TopicAlreadyExists)
		default:
			rt.TopicID = c.addTopic(t.Topic, len(t.ReplicaAssignment), trace.Now())
			for i, a := range t.ReplicaAssignment {
				c.topics[t.Topic].partitions[i] = newFakePartition(a.Replicas, trace.Now())
			}
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

func (c *fakeCluster) electLeaders(req *kmsg.ElectLeadersRequest) kmsg.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			part := &c.topics[t.Topic].partitions[p]
			replicas, _ := at(part.replicas, trace.Now())
			c.lead(part, kafka.BrokerID(replicas[0]), trace.Now())
		}
	}
	return kmsg.NewPtrElectLeadersResponse()
}

func (c *fakeCluster) lead(p *fakePartition, id kafka.BrokerID, ns int64) {
	last := p.leaders[len(p.leaders)-1].v
	p.leaders = append(p.leaders, since[leaderClaim]{ns, leaderClaim{id, last.epoch + 1}})
}

// move gives every leadership of a broker to another replica at ns, the last
// partition of the last topic later by the straggler's delay. For the time lost
// before they have no leader.
func (c *fakeCluster) move(from kafka.BrokerID, ns int64, lost time.Duration) {
	names := []string{}
	for name := range c.topics {
		names = append(names, name)
	}
	slices.Sort(names)
	var led []*fakePartition
	for _, name := range names {
		for i := range c.topics[name].partitions {
			p := &c.topics[name].partitions[i]
			if p.leaders[len(p.leaders)-1].v.leader == from {
				led = append(led, p)
			}
		}
	}
	for i, p := range led {
		replicas, _ := at(p.replicas, trace.Now())
		to := slices.IndexFunc(replicas, func(id int32) bool { return kafka.BrokerID(id) != from })
		if to < 0 {
			continue
		}
		if lost > 0 {
			c.lead(p, kafka.NoLeader, ns-int64(lost))
		}
		late := int64(0)
		if i == len(led)-1 {
			late = int64(c.straggler)
		}
		c.lead(p, kafka.BrokerID(replicas[to]), ns+late)
	}
}

// Cluster's methods.

func (c *fakeCluster) Mode() nodeconfig.Mode { return c.mode }

func (c *fakeCluster) list(brokers bool) []Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Node
	for _, n := range c.nodes {
		if n.broker == brokers {
			out = append(out, n.Node)
		}
	}
	return out
}

func (c *fakeCluster) Brokers() []Node     { return c.list(true) }
func (c *fakeCluster) Controllers() []Node { return c.list(false) }

func (c *fakeCluster) ActiveController(context.Context) (Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, _ := at(c.controller, trace.Now())
	for _, n := range c.nodes {
		if n.ID == id {
			return n.Node, nil
		}
	}
	return Node{}, errors.New("no controller")
}

// WaitHealthy waits until every broker has shown who came back last.
func (c *fakeCluster) WaitHealthy(ctx context.Context) error {
	c.mu.Lock()
	shown := int64(0)
	for _, n := range c.nodes {
		if len(n.out) > 0 {
			shown = max(shown, n.out[len(n.out)-1].ns)
		}
	}
	slowest := time.Duration(0)
	for _, d := range c.delay {
		slowest = max(slowest, d)
	}
	shown += int64(slowest)
	err := c.unhealthy
	c.mu.Unlock()
	if err == nil && !sleepUntil(ctx, shown) {
		return context.Cause(ctx)
	}
	return err
}

func (c *fakeCluster) Events(context.Context) ([]trace.Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []trace.Event
	for _, e := range c.events {
		if e.T <= trace.Now() && !c.untraced {
			out = append(out, e)
		}
	}
	return out, nil
}

func (c *fakeCluster) Exited(ctx context.Context, id kafka.BrokerID) (int64, int, error) {
	n := c.node(id)
	c.mu.Lock()
	exitNs, code, gone, blind := n.exitNs, n.code, n.gone, c.blind
	c.mu.Unlock()
	if blind {
		return trace.Now(), 0, nil
	}
	if exitNs == 0 {
		<-ctx.Done()
		return 0, 0, context.Cause(ctx)
	}
	select {
	case <-gone:
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	return exitNs, code, nil
}

func (c *fakeCluster) Severed(_ context.Context, id kafka.BrokerID) (int64, error) {
	n := c.node(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.paused == nil || c.leaky {
		return 0, errors.New("packets still pass")
	}
	return trace.Now(), nil
}

func (c *fakeCluster) node(id kafka.BrokerID) *fakeNode {
	i := slices.IndexFunc(c.nodes, func(n *fakeNode) bool { return n.ID == id })
	return c.nodes[i]
}

func (c *fakeCluster) Inject(_ context.Context, id kafka.BrokerID, f Fault) (int64, error) {
	c.mu.Lock()
	now := trace.Now() // a node that answers later knows of the fault
	c.injected = append(c.injected, f)
	deaf := c.deaf && f != FaultStart
	c.mu.Unlock()
	switch {
	case deaf:
		return now, nil
	case c.late > 0 && f.Undo() != "":
		time.AfterFunc(c.late, func() { _, _ = c.hurt(id, f) })
		return now, nil
	}
	return c.hurt(id, f)
}

func (c *fakeCluster) hurt(id kafka.BrokerID, f Fault) (int64, error) {
	n := c.node(id)
	c.mu.Lock()
	now := trace.Now()
	switch f {
	case FaultStart, FaultStartEmpty, FaultResume, FaultHeal:
		if n.Live {
			c.mu.Unlock()
			return 0, errors.New("it is still running")
		}
		n.out = append(n.out, since[bool]{now + int64(c.rejoin), false})
		if !f.Starts() {
			close(n.paused)
			n.paused, n.Live = nil, true
		} else {
			c.listen(n, n.Addr)
		}
		if !n.broker {
			c.comeBack(id, now)
		}
		c.mu.Unlock()
		return now, nil
	case FaultPause, FaultIsolate, FaultCut, FaultCutIn, FaultCutOut:
		n.paused = make(chan struct{})
	case FaultKill:
		n.exitNs, n.code = now+int64(time.Millisecond), -1
	case FaultStop:
		n.exitNs, n.code = now+int64(c.exit), 0
	}
	n.Live = false
	switch active, _ := at(c.controller, now); {
	case n.broker:
		c.loseBroker(id, f, now)
	case id == active:
		c.loseController(now)
	}
	srv, gone := n.srv, make(chan struct{})
	n.gone = gone
	c.mu.Unlock()
	switch f {
	case FaultStop:
		time.AfterFunc(c.exit, func() { c.shut(srv); close(gone) })
	case FaultKill:
		c.shut(srv)
		close(gone)
	}
	return now, nil
}

func (c *fakeCluster) loseBroker(id kafka.BrokerID, f Fault, now int64) {
	kind, after, lost := trace.BrokerFenced, c.fence, c.fence/2
	if f == FaultStop {
		kind, after, lost = trace.ControllerShutdownGranted, c.grant, 0
	}
	n := c.node(id)
	n.out = append(n.out, since[bool]{now + int64(after), true})
	c.events = append(c.events, trace.Event{T: now + int64(after), Kind: kind, Broker: int32(id)})
	c.move(id, now+int64(after), lost)
}

func (c *fakeCluster) loseController(now int64) {
	c.epoch++
	old := c.controller[len(c.controller)-1].v
	next := 1001 + (old-1001+1)%3
	t := now
	emit := func(after time.Duration, kind trace.Kind) {
		t += int64(after)
		c.events = append(c.events, trace.Event{T: t, Kind: kind, Epoch: c.epoch, Node: "controller"})
	}
	emit(c.detect, trace.ControllerDetected)
	emit(c.elect, trace.ControllerElected)
	c.controller = append(c.controller, since[kafka.BrokerID]{t, next})
	emit(c.load, trace.ControllerLoaded)
	t += int64(c.push)
	for _, n := range c.nodes {
		if n.broker {
			c.events = append(c.events, trace.Event{T: t, Kind: trace.BrokerControllerEpoch, Epoch: c.epoch, Broker: int32(n.ID)})
		}
	}
	emit(0, trace.ControllerActive)
	c.servesFrom = t
}

// memory records in memory.
type memory struct {
	mu     sync.Mutex
	values map[string][]int64
	trials []Trial
	events []Event
	acked  []Operation
	codes  []kafka.ErrorCode // of what was refused
}

func (m *memory) Histogram(metric, phase string) func(int64) {
	return func(ns int64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.values == nil {
			m.values = map[string][]int64{}
		}
		m.values[metric+"."+phase] = append(m.values[metric+"."+phase], ns)
	}
}
func (m *memory) Trial(t Trial) { m.mu.Lock(); m.trials = append(m.trials, t); m.mu.Unlock() }
func (m *memory) Event(e Event) { m.mu.Lock(); m.events = append(m.events, e); m.mu.Unlock() }
func (m *memory) Acked(o Operation) {
	m.mu.Lock()
	m.acked = append(m.acked, o)
	m.mu.Unlock()
}
func (m *memory) Unanswered(Operation) {}
func (m *memory) Refused(_ Operation, c kafka.ErrorCode) {
	m.mu.Lock()
	m.codes = append(m.codes, c)
	m.mu.Unlock()
}

// value gives a phase of a trial that is a time, which must be there.
func value(t *attempted, trial Trial, metric, phase string) time.Duration {
	t.Helper()
	return time.Duration(number(t, trial, metric, phase))
}

// number gives a phase of a trial, which must be there.
func number(t *attempted, trial Trial, metric, phase string) float64 {
	t.Helper()
	for _, v := range trial.Values {
		if v.Metric == metric && v.Phase == phase {
			return v.V
		}
	}
	t.Fatalf("trial %d has no %s.%s: %+v", trial.N, metric, phase, trial)
	return 0
}

func countOf(trial Trial, name string) int64 {
	for _, c := range trial.Counts {
		if c.Name == name {
			return c.N
		}
	}
	return -1
}

// slack is what a probe period and a busy machine may add to a delay; no
// measured value may be less than the delay that was injected.
const slack = 120 * time.Millisecond

func near(t *attempted, what string, got, want time.Duration) {
	t.Helper()
	switch {
	case got < want:
		t.Errorf("%s = %v, less than the injected %v", what, got, want)
	case got > want+slack:
		t.slow = append(t.slow, fmt.Sprintf("%s = %v, injected %v", what, got, want))
	}
}

// attempted is one try of a measurement. A machine that is busy with other
// things may delay it; it must never shorten it.
type attempted struct {
	*testing.T
	slow []string
}

// measured tries a measurement until it comes out as it was injected. What is
// reported on t fails at once; only slowness is tried again, five times.
func measured(t *testing.T, try func(*attempted)) {
	t.Helper()
	for range 5 {
		a := &attempted{T: t}
		try(a)
		if len(a.slow) == 0 || t.Failed() {
			return
		}
		t.Logf("too slow, again: %v", a.slow)
	}
	t.Error("too slow five times")
}

// LiveHeap implements Cluster.
func (c *fakeCluster) LiveHeap(context.Context, kafka.BrokerID) (int64, error) {
	if c.collected != nil {
		c.collected(c)
	}
	return c.heap, nil
}
