package outage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"kbench/broker"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller"
	"kbench/zkcontroller/zk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	brokers     = 4
	convergence = 30 * time.Second // from the end of an outage on
	patience    = time.Minute      // for what comes before it, on a busy machine
)

// cluster is brokers, each with a candidate, over a store.
type cluster struct {
	t       testing.TB
	store   store
	session time.Duration // time-out of ZooKeeper sessions
	trip    trip
	nodes   map[kafka.BrokerID]*node
	look    *zk.Session // the test's own
}

// node is one broker with its candidate.
type node struct {
	*broker.Broker
	controller *zkcontroller.Controller
	line       *line
	addr       string
	srv        *wire.Server
	stop       context.CancelFunc
	ended      chan struct{}
}

func testLog() *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(os.Getenv("KBENCH_TEST_LOG"))) != nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

func newCluster(t testing.TB, s store, session time.Duration) *cluster {
	c := &cluster{t: t, store: s, session: session, nodes: map[kafka.BrokerID]*node{}}
	for id := kafka.BrokerID(1); id <= brokers; id++ {
		c.boot(id)
	}
	c.connect()
	t.Cleanup(c.disconnect)
	c.eventually(patience, "all brokers know all", c.known)
	return c
}

func (c *cluster) connect() {
	var err error
	if c.look, err = zk.Connect(c.t.Context(), zk.Config{Servers: []string{c.store.addr()}, SessionTimeout: 20 * time.Second, ConnectTimeout: patience}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) disconnect() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.look.Close(ctx)
}

// ask asks ZooKeeper in the test's own session, anew where a busy machine has let
// that expire.
func (c *cluster) ask(o zk.Op) zk.Result {
	r := c.look.Do(context.Background(), o)
	if errors.Is(r.Err, zk.ErrExpired) {
		c.disconnect()
		c.connect()
		r = c.look.Do(context.Background(), o)
	}
	return r
}

// boot starts a node.
func (c *cluster) boot(id kafka.BrokerID) {
	c.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	n := &node{addr: ln.Addr().String(), line: &line{trip: &c.trip, conns: map[*tapped]struct{}{}}, ended: make(chan struct{})}
	ep := kafka.Endpoint{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port)}
	log := testLog().With("node", int32(id))
	n.controller, err = zkcontroller.New(zkcontroller.Config{
		ID: id, Servers: []string{c.store.addr()}, SessionTimeout: c.session, NoRebalance: true,
		RetryBackoff: 20 * time.Millisecond, Logger: log, DialZooKeeper: n.line.dial,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	n.Broker, err = broker.New(broker.Config{
		ID: id, Endpoints: []kafka.Endpoint{ep}, FetchWait: 50 * time.Millisecond, FetchBackoff: 20 * time.Millisecond,
		RequestTimeout: 3 * time.Second, ControllerAPIs: n.controller.APIs(), Logger: log,
	}, broker.ZooKeeper(broker.ZooKeeperConfig{
		Servers: []string{c.store.addr()}, SessionTimeout: c.session, ConnectTimeout: patience, ShutdownBackoff: 100 * time.Millisecond, Dial: n.line.dial,
	}))
	if err != nil {
		c.t.Fatal(err)
	}
	if n.srv, err = wire.NewServer(wire.ServerConfig{APIs: n.APIs(), Listener: ep.Listener, Logger: log}); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	ran := make(chan error, 3)
	go func() { ran <- n.srv.Serve(ln) }()
	go func() { ran <- n.Run(ctx) }()
	go func() { ran <- n.controller.Run(ctx) }()
	go func() {
		for range 3 {
			if err := <-ran; err != nil {
				c.t.Errorf("node %d: %v", id, err)
			}
		}
		close(n.ended)
	}()
	c.nodes[id] = n
	c.t.Cleanup(func() { c.halt(id) })
}

// halt ends a node without asking the controller.
func (c *cluster) halt(id kafka.BrokerID) {
	n := c.nodes[id]
	if n == nil {
		return
	}
	delete(c.nodes, id)
	n.stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.srv.Close(ctx); err != nil {
		c.t.Error(err)
	}
	select {
	case <-n.ended:
	case <-ctx.Done():
		c.t.Errorf("node %d has not ended within %v", id, patience)
	}
}

// live gives the nodes that run, by id.
func (c *cluster) live() []*node {
	var out []*node
	for _, n := range c.nodes {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b *node) int { return int(a.ID() - b.ID()) })
	return out
}

// active gives the active controller's node, nil for none.
func (c *cluster) active() *node {
	for _, n := range c.live() {
		if n.controller.Active() {
			return n
		}
	}
	return nil
}

func (c *cluster) known() string {
	for _, n := range c.live() {
		if got := n.Image().NumBrokers(); got != len(c.nodes) {
			return fmt.Sprintf("broker %d knows %d brokers, %d run", n.ID(), got, len(c.nodes))
		}
	}
	return ""
}

// eventually polls until missing gives nothing, and fails with the last it gave.
func (c *cluster) eventually(limit time.Duration, what string, missing func() string) {
	c.t.Helper()
	end := time.Now().Add(limit)
	for {
		m := missing()
		if m == "" {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("not within %v: %s: %s", limit, what, m)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

var errNobody = errors.New("nobody to ask")

// ask sends one request to a node on a connection of its own.
func ask[R kmsg.Response](ctx context.Context, n *node, version int16, req kmsg.Request) (R, error) {
	var none R
	if n == nil {
		return none, errNobody
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := wire.Dial(ctx, n.addr, wire.DialOptions{})
	if err != nil {
		return none, err
	}
	defer conn.Close()
	req.SetVersion(version)
	resp, err := conn.Request(ctx, req)
	if err != nil {
		return none, err
	}
	return resp.(R), nil
}
