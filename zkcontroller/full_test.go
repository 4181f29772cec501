package zkcontroller

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker"
	"kbench/kafka"
	"kbench/kafka/ibp"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// full is a cluster of metadata-plane brokers, each with a candidate, as
// processes have them.
type full struct {
	*cluster
	protocol ibp.Version
	tune     func(*Config)
	control  bool // a listener for the control plane; the other then refuses its requests
	nodes    map[kafka.BrokerID]*fullNode
}

type fullNode struct {
	*broker.Broker
	controller *Controller
	addr       string
	srv        []*wire.Server
	stop       context.CancelFunc
	ended      chan struct{}
}

// fullLog logs at the level that KBENCH_TEST_LOG names, by default nothing.
func fullLog() *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(os.Getenv("KBENCH_TEST_LOG"))) != nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

func newFull(t testing.TB, brokers int, protocol ibp.Version, tune func(*Config)) *full {
	f := &full{cluster: newCluster(t), protocol: protocol, tune: tune, nodes: map[kafka.BrokerID]*fullNode{}}
	f.bootAll(brokers)
	return f
}

func (f *full) bootAll(brokers int) {
	f.t.Helper()
	for id := kafka.BrokerID(1); id <= kafka.BrokerID(brokers); id++ {
		f.boot(id)
	}
	f.cluster.eventually("all know all", func() bool {
		for _, n := range f.nodes {
			if n.Image().NumBrokers() != brokers {
				return false
			}
		}
		return true
	})
}

