package raftclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// errShutdown ends Run in good order.
var errShutdown = errors.New("shut down")

// Run steps the machine until ctx ends, Shutdown is done, or something fatal
// happens, which it returns: a broken invariant, a failed write or fsync, an
// error of the Listener. It joins its goroutines and closes the log before it
// returns, without a last fsync: a client whose ctx ends is like one that
// crashed. It runs once.
func (c *Client) Run(ctx context.Context) error {
	if c.running.Swap(true) {
		return errors.New("the raft client was run before")
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	c.spawn = func(f func(context.Context)) { wg.Go(func() { f(ctx) }) }
	wg.Go(func() { c.syncLoop(ctx) })
	wg.Go(func() { c.deliverLoop(ctx) })
	if c.cfg.Algorithm != nil {
		wg.Go(func() { c.carry(ctx) })
	}

	err := c.loop(ctx)
	c.acc.end()
	cancel()
	c.stopOnce.Do(func() { close(c.stopped) })
	wg.Wait()
	if closeErr := c.closeFiles(); err == nil {
		err = closeErr
	}
	if errors.Is(err, errShutdown) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("raft client %d: %w", c.cfg.NodeID, err)
	}
	return nil
}

// loop is the goroutine that owns the machine.
func (c *Client) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	deadline, err := c.settle(c.step(raft.Tick{}))
	for err == nil {
		timer.Reset(c.until(deadline))
		before := c.cfg.Now()
		waited := func() { c.meter.waited(c.cfg.Now().Sub(before)) }
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err = <-c.fatal:
			continue
		case r := <-c.flushed:
			waited()
			deadline, err = c.flushDone(r)
		case <-c.drainNow:
			waited()
		case e := <-c.inbox:
			waited()
			deadline, err = c.take(e, deadline)
		case <-timer.C:
			waited()
			deadline, err = c.step(raft.Tick{})
		}
		deadline, err = c.settle(deadline, err)
	}
	return err
}

// take handles what another goroutine sent.
func (c *Client) take(e event, deadline time.Duration) (time.Duration, error) {
	if e.do != nil {
		return deadline, e.do()
	}
	if e.call != nil {
		c.calls[e.call.id] = e.call
	}
	return c.step(e.in)
}

// settle steps what carrying out effects left behind, and writes the batches
// that are due, until there is none. Each round takes an input that the round
// before made, or a batch, so it ends.
func (c *Client) settle(deadline time.Duration, err error) (time.Duration, error) {
	for err == nil {
		for err == nil && len(c.owned) > 0 {
			in := c.owned[0]
			c.owned = c.owned[1:]
			deadline, err = c.step(in)
		}
		if err != nil {
			break
		}
		deadline, err = c.drain(deadline)
		if len(c.owned) == 0 {
			break
		}
	}
	return deadline, err
}

// until is how long the loop may wait: for the machine's deadline or for the
// accumulator's.
func (c *Client) until(deadline time.Duration) time.Duration {
	wait := time.Hour
	if deadline != raft.Never {
		wait = min(wait, deadline-c.now())
	}
	return max(wait, 0)
}

func (c *Client) now() time.Duration { return c.cfg.Now().Sub(c.origin) }

// changesVoters reports whether the machine may append control records for in.
func changesVoters(in raft.Input) bool {
	var m raft.Message
	switch in := in.(type) {
	case raft.Request:
		m = in.Message
	case raft.Response:
		m = in.Message
	}
	switch m.(type) {
	case raft.AddVoterRequest, raft.RemoveVoterRequest, raft.UpdateVoterRequest, raft.UpgradeRequest, raft.APIVersionsResponse:
		return true
	}
	return false
}

// step hands one input to the machine and carries out what it asks.
func (c *Client) step(in raft.Input) (time.Duration, error) {
	if c.view().leads(c.cfg.NodeID) && changesVoters(in) {
		return c.stepControl(in)
	}
	return c.stepNow(in)
}

// stepControl steps an input for which the machine may append control records:
// behind all that was accepted before, and in front of all that comes.
func (c *Client) stepControl(in raft.Input) (time.Duration, error) {
	for {
		ready := c.acc.pause()
		for _, b := range ready {
			if _, err := c.stepNow(raft.Append{Epoch: b.epoch, Count: int32(len(b.records)), Records: b}); err != nil {
				return 0, err
			}
		}
		if len(ready) == 0 {
			break
		}
	}
	deadline, err := c.stepNow(in)
	if c.view().leads(c.cfg.NodeID) {
		c.acc.resume(c.machine.LogEnd())
	}
	return deadline, err
}

func (c *Client) stepNow(in raft.Input) (time.Duration, error) {
	now := c.now()
	fx, deadline := c.machine.Step(now, in)
	c.meter.observe(now, fx, c.machine.Role())
	c.tellAlone(now, in, fx, deadline)
	if cancel, ok := in.(raft.Cancel); ok {
		delete(c.calls, cancel.ID)
	}
	return deadline, c.carryOut(fx)
}

func (c *Client) flushDone(r flushResult) (time.Duration, error) {
	c.flushing = false
	if r.err != nil {
		return 0, r.err
	}
	c.tellDurable()
	return c.step(raft.FlushDone{Seq: r.seq})
}

// drain writes the batches that are due and gives the next deadline.
func (c *Client) drain(deadline time.Duration) (time.Duration, error) {
	ready, due := c.acc.drain()
	for _, b := range ready {
		var err error
		in := raft.Append{Epoch: b.epoch, Count: int32(len(b.records)), Records: b}
		if deadline, err = c.step(in); err != nil {
			return 0, err
		}
	}
	if !due.IsZero() {
		deadline = min(deadline, due.Sub(c.origin))
	}
	return deadline, nil
}

// syncLoop makes the log durable beside the machine, one flush at a time.
func (c *Client) syncLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case seq := <-c.flush:
			c.flushed <- flushResult{seq, c.log.Flush()}
		}
	}
}

// publish shows the machine's state to the other goroutines.
func (c *Client) publish() {
	c.mu.Lock()
	c.state = state{role: c.machine.Role(), voted: c.machine.Voted().ID, hw: c.machine.HighWatermark(), end: c.machine.LogEnd(), quorum: c.machine.Quorum()}
	c.mu.Unlock()
	c.addrs.use(c.machine.Quorum().Voters)
	signal(c.wake)
}

func (c *Client) view() state {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (s state) leads(id kafka.BrokerID) bool {
	return s.role.State == raft.Leader && s.role.LeaderID == id
}
