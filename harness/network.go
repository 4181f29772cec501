package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/workloads"
)

// severance is a fault of the network under way: the node's side of it, and
// nodes on the other side that can tell what passes.
type severance struct {
	fault     netfault.Fault
	victim    *agent.Client
	witnesses []witness
	listener  string // of the victim, host:port, that kbench itself reaches
}

// witness is a node across a link that a fault meets.
type witness struct {
	name  string
	agent *agent.Client
}

// sever makes a fault of the network, after packets were seen to pass where the
// fault will meet them: else they could be lost for another reason.
func (c *cluster) sever(ctx context.Context, n *node, f workloads.Fault) (int64, error) {
	s, err := c.severance(ctx, n, f)
	if err != nil {
		return 0, err
	}
	if err := s.await(ctx, netfault.Fault{}); err != nil {
		return 0, fmt.Errorf("before the fault: %w", err)
	}
	now := trace.Now()
	if err := s.victim.Set(ctx, append([]netfault.Fault{s.fault}, c.poor...)); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.severed[n.proc] = s
	return now, nil
}

// heal undoes a fault of the network and waits until packets pass again.
func (c *cluster) heal(ctx context.Context, n *node) (int64, error) {
	c.mu.Lock()
	s := c.severed[n.proc]
	delete(c.severed, n.proc)
	c.mu.Unlock()
	if s == nil {
		return 0, errors.New("its network has no fault")
	}
	now := trace.Now()
	if err := s.victim.Set(ctx, c.poor); err != nil {
		return 0, err
	}
	return now, s.await(ctx, netfault.Fault{})
}

// Severed implements workloads.Cluster.
func (c *cluster) Severed(ctx context.Context, id kafka.BrokerID) (int64, error) {
	n, err := c.find(id)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	s := c.severed[n.proc]
	c.mu.Unlock()
	if s == nil {
		return 0, errors.New("its network has no fault")
	}
	err = s.await(ctx, s.fault)
	return trace.Now(), err
}

// maxWitnesses bounds the probes of one isolation.
const maxWitnesses = 3