// boot starts a broker with its candidate.
func (f *full) boot(id kafka.BrokerID) *fullNode {
	f.t.Helper()
	names := []string{"PLAINTEXT"}
	if f.control {
		names = append(names, "CONTROL")
	}
	var err error
	lns, eps := make([]net.Listener, len(names)), make([]kafka.Endpoint, len(names))
	for i, name := range names {
		if lns[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			f.t.Fatal(err)
		}
		eps[i] = kafka.Endpoint{Listener: name, Host: "127.0.0.1", Port: uint16(lns[i].Addr().(*net.TCPAddr).Port)}
	}
	n := &fullNode{addr: eps[0].Addr(), ended: make(chan struct{})}
	cfg := Config{
		ID: id, Servers: []string{f.cluster.addr}, SessionTimeout: lasting, NoRebalance: true, Protocol: f.protocol,
		Logger: fullLog(), RetryBackoff: 20 * time.Millisecond,
	}
	control := ""
	if f.control {
		control = "CONTROL"
	}
	cfg.ControlListener = control
	if f.tune != nil {
		f.tune(&cfg)
	}
	if n.controller, err = New(cfg); err != nil {
		f.t.Fatal(err)
	}
	n.Broker, err = broker.New(broker.Config{
		ID: id, Endpoints: eps, FetchWait: 50 * time.Millisecond, FetchBackoff: 20 * time.Millisecond,
		RequestTimeout: 10 * time.Second, ControllerAPIs: n.controller.APIs(), Logger: fullLog(),
	}, broker.ZooKeeper(broker.ZooKeeperConfig{
		Servers: []string{f.cluster.addr}, SessionTimeout: lasting, ShutdownBackoff: 50 * time.Millisecond, Protocol: f.protocol,
		ControlListener: control,
	}))
	if err != nil {
		f.t.Fatal(err)
	}
	// One handler: a request that keeps it while it waits holds up the broker.
	requests, err := wire.NewRequestChannel(1, wire.DefaultQueuedRequests)
	if err != nil {
		f.t.Fatal(err)
	}
	for i, name := range names {
		apis := n.APIs()
		if f.control {
			others := [][]int16{{4, 5, 6, 56, 67}, {7}}[i]
			apis = slices.DeleteFunc(apis, func(a wire.API) bool { return slices.Contains(others, a.Key) })
		}
		srv, err := wire.NewServer(wire.ServerConfig{APIs: apis, Listener: name, Logger: fullLog(), Requests: requests})
		if err != nil {
			f.t.Fatal(err)
		}
		n.srv = append(n.srv, srv)
		go func() { _ = srv.Serve(lns[i]) }()
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	ran := make(chan error, 2)
	go func() { ran <- n.Run(ctx) }()
	go func() { ran <- n.controller.Run(ctx) }()
	go func() {
		for range 2 {
			if err := <-ran; err != nil {
				f.t.Errorf("broker %d: %v", id, err)
			}
		}
		close(n.ended)
	}()
	f.nodes[id] = n
	f.t.Cleanup(func() { f.halt(id) })
	return n
}

// halt ends a broker and its candidate without asking the controller.
func (f *full) halt(id kafka.BrokerID) {
	n := f.nodes[id]
	if n == nil {
		return
	}
	delete(f.nodes, id)
	n.stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, srv := range n.srv {
		if err := srv.Close(ctx); err != nil {
			f.t.Error(err)
		}
	}
	<-n.ended
}

// leading waits for the active controller's node.
func (f *full) leading() *fullNode {
	f.t.Helper()
	var found *fullNode
	f.eventually("a controller is active", func() bool {
		for _, n := range f.nodes {
			if n.controller.Active() {
				found = n
			}
		}
		return found != nil
	})
	return found
}

// request sends one request to a node.
func (f *full) request(n *fullNode, req kmsg.Request, version int16) kmsg.Response {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := wire.Dial(ctx, n.addr, wire.DialOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	req.SetVersion(version)
	resp, err := conn.Request(ctx, req)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp
}

func (f *full) createTopic(name string, partitions int32, rf int16) {
	f.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(patience.Milliseconds())
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, rf
	req.Topics = append(req.Topics, topic)
	if r := f.request(f.leading(), req, 7).(*kmsg.CreateTopicsResponse).Topics[0]; r.ErrorCode != 0 {
		f.t.Fatalf("create %s: %v %v", name, kafka.ErrorCode(r.ErrorCode), r.ErrorMessage)
	}
}

// everywhere waits until all brokers serve a partition as want says.
func (f *full) everywhere(what, topic string, p int32, want func(leader kafka.BrokerID, replicas, isr []kafka.BrokerID) bool) {
	f.t.Helper()
	f.eventually(fmt.Sprintf("%s-%d %s on all brokers", topic, p, what), func() bool {
		for _, n := range f.nodes {
			t, ok := n.Image().Topic(topic)
			if !ok {
				return false
			}
			s, ok := t.Partition(p)
			if !ok || !want(s.Leader, s.Replicas, s.ISR) {
				return false
			}
		}
		return true
	})
}

func (f *full) reassignTo(topic string, p int32, replicas ...int32) {
	f.t.Helper()
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis = int32(patience.Milliseconds())
	part := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	part.Partition, part.Replicas = p, replicas
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{part}}}
	r := f.request(f.leading(), req, 0).(*kmsg.AlterPartitionAssignmentsResponse)
	if r.ErrorCode != 0 || r.Topics[0].Partitions[0].ErrorCode != 0 {
		f.t.Fatalf("reassign %s-%d: %+v", topic, p, r)
	}
}

