package harness

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	apache "kbench/harness/kafka"
	"kbench/harness/netfault"
	"kbench/harness/provider"
	"kbench/internal/checker"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/workloads"
)

// cluster is one running cluster. It implements workloads.Cluster.
type cluster struct {
	mode  nodeconfig.Mode
	store store
	own   string        // begins the names of the topics that are looked at; "" for all
	nodes []*node       // controllers first, then brokers, by id
	watch *apache.Watch // of /controller, nil where the candidates tell by themselves
	// clients is how kbench's own clients show themselves, nil: plain.
	clients *wire.Identity

	mu       sync.Mutex
	excluded map[kafka.BrokerID]bool // stopped, killed, paused or cut off by a fault
	severed  map[provider.Node]*severance
	poor     []netfault.Fault // of every node's network throughout
	// networked: every node has a network of its own.
	networked bool
	starts    map[kafka.BrokerID]int   // how often a fault started the node again
	profiles  map[provider.Node]string // where nodes serve them, host:port
	unserved  map[provider.Node]int    // starts left of nodes of real Kafka that a fault started and that did not serve yet
	hurt      map[provider.Node]int    // faults of a timeline under way, by the process that they meet
	seen      []checker.Observation    // what brokers served at health gates
	unkept    int64                    // observations beyond maxObservations
}

// node is one broker or controller with the process that holds it.
type node struct {
	id     kafka.BrokerID
	addr   string
	worker bool // a broker that hosts replicas
	racer  bool // may be the active controller
	kafka  bool // runs real Kafka
	proc   provider.Node

	// A broker that is a voter too: the voter's id, which may be another, and
	// the address of its listener. Otherwise zero.
	voter     kafka.BrokerID
	voterAddr string
}

var errUnknownNode = errors.New("no such node in the cluster")

// startCluster launches every member and does not wait for it. On an error
// what was started is left to the provider's Close. Real Kafka comes first:
// the nodes of KRaft side by side, since each formats its storage by a JVM of
// its own, the brokers after the quorum; candidates of ZooKeeper mode one after
// the other, lest their sessions expire as they start.
func startCluster(ctx context.Context, p provider.Provider, mode nodeconfig.Mode, st store, members []member) (*cluster, error) {
	c := &cluster{mode: mode, store: st, excluded: map[kafka.BrokerID]bool{}, severed: map[provider.Node]*severance{}, starts: map[kafka.BrokerID]int{}, unserved: map[provider.Node]int{}}
	procs, err := launch(ctx, p, mode, members)
	c.profiles = map[provider.Node]string{}
	for i, m := range members {
		if at := m.cfg.Profile; at.Port != 0 && procs[i] != nil {
			c.profiles[procs[i]] = kafka.Endpoint{Host: at.Host, Port: at.Port}.Addr()
		}
		for j, id := range m.ids {
			if procs[i] != nil {
				c.nodes = append(c.nodes, newNode(id, m, j, procs[i]))
			}
		}
	}
	if err != nil {
		return c, err
	}
	return c, c.watchController(members)
}

// launch gives the process of each member, nil for one that was not started.
func launch(ctx context.Context, p provider.Provider, mode nodeconfig.Mode, members []member) ([]provider.Node, error) {
	procs := make([]provider.Node, len(members))
	start := func(ctx context.Context, i int, how func(context.Context, provider.Provider) (provider.Node, error)) (err error) {
		if procs[i], err = how(ctx, p); err != nil {
			return fmt.Errorf("start %s: %w", members[i].cfg.Name, err)
		}
		return nil
	}
	for _, workers := range []bool{false, true} {
		side, sideCtx := errgroup.WithContext(ctx)
		for i, m := range members {
			switch {
			case m.kafka == nil || m.worker != workers:
			case mode == nodeconfig.ModeKRaft:
				side.Go(func() error { return start(sideCtx, i, m.launchKafka) })
			default:
				if err := start(ctx, i, m.launchKafka); err != nil {
					return procs, err
				}
			}
		}
		if err := side.Wait(); err != nil {
			return procs, err
		}
	}
	for i, m := range members {
		if m.kafka == nil {
			if err := start(ctx, i, m.launch); err != nil {
				return procs, err
			}
		}
	}
	return procs, nil
}

