package calibration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"kbench/internal/heldport"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/workloads"
)

// Delays are what is put into a target. All are 0 by default.
type Delays struct {
	Ack    time.Duration                    // from a change's truth to its acknowledgement
	Apply  time.Duration                    // from a change's truth until brokers serve it
	Broker map[kafka.BrokerID]time.Duration // more of it on one broker

	// Of a controller that is killed, one after the other: its successor detects
	// that, is elected, has its state, and every broker holds its epoch.
	Detect, Elect, Load, Push time.Duration

	Grant time.Duration // of a controlled shutdown; leaderships move then
	Exit  time.Duration // of a process that was told to stop
}

// Config says what the target is.
type Config struct {
	Mode       nodeconfig.Mode // says where admin requests go
	Partitions int             // that are there from the start, in topics of 10
	Delays     Delays
}

// The nodes of a target.
const (
	brokers         = 3
	controllers     = 3
	firstController = 1001
	perTopic        = 10
)

// Target is a cluster in memory. It implements workloads.Cluster.
type Target struct {
	cfg Config

	mu         sync.Mutex
	nodes      []*node
	ports      []*heldport.Port // a node that was killed finds its own again
	topics     map[string]*topic
	controller []since[kafka.BrokerID]
	servesFrom int64 // the controller serves admin requests from then on
	epoch      int64
	events     []trace.Event
	heldUntil  int64 // no answer leaves before
	errs       []error
}

var _ workloads.Cluster = (*Target)(nil)

// since is what is true from a time on.
type since[T any] struct {
	ns int64
	v  T
}

// at gives what was true at ns.
func at[T any](history []since[T], ns int64) (v T, ok bool) {
	for _, h := range slices.Backward(history) {
		if h.ns <= ns {
			return h.v, true
		}
	}
	return v, false
}

// New starts a target.
func New(cfg Config) (*Target, error) {
	t := &Target{cfg: cfg, topics: map[string]*topic{}, epoch: 1, controller: []since[kafka.BrokerID]{{0, firstController}}}
	// Nodes tell from the beginning who is the controller: one that writes no
	// traces is measured otherwise.
	t.events = []trace.Event{{T: trace.Now(), Kind: trace.ControllerActive, Epoch: t.epoch, Node: fmt.Sprintf("controller-%d", firstController)}}
	for id := kafka.BrokerID(1); id <= brokers; id++ {
		t.nodes = append(t.nodes, &node{id: id, broker: true})
	}
	for id := kafka.BrokerID(firstController); id < firstController+controllers; id++ {
		t.nodes = append(t.nodes, &node{id: id})
	}
	for i := 0; i*perTopic < cfg.Partitions; i++ {
		t.addLocked(fmt.Sprintf("calibration-%d", i), min(perTopic, cfg.Partitions-i*perTopic), 0)
	}
	for _, n := range t.nodes {
		port, err := heldport.Hold(host)
		if err == nil {
			t.ports = append(t.ports, port)
			err = t.listen(n, fmt.Sprintf("%s:%d", host, port.Number))
		}
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

// host is where the nodes of a target listen.
const host = "127.0.0.1"

// Close ends the target and gives what went wrong in its servers.
func (t *Target) Close() error {
	t.mu.Lock()
	var ends []func() error
	for _, n := range t.nodes {
		if n.shut != nil {
			ends = append(ends, n.shut)
		}
	}
	t.mu.Unlock()
	var errs []error
	for _, end := range ends {
		errs = append(errs, end())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, port := range t.ports {
		errs = append(errs, port.Release())
	}
	t.ports = nil
	return errors.Join(append(errs, t.errs...)...)
}

// Stall holds every answer back from now on for d. It gives the stamp of its
// begin.
func (t *Target) Stall(d time.Duration) (fromNs int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := trace.Now()
	t.heldUntil = now + int64(d)
	return now
}

// Mode implements workloads.Cluster.
func (t *Target) Mode() nodeconfig.Mode { return t.cfg.Mode }

// Brokers implements workloads.Cluster.
func (t *Target) Brokers() []workloads.Node { return t.list(true) }

// Controllers implements workloads.Cluster.
func (t *Target) Controllers() []workloads.Node { return t.list(false) }

func (t *Target) list(brokers bool) []workloads.Node {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []workloads.Node
	for _, n := range t.nodes {
		if n.broker == brokers {
			out = append(out, n.public())
		}
	}
	return out
}

// ActiveController implements workloads.Cluster.
func (t *Target) ActiveController(context.Context) (workloads.Node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, _ := at(t.controller, trace.Now())
	n, err := t.find(id)
	if err != nil {
		return workloads.Node{}, err
	}
	return n.public(), nil
}

// WaitHealthy implements workloads.Cluster: whatever its delays, it is.
func (t *Target) WaitHealthy(context.Context) error { return nil }

// Severed implements workloads.Cluster.
func (t *Target) Severed(context.Context, kafka.BrokerID) (int64, error) {
	return 0, errors.New("a target in one process has no links to cut")
}

// LiveHeap implements workloads.Cluster.
func (t *Target) LiveHeap(context.Context, kafka.BrokerID) (int64, error) {
	return 0, errors.New("a target in one process has no heap of its own")
}

// Events implements workloads.Cluster: the target traces itself.
func (t *Target) Events(context.Context) ([]trace.Event, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := trace.Now()
	var out []trace.Event
	for _, e := range t.events {
		if e.T <= now {
			out = append(out, e)
		}
	}
	return out, nil
}

func (t *Target) find(id kafka.BrokerID) (*node, error) {
	i := slices.IndexFunc(t.nodes, func(n *node) bool { return n.id == id })
	if i < 0 {
		return nil, fmt.Errorf("no node %d in the target", id)
	}
	return t.nodes[i], nil
}
