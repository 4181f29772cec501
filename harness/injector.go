package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"kbench/harness/netfault"
	"kbench/harness/provider"
	"kbench/harness/zookeeper"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/workloads"
)

// injector makes the timed faults of a cell on its cluster. It implements
// workloads.Injector and may be used from any goroutine.
type injector struct {
	c    *cluster
	seed uint64 // which of those that have a role is met

	mu   sync.Mutex
	nets map[provider.Node][]netfault.Fault // of timed faults under way
	// standing are the faults of each process that are not healed yet.
	standing map[provider.Node][]workloads.TimedFault
}

func newInjector(c *cluster, seed uint64) *injector {
	return &injector{c: c, seed: seed, nets: map[provider.Node][]netfault.Fault{}, standing: map[provider.Node][]workloads.TimedFault{}}
}

// subject is a process that a fault meets.
type subject struct {
	proc provider.Node
	addr string // host:port at which kbench reaches it
	node *node  // nil for a server of the store
	tls  *tls.Config
}

// made is a fault that was seen to bite.
type made struct {
	sentNs int64
	// end undoes it and waits until it was seen to be undone. It gives the stamp
	// at which undoing began.
	end func(ctx context.Context) (undoneNs int64, err error)
}

// maker makes one kind of fault.
type maker func(in *injector, ctx context.Context, f workloads.TimedFault, on []subject) (made, error)

var makers = map[workloads.Fault]maker{
	workloads.FaultStop: (*injector).endProcess, workloads.FaultKill: (*injector).endProcess,
	workloads.FaultRestart: (*injector).restart, workloads.FaultPause: (*injector).pause,
	workloads.FaultIsolate: (*injector).cut, workloads.FaultCut: (*injector).cut,
	workloads.FaultCutIn: (*injector).cut, workloads.FaultCutOut: (*injector).cut,
	workloads.FaultSplit: (*injector).split,
	workloads.FaultDelay: (*injector).impair, workloads.FaultLoss: (*injector).impair, workloads.FaultRate: (*injector).impair,
	workloads.FaultFsyncDelay: (*injector).disk, workloads.FaultFsyncError: (*injector).disk, workloads.FaultDiskFull: (*injector).disk,
	workloads.FaultLogDir: (*injector).failLogDir,
	workloads.FaultCPU:    (*injector).limitCPU, workloads.FaultExpire: (*injector).expire,
}

// biteWithin bounds the making of one fault until it is seen to bite: longest is
// a controlled shutdown.
const biteWithin = 2 * time.Minute

// undoing bounds the undoing of a fault that did not bite, which the end of ctx
// does not cut short.
func undoing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.WithoutCancel(ctx), biteWithin, fmt.Errorf("not within %v", biteWithin))
}

// Begin implements workloads.Injector.
func (in *injector) Begin(ctx context.Context, f workloads.TimedFault) (workloads.Standing, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, biteWithin, fmt.Errorf("not within %v", biteWithin))
	defer cancel()
	var s workloads.Standing
	make, ok := makers[f.Fault]
	if !ok {
		return s, fmt.Errorf("the fault %q is not known", f.Fault)
	}
	on, err := in.subjects(ctx, f, in.draw(f))
	if err != nil {
		return s, err
	}
	healed, err := in.stand(f, on)
	if err != nil {
		return s, err
	}
	var procs []provider.Node
	for _, s := range on {
		procs = append(procs, s.proc)
	}
	undone := in.c.hurting(procs...) // a node that could not be healed stays hurt
	m, err := make(in, ctx, f, on)
	if err != nil {
		healed() // as far as it was made, it was undone
		return s, err
	}
	s = workloads.Standing{SentNs: m.sentNs, BitNs: trace.Now(), Names: namesOf(on)}
	if on[0].node != nil {
		s.Node = on[0].node.id
	}
	s.End = func(ctx context.Context) (int64, int64, error) {
		undoneNs, err := m.end(ctx)
		if err == nil {
			undone()
			healed()
		}
		return undoneNs, trace.Now(), err
	}
	return s, nil
}

// stand books a fault on every subject until healed is called. Where it cannot
// stand beside one that is there, it is not made: it would come later than the
// timeline says, when that one is healed.
func (in *injector) stand(f workloads.TimedFault, on []subject) (healed func(), err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range on {
		if o, ok := in.besetLocked(s, f.Fault); ok {
			return nil, fmt.Errorf("%s has not healed of %v at %v: begin it later, or name another node; %s", s.proc.Name(), o, o.At, workloads.BesideDoc)
		}
	}
	for _, s := range on {
		in.standing[s.proc] = append(in.standing[s.proc], f)
	}
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		for _, s := range on {
			all := in.standing[s.proc]
			i := slices.IndexFunc(all, func(o workloads.TimedFault) bool { return o.Fault == f.Fault })
			in.standing[s.proc] = slices.Delete(all, i, i+1)
		}
	}, nil
}

// besetLocked gives the fault of a subject beside which another cannot stand.
func (in *injector) besetLocked(s subject, f workloads.Fault) (workloads.TimedFault, bool) {
	for _, o := range in.standing[s.proc] {
		if !f.Beside(o.Fault) {
			return o, true
		}
	}
	return workloads.TimedFault{}, false
}