func (m member) launch(ctx context.Context, p provider.Provider) (provider.Node, error) {
	return p.Launch(ctx, m.cfg)
}

// watchController watches /controller where the candidates are real Kafka's,
// whose logs do not tell that it went.
func (c *cluster) watchController(members []member) (err error) {
	real := slices.ContainsFunc(members, func(m member) bool { return m.kafka != nil })
	if real && c.mode == nodeconfig.ModeZK {
		c.watch, err = apache.NewWatch(c.store.servers)
	}
	return err
}

// close ends what the cluster itself runs; its nodes are the provider's.
func (c *cluster) close() {
	if c != nil && c.watch != nil {
		c.watch.Close()
		c.watch = nil
	}
}

func newNode(id kafka.BrokerID, m member, i int, proc provider.Node) *node {
	n := &node{id: id, worker: m.worker, racer: !m.worker, kafka: m.kafka != nil, proc: proc}
	if m.cfg.Role == nodeconfig.RoleController {
		n.addr = m.cfg.Quorum.AddrOf(id)
		return n
	}
	b := m.cfg.Brokers[i]
	n.addr = kafka.Endpoint{Host: b.Host, Port: b.Port}.Addr()
	n.racer = b.Candidate
	if voter := m.cfg.Quorum.NodeID; voter != 0 {
		n.racer, n.voter, n.voterAddr = true, voter, m.cfg.Quorum.AddrOf(voter)
	}
	return n
}

// controllerID is the id by which the quorum knows the node.
func (n *node) controllerID() kafka.BrokerID { return cmp.Or(n.voter, n.id) }

// tls is that of kbench's own clients, nil for none.
func (c *cluster) tls() *tls.Config {
	if c.clients == nil {
		return nil
	}
	return c.clients.TLS
}

// Mode implements workloads.Cluster.
func (c *cluster) Mode() nodeconfig.Mode { return c.mode }

// Brokers implements workloads.Cluster.
func (c *cluster) Brokers() []workloads.Node {
	return c.list(func(n *node) bool { return n.worker })
}

// Controllers implements workloads.Cluster.
func (c *cluster) Controllers() []workloads.Node {
	out := c.list(func(n *node) bool { return n.racer })
	for i := range out {
		if n, err := c.find(out[i].ID); err == nil && n.voterAddr != "" {
			out[i].Addr = n.voterAddr
		}
	}
	return out
}

func (c *cluster) list(want func(*node) bool) []workloads.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []workloads.Node
	for _, n := range c.nodes {
		if want(n) {
			out = append(out, workloads.Node{ID: n.id, Addr: n.addr, Live: !c.excluded[n.id] && n.proc.Running(), As: c.clients})
		}
	}
	slices.SortFunc(out, func(a, b workloads.Node) int { return int(a.ID) - int(b.ID) })
	return out
}

// Inject implements workloads.Cluster.
func (c *cluster) Inject(ctx context.Context, id kafka.BrokerID, f workloads.Fault) (int64, error) {
	n, err := c.find(id)
	if err != nil {
		return 0, err
	}
	back := f.Undo() == ""
	if !back {
		c.exclude(n, true) // before the signal: nobody may take it for live
	}
	var sent int64
	switch {
	case f.Severs():
		sent, err = c.sever(ctx, n, f)
	case f == workloads.FaultHeal:
		sent, err = c.heal(ctx, n)
	default:
		sent, err = n.inject(ctx, f)
	}
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", f, n.proc.Name(), err)
	}
	if back {
		c.exclude(n, false)
	}
	if f.Starts() {
		c.started(n)
		return sent, c.impoverish(ctx, n.proc)
	}
	return sent, nil
}

