package harness

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/workloads"
)

// setNet makes a node's network as its timed faults and the cluster's poverty
// say. A timed fault takes the place of a lasting one of its kind.
func (in *injector) setNet(ctx context.Context, proc provider.Node) error {
	a, err := agentOf(ctx, proc)
	if err != nil {
		return err
	}
	in.mu.Lock()
	faults := slices.Clone(in.nets[proc])
	in.mu.Unlock()
	for _, lasting := range in.c.poor {
		if !slices.ContainsFunc(faults, func(f netfault.Fault) bool { return f.Kind == lasting.Kind && f.Kind != netfault.Cut }) {
			faults = append(faults, lasting)
		}
	}
	return a.Set(ctx, faults)
}

// addNet makes one more fault of a node's network; the result undoes it.
func (in *injector) addNet(ctx context.Context, proc provider.Node, f netfault.Fault) (undo func(context.Context) error, err error) {
	in.mu.Lock()
	in.nets[proc] = append(in.nets[proc], f)
	in.mu.Unlock()
	undo = func(ctx context.Context) error {
		in.mu.Lock()
		i := slices.IndexFunc(in.nets[proc], func(o netfault.Fault) bool {
			return o.Kind == f.Kind && o.Direction == f.Direction && slices.Equal(o.Peers, f.Peers)
		})
		if i >= 0 {
			in.nets[proc] = slices.Delete(in.nets[proc], i, i+1)
		}
		in.mu.Unlock()
		return in.setNet(ctx, proc)
	}
	if err := in.setNet(ctx, proc); err != nil {
		return nil, errors.Join(err, undo(context.WithoutCancel(ctx)))
	}
	return undo, nil
}

// cut severs every subject: from everybody, or from what it keeps its metadata
// in.
func (in *injector) cut(ctx context.Context, f workloads.TimedFault, on []subject) (made, error) {
	var all []*severance
	for _, s := range on {
		across := in.across(s, f.Fault, on)
		if len(across) == 0 {
			return made{}, fmt.Errorf("%s: no node runs at the other end of the link", s.proc.Name())
		}
		sev, err := in.sever(ctx, s, across, f.Fault)
		if err != nil {
			return made{}, err
		}
		all = append(all, sev)
	}
	return in.severAll(ctx, on, all, true)
}

// split cuts every subject off from all that are not among them, and leaves the
// links within both sides.
func (in *injector) split(ctx context.Context, _ workloads.TimedFault, on []subject) (made, error) {
	across := in.others(on)
	if len(across) == 0 {
		return made{}, errors.New("nobody is on the other side")
	}
	var all []*severance
	for _, s := range on {
		sev, err := in.sever(ctx, s, across, workloads.FaultCut)
		if err != nil {
			return made{}, err
		}
		all = append(all, sev)
	}
	m, err := in.severAll(ctx, on, all, false)
	if err != nil {
		return m, err
	}
	if err := in.within(ctx, on, across); err != nil {
		back, cancel := undoing(ctx)
		defer cancel()
		_, uerr := m.end(back)
		return made{}, errors.Join(err, uerr)
	}
	return m, nil
}