// spared leaves out those that cannot take a fault now, as long as there are
// others.
func (in *injector) spared(found []subject, f workloads.Fault) []subject {
	in.mu.Lock()
	defer in.mu.Unlock()
	free := slices.DeleteFunc(slices.Clone(found), func(s subject) bool { _, beset := in.besetLocked(s, f); return beset })
	if len(free) == 0 {
		return found
	}
	return free
}

// draw chooses among those that have a role: by the seed and when the fault is
// due, whatever else is on the timeline.
func (in *injector) draw(f workloads.TimedFault) *rand.Rand {
	return rand.New(rand.NewPCG(in.seed, uint64(f.At)))
}

func namesOf(on []subject) []string {
	var out []string
	for _, s := range on {
		out = append(out, s.proc.Name())
	}
	return out
}

// subjects finds the processes of roles and names, each once.
func (in *injector) subjects(ctx context.Context, f workloads.TimedFault, draw *rand.Rand) ([]subject, error) {
	var out []subject
	for _, name := range f.On {
		found, err := in.role(ctx, name, f.Fault, draw)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if !slices.ContainsFunc(out, func(o subject) bool { return o.proc == s.proc }) {
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it meets nobody")
	}
	return out, nil
}

// role gives whom a name of spec.Roles, or of a process, means now for a fault.
func (in *injector) role(ctx context.Context, name string, f workloads.Fault, draw *rand.Rand) ([]subject, error) {
	switch name {
	case "store":
		return in.store(func(string) bool { return true }), nil
	case "store-leader", "store-follower":
		return in.storeMode(ctx, name, f, draw)
	case "brokers":
		return in.members(func(n *node) bool { return n.worker }), nil
	case "controllers":
		return in.members(func(n *node) bool { return n.racer }), nil
	case "controller", "standby", "broker":
		return in.byController(ctx, name, f, draw)
	}
	found := in.members(func(n *node) bool { return n.proc.Name() == name })
	found = append(found, in.store(func(proc string) bool { return proc == name })...)
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no %q in this cluster; there are %v", name, namesOf(append(in.members(func(*node) bool { return true }), in.store(func(string) bool { return true })...)))
	}
	return found, nil
}

// byController gives the active controller, or one that is not.
func (in *injector) byController(ctx context.Context, role string, f workloads.Fault, draw *rand.Rand) ([]subject, error) {
	active, err := in.c.ActiveController(ctx)
	if err != nil {
		return nil, err
	}
	want := func(n *node) bool { return n.id == active.ID }
	switch role {
	case "standby":
		want = func(n *node) bool { return n.racer && n.id != active.ID && n.proc.Running() }
	case "broker":
		want = func(n *node) bool { return n.worker && n.id != active.ID && n.proc.Running() }
	}
	return one(in.spared(in.members(want), f), draw), nil
}

// one draws one of several, none where there is none.
func one(found []subject, draw *rand.Rand) []subject {
	if len(found) == 0 {
		return nil
	}
	i := draw.IntN(len(found))
	return found[i : i+1]
}

// members lists processes of the cluster, each once.
func (in *injector) members(want func(*node) bool) []subject {
	var out []subject
	for _, n := range in.c.nodes {
		if want(n) && !slices.ContainsFunc(out, func(s subject) bool { return s.proc == n.proc }) {
			out = append(out, subject{proc: n.proc, addr: n.addr, node: n, tls: in.c.tls()})
		}
	}
	return out
}

func (in *injector) store(want func(proc string) bool) []subject {
	var out []subject
	for i, proc := range in.c.store.nodes {
		if want(proc.Name()) {
			out = append(out, subject{proc: proc, addr: in.c.store.servers[i]})
		}
	}
	return out
}

// storeMode finds the server that leads, or one that does not. A single server
// leads.
func (in *injector) storeMode(ctx context.Context, role string, f workloads.Fault, draw *rand.Rand) ([]subject, error) {
	all := in.store(func(string) bool { return true })
	var found []subject
	for _, s := range all {
		st, err := zookeeper.Ask(ctx, s.addr)
		if err != nil {
			return nil, fmt.Errorf("find the leader of ZooKeeper: %s: %w", s.proc.Name(), err)
		}
		if leads := st.Mode != "follower"; leads == (role == "store-leader") {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("none of %d servers of ZooKeeper is a %s", len(all), role)
	}
	return one(in.spared(found, f), draw), nil
}

// exclude marks the nodes of subjects as not live, or live again.
func (in *injector) exclude(on []subject, out bool) {
	for _, s := range on {
		if s.node != nil {
			in.c.exclude(s.node, out)
		}
	}
}

// others are the running processes that are not among some.
func (in *injector) others(on []subject) []subject {
	all := append(in.members(func(*node) bool { return true }), in.store(func(string) bool { return true })...)
	return slices.DeleteFunc(all, func(s subject) bool {
		return !s.proc.Running() || slices.ContainsFunc(on, func(o subject) bool { return o.proc == s.proc })
	})
}

// isVoter reports whether a subject is a voter of a quorum.
func (in *injector) isVoter(s subject) bool { return s.node != nil && in.c.votes(s.proc) }

// idOf is the broker id of a subject, for znodes.
func (s subject) idOf() kafka.BrokerID {
	if s.node == nil {
		return 0
	}
	return s.node.id
}