func (c *cluster) severance(ctx context.Context, n *node, f workloads.Fault) (*severance, error) {
	across, err := c.across(n, f)
	if err != nil {
		return nil, err
	}
	if f == workloads.FaultIsolate { // it meets all: some tell for the rest
		across = across[:min(len(across), maxWitnesses)]
	}
	agents := make([]*agent.Client, 1+len(across))
	var g errgroup.Group
	for i, proc := range append([]provider.Node{n.proc}, across...) {
		g.Go(func() (err error) {
			agents[i], err = agentOf(ctx, proc)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	s := &severance{victim: agents[0], listener: n.addr}
	var peers []netip.Addr
	for i, proc := range across {
		s.witnesses = append(s.witnesses, witness{proc.Name(), agents[i+1]})
		peers = append(peers, agents[i+1].Here().Addr())
	}
	switch f {
	case workloads.FaultIsolate:
		s.fault = netfault.Isolation()
	case workloads.FaultCut:
		s.fault = netfault.CutFrom(netfault.Both, peers...)
	case workloads.FaultCutIn:
		s.fault = netfault.CutFrom(netfault.In, peers...)
	case workloads.FaultCutOut:
		s.fault = netfault.CutFrom(netfault.Out, peers...)
	}
	return s, nil
}

func agentOf(ctx context.Context, proc provider.Node) (*agent.Client, error) {
	n, ok := proc.(provider.Networked)
	if !ok {
		return nil, fmt.Errorf("%s has no network of its own", proc.Name())
	}
	return n.Agent(ctx)
}

// across are the processes at the other end of the links that a fault meets:
// what the node keeps its metadata in, and for an isolation every other node.
func (c *cluster) across(n *node, f workloads.Fault) ([]provider.Node, error) {
	var out []provider.Node
	add := func(proc provider.Node) {
		if proc != n.proc && proc.Running() {
			out = append(out, proc)
		}
	}
	store := c.store.nodes
	if f == workloads.FaultIsolate { // the first tells for all: others are wanted too
		store = store[:min(len(store), 1)]
	}
	for _, proc := range store {
		add(proc)
	}
	for _, proc := range c.processes() {
		if f == workloads.FaultIsolate || c.mode == nodeconfig.ModeKRaft && c.votes(proc) {
			add(proc)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no node runs at the other end of the link")
	}
	return out, nil
}

// votes reports whether a process holds a voter of the quorum.
func (c *cluster) votes(proc provider.Node) bool {
	for _, n := range c.nodes {
		if n.proc == proc && n.racer {
			return true
		}
	}
	return false
}

const (
	probeDatagrams = 5
	// probeWait is what lost datagrams are waited for: those that pass take far
	// less than a millisecond on an idle machine.
	probeWait = 300 * time.Millisecond
	// lateWait is what packets are waited for that should pass: a busy machine
	// may be late with them.
	lateWait = time.Second
	// passWithin bounds the wait for packets to pass.
	passWithin = 10 * time.Second
)

// await looks until packets pass as they should under a fault, within
// passWithin.
func (s *severance) await(ctx context.Context, f netfault.Fault) error {
	ctx, cancel := context.WithTimeoutCause(ctx, passWithin, fmt.Errorf("not within %s", passWithin))
	defer cancel()
	return poll(ctx, "packets pass", func(ctx context.Context) error { return s.look(ctx, f) })
}

// look sends packets between the victim and every witness, in both directions,
// and between kbench and the victim. Its error names a link where they are lost
// and should not be under the fault, or the other way round.
func (s *severance) look(ctx context.Context, f netfault.Fault) error {
	var g errgroup.Group
	for _, w := range s.witnesses {
		in := f.Meets(w.agent.Here().Addr(), netfault.In)
		out := f.Meets(w.agent.Here().Addr(), netfault.Out)
		g.Go(func() error { return passes(ctx, w.agent, s.victim, in, "from "+w.name) })
		g.Go(func() error { return passes(ctx, s.victim, w.agent, out, "to "+w.name) })
	}
	g.Go(func() error { return s.connects(ctx, f.Kind == netfault.Cut && len(f.Peers) == 0) })
	return g.Wait()
}

// waitFor is how long to wait for packets that a fault meets, or does not.
func waitFor(lost bool) time.Duration {
	if lost {
		return probeWait
	}
	return lateWait
}

// passes sends datagrams over a link and judges how many came.
func passes(ctx context.Context, from, to *agent.Client, lost bool, link string) error {
	token := fmt.Sprintf("%s %d", link, trace.Now())
	token = token[max(0, len(token)-agent.MaxToken):]
	if err := from.Send(ctx, to.Here(), token, probeDatagrams); err != nil {
		return fmt.Errorf("send packets %s: %w", link, err)
	}
	for deadline := time.Now().Add(waitFor(lost)); ; {
		n, err := to.Heard(ctx, token)
		switch over := time.Now().After(deadline); {
		case err != nil:
			return fmt.Errorf("look for packets %s: %w", link, err)
		case lost && n > 0:
			return fmt.Errorf("packets %s pass", link)
		case !lost && n > 0, lost && over: // a poor network may lose some
			return nil
		case over:
			return fmt.Errorf("packets %s are lost", link)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// connects opens a connection from kbench to the victim's listener.
func (s *severance) connects(ctx context.Context, lost bool) error {
	d := net.Dialer{Timeout: waitFor(lost)}
	conn, err := d.DialContext(ctx, "tcp", s.listener)
	if err == nil {
		_ = conn.Close()
	}
	switch {
	case lost && err == nil:
		return errors.New("kbench still reaches its listener")
	case !lost && err != nil:
		return fmt.Errorf("kbench does not reach its listener: %w", err)
	}
	return nil
}