func (n *node) inject(ctx context.Context, f workloads.Fault) (int64, error) {
	switch f {
	case workloads.FaultStartEmpty:
		e, ok := provider.As[provider.Emptied](n.proc)
		if !ok {
			return 0, errors.New("the provider cannot replace its disk")
		}
		if err := e.Empty(ctx); err != nil {
			return 0, err
		}
		fallthrough
	case workloads.FaultStart:
		now := trace.Now()
		return now, n.proc.Start(ctx)
	}
	sig, ok := map[workloads.Fault]provider.Signal{
		workloads.FaultStop: provider.Term, workloads.FaultKill: provider.Kill,
		workloads.FaultPause: provider.Pause, workloads.FaultResume: provider.Resume,
	}[f]
	if !ok {
		return 0, fmt.Errorf("the fault %q is not known", f)
	}
	return n.proc.Signal(ctx, sig)
}

// exclude marks every broker of the node's process.
func (c *cluster) exclude(n *node, out bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.nodes {
		if other.proc == n.proc {
			c.excluded[other.id] = out
		}
	}
}

// started counts a new process of the node.
func (c *cluster) started(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.nodes {
		if other.proc == n.proc {
			c.starts[other.id]++
		}
	}
	if n.kafka {
		c.unserved[n.proc] = candidateStarts - 1
	}
}

// revive starts a node of real Kafka again that a fault had started and that
// exited before it served, as it does where its ZooKeeper session expires while
// the JVM begins. It reports false for one that has no such reason or no start
// left.
func (c *cluster) revive(ctx context.Context, proc provider.Node) (bool, error) {
	c.mu.Lock()
	left := c.unserved[proc]
	if left > 0 {
		c.unserved[proc] = left - 1
	}
	c.mu.Unlock()
	if left == 0 {
		return false, nil
	}
	defer c.hurting(proc)()
	return true, proc.Start(ctx)
}

// served forgets that nodes did not serve yet.
func (c *cluster) served() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.unserved)
}

// maxObservations bounds what is kept of all health gates of a cell.
const maxObservations = 1_000_000

// observe keeps a sample of what a broker served.
func (c *cluster) observe(id kafka.BrokerID, m *kmsg.MetadataResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := observed(id, c.starts[id], m)
	if len(c.seen) < maxObservations {
		c.seen = append(c.seen, now...)
	} else {
		c.unkept += int64(len(now))
	}
}

// observations gives what was kept so far, and how many came after.
func (c *cluster) observations() (kept []checker.Observation, unkept int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen), c.unkept
}

// Exited implements workloads.Cluster.
func (c *cluster) Exited(ctx context.Context, id kafka.BrokerID) (int64, int, error) {
	n, err := c.find(id)
	if err != nil {
		return 0, 0, err
	}
	return n.proc.Wait(ctx)
}

// Events implements workloads.Cluster.
func (c *cluster) Events(ctx context.Context) ([]trace.Event, error) {
	var all []trace.Event
	for _, proc := range c.processes() {
		r, err := proc.Trace(ctx)
		if err != nil {
			return nil, fmt.Errorf("trace of %s: %w", proc.Name(), err)
		}
		events, err := trace.Read(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, fmt.Errorf("trace of %s: %w", proc.Name(), err)
		}
		all = append(all, events...)
	}
	if c.watch != nil {
		all = append(all, c.watch.Events()...)
	}
	return all, nil
}

// processes are the distinct processes of the cluster, without the store's.
func (c *cluster) processes() []provider.Node {
	var out []provider.Node
	for _, n := range c.nodes {
		if !slices.Contains(out, n.proc) {
			out = append(out, n.proc)
		}
	}
	return out
}

func (c *cluster) find(id kafka.BrokerID) (*node, error) {
	for _, n := range c.nodes {
		if n.id == id {
			return n, nil
		}
	}
	return nil, fmt.Errorf("node %d: %w", id, errUnknownNode)
}

// final is an error that trying again does not mend.
type final struct{ error }

// poll calls try until it gives no error or a final one, with pauses that grow with what a
// try costs, so that looking does not become the load. ctx bounds it; its
// error says what was missing last.
func poll(ctx context.Context, what string, try func(context.Context) error) error {
	const pause = 50 * time.Millisecond
	for {
		start := time.Now()
		err := try(ctx)
		if err == nil {
			return nil
		}
		if over, ok := errors.AsType[final](err); ok {
			return fmt.Errorf("wait until %s: %w", what, over.error)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w; last seen: %w", what, context.Cause(ctx), err)
		case <-time.After(max(pause, time.Since(start))):
		}
	}
}
