package zkwrites

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller"
)

const (
	listener   = "PLAINTEXT"
	candidate  = kafka.BrokerID(9)
	brokers    = 3
	replicas   = 3
	perTopic   = 100
	perRequest = 20 // topics
	patience   = 2 * time.Minute
	session    = 30 * time.Second
)

// rig is a cluster of brokers and one dedicated controller in this process.
type rig struct {
	controller *zkcontroller.Controller
	tap        *tap    // of the controller's session
	nodes      []*node // the candidate's first
}

// node is one broker with its listener.
type node struct {
	*broker.Broker
	server *wire.Server
	addr   string
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newRig(b *testing.B, store string) *rig {
	b.Helper()
	r := &rig{tap: &tap{}}
	r.add(b, store, candidate)
	for id := range kafka.BrokerID(brokers) {
		r.add(b, store, id+1)
	}
	wait(b, "an active controller that knows all brokers", func() bool {
		for _, n := range r.nodes {
			if n.Image().NumBrokers() != brokers+1 {
				return false
			}
		}
		return r.controller.Active()
	})
	return r
}

func wait(b *testing.B, what string, ok func() bool) {
	b.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("no %s after %v", what, patience)
		}
	}
}

func (r *rig) add(b *testing.B, store string, id kafka.BrokerID) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	cfg := broker.Config{ID: id, Endpoints: []kafka.Endpoint{{Listener: listener, Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port)}}}
	if id == candidate {
		r.controller, err = zkcontroller.New(zkcontroller.Config{
			ID: id, Servers: []string{store}, Dedicated: []kafka.BrokerID{candidate}, SessionTimeout: session, MaxInFlight: inFlight, Listener: listener, NoRebalance: true, DialZooKeeper: r.tap.dial,
		})
		if err != nil {
			b.Fatal(err)
		}
		cfg.ControllerAPIs = r.controller.APIs()
	}
	made, err := broker.New(cfg, broker.ZooKeeper(broker.ZooKeeperConfig{Servers: []string{store}, SessionTimeout: session, MaxInFlight: inFlight}))
	if err != nil {
		b.Fatal(err)
	}
	srv, err := wire.NewServer(wire.ServerConfig{APIs: made.APIs(), Listener: listener})
	if err != nil {
		b.Fatal(err)
	}
	n := &node{Broker: made, server: srv, addr: ln.Addr().String(), cancel: cancel}
	r.nodes = append(r.nodes, n)
	n.wg.Go(func() {
		if err := srv.Serve(ln); err != nil && !errors.Is(err, net.ErrClosed) {
			b.Error(err)
		}
	})
	n.wg.Go(func() {
		if err := made.Run(ctx); err != nil && ctx.Err() == nil {
			b.Error(err)
		}
	})
	if id == candidate {
		n.wg.Go(func() {
			if err := r.controller.Run(ctx); err != nil {
				b.Error(err)
			}
		})
	}
}

func (n *node) stop(b *testing.B) {
	b.Helper()
	n.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.server.Close(ctx); err != nil {
		b.Error(err)
	}
	n.wg.Wait()
}

// create makes n partitions and waits until every broker knows them.
func (r *rig) create(b *testing.B, n int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	conn, err := wire.Dial(ctx, r.nodes[0].addr, wire.DialOptions{ClientID: "zkwrites"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for made := 0; made < n; {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = 5, int32(patience.Milliseconds())
		for made < n && len(req.Topics) < perRequest {
			t := kmsg.NewCreateTopicsRequestTopic()
			t.Topic, t.NumPartitions, t.ReplicationFactor = fmt.Sprintf("topic-%06d", made/perTopic), int32(min(perTopic, n-made)), replicas
			req.Topics = append(req.Topics, t)
			made += int(t.NumPartitions)
		}
		resp, err := conn.Request(ctx, req)
		if err != nil {
			b.Fatal(err)
		}
		for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if t.ErrorCode != 0 {
				b.Fatalf("create %s: %v", t.Topic, kafka.ErrorCode(t.ErrorCode))
			}
		}
	}
	wait(b, "metadata of all partitions on all brokers", func() bool {
		for _, node := range r.nodes {
			if node.Image().NumPartitions() < n {
				return false
			}
		}
		return true
	})
}

// shutDown takes the leaderships and the places in ISRs from one broker.
func (r *rig) shutDown(b *testing.B) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	if err := r.nodes[1].Shutdown(ctx); err != nil {
		b.Fatal(err)
	}
}

// stopBrokers ends all but the candidate, and waits until that knows.
func (r *rig) stopBrokers(b *testing.B) {
	b.Helper()
	for _, n := range r.nodes[1:] {
		n.stop(b)
	}
	r.nodes = []*node{r.nodes[0]}
	wait(b, "candidate that is alone", func() bool { return r.nodes[0].Image().NumBrokers() == 1 })
}

func (r *rig) close(b *testing.B) {
	b.Helper()
	for _, n := range r.nodes {
		n.stop(b)
	}
}
