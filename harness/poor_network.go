package harness

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"kbench/harness/netfault"
	"kbench/harness/netfault/agent"
	"kbench/harness/provider"
)

// agentsAtOnce bounds how many agents are started or asked side by side.
const agentsAtOnce = 8

// attachAgents starts the agent of every node, so that the first fault does not
// wait for it, makes the networks as poor as they shall be, and sees that they
// are.
func (c *cluster) attachAgents(ctx context.Context) error {
	procs := append(c.processes(), c.store.nodes...)
	agents := make([]*agent.Client, len(procs))
	var g errgroup.Group
	g.SetLimit(agentsAtOnce)
	for i, proc := range procs {
		g.Go(func() (err error) {
			if err = c.impoverish(ctx, proc); err == nil {
				agents[i], err = agentOf(ctx, proc)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, from := range agents { // in a ring: each sends once and hears once
		g.Go(func() error {
			if err := bites(ctx, c.poor, from, agents[(i+1)%len(agents)]); err != nil {
				return fmt.Errorf("network of %s: %w", procs[i].Name(), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// impoverish makes the network of one process as poor as the cluster's. A
// container that was started again has a new one.
func (c *cluster) impoverish(ctx context.Context, proc provider.Node) error {
	if len(c.poor) == 0 {
		return nil
	}
	a, err := agentOf(ctx, proc)
	if err == nil {
		err = a.Set(ctx, c.poor)
	}
	if err != nil {
		return fmt.Errorf("network of %s: %w", proc.Name(), err)
	}
	return nil
}

// bites sees that each fault of a poor network does something between two nodes
// that both have it.
func bites(ctx context.Context, faults []netfault.Fault, from, to *agent.Client) error {
	for _, f := range faults {
		var err error
		switch f.Kind {
		case netfault.Delay:
			err = delays(ctx, f, from, to)
		case netfault.Loss:
			err = loses(ctx, f, lateness(faults), from, to)
		case netfault.Rate:
			err = slows(ctx, f, from, to)
		}
		if err != nil {
			return fmt.Errorf("%s does not bite: %w", f.Kind, err)
		}
	}
	return nil
}

// delays: a connection takes a packet each way.
func delays(ctx context.Context, f netfault.Fault, from, to *agent.Client) error {
	took, err := from.Reach(ctx, to.Here(), passWithin+10*f.Delay)
	if least := 2 * (f.Delay - f.Jitter); err == nil && took < least {
		err = fmt.Errorf("a round trip takes %v, not %v at least", took, least)
	}
	return err
}

// loses sends datagrams until one is lost: the fault lets all of them pass one
// time in 500 million.
func loses(ctx context.Context, f netfault.Fault, late time.Duration, from, to *agent.Client) error {
	lost, sent, err := lossLook{
		from: from, to: to, token: fmt.Sprint("loss from ", from.Here()), share: f.Share, within: probeWait + late,
		perRound: 1, enough: func(lost, _ int) bool { return lost > 0 },
	}.run(ctx)
	if err == nil && lost == 0 {
		err = fmt.Errorf("all of %d packets pass", sent)
	}
	return err
}

// slows: what a tenth of a second carries, after what goes through at once.
func slows(ctx context.Context, f netfault.Fault, from, to *agent.Client) error {
	perSecond := int64(f.BitsPerSecond / 8)
	const least = 80 * time.Millisecond
	bytes := agent.Burst(f.BitsPerSecond) + perSecond/10
	took, err := from.Push(ctx, to.Here(), bytes, 2*time.Minute)
	if err == nil && took < least {
		err = fmt.Errorf("%d bytes take %v, not %v at least", bytes, took, least)
	}
	return err
}
