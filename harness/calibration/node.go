package calibration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/workloads"
)

// node is a broker or a controller of a target. Its fields but id and broker
// are guarded by the target.
type node struct {
	id     kafka.BrokerID
	broker bool
	addr   string
	live   bool
	shut   func() error  // ends its server, once
	exited chan struct{} // closed when it has, after a fault
	exitNs int64
	code   int
}

func (n *node) public() workloads.Node {
	return workloads.Node{ID: n.id, Addr: n.addr, Live: n.live}
}

// listen starts the node's server.
func (t *Target) listen(n *node, addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("node %d of the target: %w", n.id, err)
	}
	srv, err := wire.NewServer(wire.ServerConfig{Listener: "CALIBRATION", Logger: slog.New(slog.DiscardHandler), APIs: t.apis(n)})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	n.addr, n.live = ln.Addr().String(), true
	n.shut = sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), shutWithin)
		defer cancel()
		return errors.Join(srv.Close(ctx), <-served)
	})
	return nil
}

// shutWithin bounds the end of a node's connections.
const shutWithin = 5 * time.Second

// Inject implements workloads.Cluster.
func (t *Target) Inject(_ context.Context, id kafka.BrokerID, f workloads.Fault) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := t.find(id)
	if err != nil {
		return 0, err
	}
	now := trace.Now()
	switch f {
	case workloads.FaultStart:
		select {
		case <-n.exited:
		default:
			return 0, errors.New("it has not exited")
		}
		return now, t.listen(n, n.addr)
	case workloads.FaultKill, workloads.FaultStop:
		t.take(n, f, now)
		return now, nil
	}
	return 0, fmt.Errorf("the target takes no fault %q", f)
}

// take ends a node as a fault does and writes down what will be true when.
func (t *Target) take(n *node, f workloads.Fault, now int64) {
	n.live, n.exited = false, make(chan struct{})
	n.exitNs, n.code = now, -1
	after := time.Duration(0)
	if f == workloads.FaultStop {
		n.exitNs, n.code, after = now+int64(t.cfg.Delays.Exit), 0, t.cfg.Delays.Exit
	}
	if n.broker {
		granted := now + int64(t.cfg.Delays.Grant)
		t.events = append(t.events, trace.Event{T: granted, Kind: trace.ControllerShutdownGranted, Broker: int32(n.id)})
		t.moveLocked(n.id, granted)
	} else {
		t.succeed(n.id, now)
	}
	exited, shut := n.exited, n.shut
	time.AfterFunc(after, func() {
		err := shut()
		t.mu.Lock()
		defer t.mu.Unlock()
		if err != nil {
			t.errs = append(t.errs, err)
		}
		close(exited)
	})
}

// succeed has the next controller take over from one that goes.
func (t *Target) succeed(old kafka.BrokerID, ns int64) {
	t.epoch++
	next := firstController + (old-firstController+1)%controllers
	tell := func(after time.Duration, kind trace.Kind) {
		ns += int64(after)
		t.events = append(t.events, trace.Event{T: ns, Kind: kind, Epoch: t.epoch, Node: fmt.Sprintf("controller-%d", next)})
	}
	d := t.cfg.Delays
	tell(d.Detect, trace.ControllerDetected)
	tell(d.Elect, trace.ControllerElected)
	t.controller = append(t.controller, since[kafka.BrokerID]{ns, next})
	tell(d.Load, trace.ControllerLoaded)
	tell(d.Push, trace.ControllerActive)
	for _, n := range t.nodes {
		if n.broker {
			t.events = append(t.events, trace.Event{T: ns, Kind: trace.BrokerControllerEpoch, Epoch: t.epoch, Broker: int32(n.id)})
		}
	}
	t.servesFrom = ns
}

// Exited implements workloads.Cluster.
func (t *Target) Exited(ctx context.Context, id kafka.BrokerID) (int64, int, error) {
	t.mu.Lock()
	n, err := t.find(id)
	var exited chan struct{}
	if err == nil {
		exited = n.exited
	}
	t.mu.Unlock()
	if err != nil {
		return 0, 0, err
	}
	select {
	case <-exited:
	case <-ctx.Done():
		return 0, 0, fmt.Errorf("wait for the exit of node %d: %w", id, context.Cause(ctx))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return n.exitNs, n.code, nil
}

// apis are what a node serves, every answer after the target's stall.
func (t *Target) apis(n *node) []wire.API {
	held := func(h func(context.Context, *wire.Request) (kmsg.Response, error)) wire.Handler {
		return func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
			resp, err := h(ctx, r)
			t.mu.Lock()
			until := t.heldUntil
			t.mu.Unlock()
			if werr := waitUntil(ctx, until); werr != nil {
				return nil, werr
			}
			return resp, err
		}
	}
	return []wire.API{
		{Key: 0, MinVersion: 3, MaxVersion: 9, Handle: held(func(_ context.Context, r *wire.Request) (kmsg.Response, error) {
			return t.produce(n, r.Body.(*kmsg.ProduceRequest)), nil
		})},
		{Key: 3, MinVersion: 7, MaxVersion: 12, Handle: held(func(_ context.Context, r *wire.Request) (kmsg.Response, error) {
			return t.metadata(n, r.Body.(*kmsg.MetadataRequest)), nil
		})},
		{Key: 19, MinVersion: 4, MaxVersion: 7, Handle: held(func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
			return t.createTopics(ctx, n, r.Body.(*kmsg.CreateTopicsRequest))
		})},
		{Key: 43, MinVersion: 1, MaxVersion: 2, Handle: held(func(_ context.Context, r *wire.Request) (kmsg.Response, error) {
			return t.electLeaders(r.Body.(*kmsg.ElectLeadersRequest)), nil
		})},
	}
}

// waitUntil waits until CLOCK_MONOTONIC reaches ns.
func waitUntil(ctx context.Context, ns int64) error {
	for {
		left := ns - trace.Now()
		if left <= 0 {
			return nil
		}
		timer := time.NewTimer(time.Duration(left))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// zk reports whether admin requests go to the controller alone.
func (t *Target) zk() bool { return t.cfg.Mode == nodeconfig.ModeZK }