// Each inter-broker protocol in which a request changes: topics are created, a
// follower that was away comes back into the ISR, replicas move, a broker leaves
// in a controlled way, producer ids are given, the topic is deleted.
func TestEveryProtocolWithRealBrokers(t *testing.T) {
	for _, level := range []string{"0.9.0", "0.10.2", "1.0", "2.2", "2.4", "2.6", "2.7", "2.8", "3.2", "3.9"} {
		t.Run(level, func(t *testing.T) {
			if os.Getenv("KBENCH_TEST_ZOOKEEPER") == "" { // else all share one store
				t.Parallel()
			}
			v, err := ibp.Parse(level)
			if err != nil {
				t.Fatal(err)
			}
			f := newFull(t, 4, v, nil)
			f.createTopic("t", 3, 3)
			f.everywhere("is in sync", "t", 0, func(l kafka.BrokerID, r, isr []kafka.BrokerID) bool { return l >= 0 && len(isr) == 3 })
			var from []kafka.BrokerID
			a := f.assignment("t", 0)
			from = a.Replicas
			spare := kafka.BrokerID(1)
			for slices.Contains(from, spare) {
				spare++
			}
			if got := f.topicIDOf("t"); got.IsZero() == v.TopicIDs() {
				t.Errorf("topic id %s", got)
			}
			// The leader leaves its place to the broker that has no replica.
			to := []int32{int32(spare), int32(from[1]), int32(from[2])}
			f.reassignTo("t", 0, to...)
			f.everywhere("has moved", "t", 0, func(l kafka.BrokerID, r, isr []kafka.BrokerID) bool {
				return slices.Equal(rawIDs(r), to) && len(isr) == 3 && l >= 0 && !slices.Contains(isr, from[0])
			})
			old := f.nodes[from[0]]
			f.eventually("the former replica is gone", func() bool {
				_, held := old.Replica(kafka.TopicPartition{Topic: "t"})
				return !held
			})
			// Somebody who is not the controller leaves.
			var leaver kafka.BrokerID
			for id, n := range f.nodes {
				if !n.controller.Active() {
					leaver = id
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := f.nodes[leaver].Shutdown(ctx); err != nil {
				t.Error(err)
			}
			f.halt(leaver)
			for p := range int32(3) {
				f.everywhere("is led by another", "t", p, func(l kafka.BrokerID, r, isr []kafka.BrokerID) bool {
					return l >= 0 && l != leaver && !slices.Contains(isr, leaver)
				})
			}
			f.boot(leaver)
			for p := range int32(3) {
				f.everywhere("is in sync again", "t", p, func(l kafka.BrokerID, r, isr []kafka.BrokerID) bool { return len(isr) == 3 })
			}
			seen := map[int64]bool{}
			for _, n := range f.nodes {
				var r *kmsg.InitProducerIDResponse
				f.eventually("a producer id is given", func() bool { // a client tries again as long as there is no controller
					r = f.request(n, kmsg.NewPtrInitProducerIDRequest(), 4).(*kmsg.InitProducerIDResponse)
					return kafka.ErrorCode(r.ErrorCode) != kafka.CoordinatorNotAvailable
				})
				if r.ErrorCode != 0 || seen[r.ProducerID] {
					t.Errorf("producer id %+v, seen %v", r, seen)
				}
				seen[r.ProducerID] = true
			}
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.TimeoutMillis = int32(patience.Milliseconds())
			req.TopicNames = []string{"t"}
			if r := f.request(f.leading(), req, 5).(*kmsg.DeleteTopicsResponse); r.Topics[0].ErrorCode != 0 {
				t.Errorf("%+v", r)
			}
			f.eventually("the topic is gone", func() bool {
				for _, n := range f.nodes {
					if _, there := n.Image().Topic("t"); there || n.Replicas().Replicas > 0 {
						return false
					}
				}
				return !f.zk.Do(t.Context(), zk.Exists(zk.TopicPath("t"))).Exists
			})
		})
	}
}

// KIP-291: with a listener of its own for the control plane, no request of or to
// a controller comes by the listener of clients, but for ControlledShutdown.
func TestControlPlaneListener(t *testing.T) {
	f := &full{cluster: newCluster(t), control: true, nodes: map[kafka.BrokerID]*fullNode{}}
	f.bootAll(3)
	f.createTopic("t", 1, 3)
	f.everywhere("is in sync", "t", 0, func(l kafka.BrokerID, r, isr []kafka.BrokerID) bool { return l >= 0 && len(isr) == 3 })
	var leaver kafka.BrokerID
	for id, n := range f.nodes {
		if !n.controller.Active() {
			leaver = id
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := f.nodes[leaver].Shutdown(ctx); err != nil {
		t.Error(err)
	}
	f.halt(leaver)
	f.boot(leaver)
	f.everywhere("is in sync again", "t", 0, func(l kafka.BrokerID, r, isr []kafka.BrokerID) bool { return len(isr) == 3 })
}

func (f *full) topicIDOf(topic string) kafka.UUID {
	f.t.Helper()
	r := f.zk.Do(context.Background(), zk.Get(zk.TopicPath(topic)))
	a, err := zk.DecodeTopic(r.Data)
	if r.Err != nil || err != nil {
		f.t.Fatal(r.Err, err)
	}
	return a.ID
}