// within sees that packets pass between the first two of each side.
func (in *injector) within(ctx context.Context, sides ...[]subject) error {
	for _, side := range sides {
		if len(side) < 2 {
			continue
		}
		a, err := agentOf(ctx, side[0].proc)
		if err != nil {
			return err
		}
		b, err := agentOf(ctx, side[1].proc)
		if err != nil {
			return err
		}
		link := "from " + side[0].proc.Name() + " to " + side[1].proc.Name()
		bound, cancel := context.WithTimeoutCause(ctx, passWithin, fmt.Errorf("not within %v", passWithin))
		err = poll(bound, "packets pass within one side", func(ctx context.Context) error { return passes(ctx, a, b, false, link) })
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// across are the processes at the other end of the links that a fault of a
// subject meets.
func (in *injector) across(s subject, f workloads.Fault, on []subject) []subject {
	if f == workloads.FaultIsolate {
		return in.others(on)
	}
	store := in.store(func(string) bool { return true })
	peers := store
	if s.node != nil && in.c.mode == nodeconfig.ModeKRaft {
		peers = in.members(func(n *node) bool { return in.isVoter(subject{proc: n.proc, node: n}) })
	}
	return slices.DeleteFunc(peers, func(o subject) bool { return o.proc == s.proc || !o.proc.Running() })
}

// sever prepares the cut of one subject, without making it.
func (in *injector) sever(ctx context.Context, s subject, across []subject, f workloads.Fault) (*severance, error) {
	victim, err := agentOf(ctx, s.proc)
	if err != nil {
		return nil, err
	}
	sev := &severance{victim: victim, listener: s.addr}
	var peers []netip.Addr
	for _, o := range across {
		a, err := agentOf(ctx, o.proc)
		if err != nil {
			return nil, err
		}
		peers = append(peers, a.Here().Addr())
		if len(sev.witnesses) < maxWitnesses {
			sev.witnesses = append(sev.witnesses, witness{o.proc.Name(), a})
		}
	}
	direction := map[workloads.Fault]netfault.Direction{workloads.FaultCut: netfault.Both, workloads.FaultCutIn: netfault.In, workloads.FaultCutOut: netfault.Out}
	if f == workloads.FaultIsolate {
		sev.fault = netfault.Isolation()
	} else {
		sev.fault = netfault.CutFrom(direction[f], peers...)
	}
	return sev, nil
}

// severAll makes prepared cuts and sees them bite, or undoes all of them.
func (in *injector) severAll(ctx context.Context, on []subject, all []*severance, exclude bool) (made, error) {
	for i, sev := range all {
		if err := sev.await(ctx, netfault.Fault{}); err != nil {
			return made{}, fmt.Errorf("before the fault: %s: %w", on[i].proc.Name(), err)
		}
	}
	if exclude {
		in.exclude(on, true)
	}
	sent := trace.Now()
	var undos undoings
	heal := func(ctx context.Context) (int64, error) {
		now := trace.Now()
		errs := []error{undos.run(ctx)}
		for i, sev := range all {
			if err := sev.await(ctx, netfault.Fault{}); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", on[i].proc.Name(), err))
			}
		}
		if exclude {
			in.exclude(on, false)
		}
		return now, errors.Join(errs...)
	}
	for i, sev := range all {
		undo, err := in.addNet(ctx, on[i].proc, sev.fault)
		if err == nil {
			undos = append(undos, undo)
			err = sev.await(ctx, sev.fault)
		}
		if err != nil {
			back, cancel := undoing(ctx)
			defer cancel()
			_, herr := heal(back)
			return made{}, errors.Join(fmt.Errorf("%s: %w", on[i].proc.Name(), err), herr)
		}
	}
	return made{sentNs: sent, end: heal}, nil
}

// undoings take a fault back, node by node.
type undoings []func(context.Context) error

// run undoes all, whatever fails.
func (u undoings) run(ctx context.Context) error {
	var errs []error
	for _, undo := range u {
		errs = append(errs, undo(ctx))
	}
	return errors.Join(errs...)
}

// impair makes the network of every subject slower, or lose packets.
func (in *injector) impair(ctx context.Context, f workloads.TimedFault, on []subject) (made, error) {
	fault := netfault.Fault{Kind: netfault.Delay, Delay: f.Delay, Jitter: f.Jitter}
	switch f.Fault {
	case workloads.FaultLoss:
		fault = netfault.Fault{Kind: netfault.Loss, Direction: netfault.In, Share: float64(f.LossPerMille) / 1000}
	case workloads.FaultRate:
		fault = netfault.Fault{Kind: netfault.Rate, BitsPerSecond: uint64(f.KbitPerSecond) * 1000}
	}
	if slices.ContainsFunc(in.c.poor, func(p netfault.Fault) bool { return p.Kind == fault.Kind }) {
		return made{}, fmt.Errorf("the network of this cluster has a %s of its own; take it out of set", fault.Kind)
	}
	others := in.others(on)
	if len(others) == 0 {
		return made{}, errors.New("no other node runs that could see it")
	}
	far, err := agentOf(ctx, others[0].proc)
	if err != nil {
		return made{}, err
	}
	look := func(ctx context.Context, want bool) error {
		return each(on, func(s subject) error {
			near, err := agentOf(ctx, s.proc)
			if err != nil {
				return err
			}
			return awaitImpaired(ctx, fault, lateness(in.c.poor), near, far, want)
		})
	}
	if err := look(ctx, false); err != nil {
		return made{}, fmt.Errorf("before the fault: %w", err)
	}
	sent := trace.Now()
	var undos undoings
	heal := func(ctx context.Context) (int64, error) {
		now := trace.Now()
		return now, errors.Join(undos.run(ctx), look(ctx, false))
	}
	for _, s := range on {
		undo, aerr := in.addNet(ctx, s.proc, fault)
		if aerr != nil {
			err = fmt.Errorf("%s: %w", s.proc.Name(), aerr)
			break
		}
		undos = append(undos, undo)
	}
	if err == nil {
		err = look(ctx, true)
	}
	if err != nil {
		back, cancel := undoing(ctx)
		defer cancel()
		_, herr := heal(back)
		return made{}, errors.Join(err, herr)
	}
	return made{sentNs: sent, end: heal}, nil
}

// awaitImpaired looks until packets are met by a fault, or are not, within
// passWithin. late is how much longer than usual they take anyway.
func awaitImpaired(ctx context.Context, f netfault.Fault, late time.Duration, near, far *agent.Client, want bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, passWithin+10*f.Delay, fmt.Errorf("not within %v", passWithin+10*f.Delay))
	defer cancel()
	what := fmt.Sprintf("the %s bites", f.Kind)
	if !want {
		what = fmt.Sprintf("there is no %s", f.Kind)
	}
	return poll(ctx, what, func(ctx context.Context) error {
		met, seen, err := impaired(ctx, f, late, near, far)
		if err == nil && met != want {
			err = errors.New(seen)
		}
		return err
	})
}

// impairTries is how many connections tell of a delay.
const impairTries = 5

// impaired reports whether packets between a node and another are met by a fault
// of the node's network, and what was seen.
func impaired(ctx context.Context, f netfault.Fault, late time.Duration, near, far *agent.Client) (met bool, seen string, err error) {
	switch f.Kind {
	case netfault.Delay:
		return delayedBy(ctx, max(f.Delay-f.Jitter, f.Delay/2), f.Delay, near, far)
	case netfault.Loss:
		// A node without the fault loses hardly one; of so many that the fault would
		// take ten on the average, it takes none one time in 20,000.
		const some, expected = 5, 10
		lost, sent, err := lossLook{
			from: far, to: near, token: fmt.Sprintf("loss %d", trace.Now()), share: f.Share, within: probeWait + late,
			perRound: expected, enough: func(lost, _ int) bool { return lost > some || lost == 0 },
		}.run(ctx)
		return lost > some, fmt.Sprintf("%d of %d packets are lost", lost, sent), err
	}
	bytes := agent.Burst(f.BitsPerSecond) + int64(f.BitsPerSecond/8)/10
	took, err := near.Push(ctx, far.Here(), bytes, 2*time.Minute)
	return took >= slowest, fmt.Sprintf("%d bytes take %v", bytes, took), err
}

// slowest is how long a tenth of a second's worth of bytes takes at least, after
// what goes through at once.
const slowest = 80 * time.Millisecond

// delayedBy connects some times and judges the middle one: a busy machine may
// slow one down, and a jitter spare another.
func delayedBy(ctx context.Context, least, delay time.Duration, near, far *agent.Client) (met bool, seen string, err error) {
	var took [impairTries]time.Duration
	for i := range took {
		if took[i], err = near.Reach(ctx, far.Here(), passWithin+10*delay); err != nil {
			return false, "", err
		}
	}
	slices.Sort(took[:])
	middle := took[impairTries/2]
	return middle >= least, fmt.Sprintf("a connection takes %v", middle), nil
}
