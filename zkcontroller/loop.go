package zkcontroller

import (
	"context"
	"errors"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// serve is the event thread for one session; it returns when that is over.
func (c *Controller) serve(ctx context.Context, s *zk.Session) {
	c.session, c.store = s, &store{session: s, perMulti: c.cfg.StatesPerMulti, log: c.cfg.Logger}
	defer c.step(ctx, machine.Resign{})
	s.Watch(zk.ControllerPath)
	c.elect(ctx)
	for ctx.Err() == nil {
		e, ok := c.queue.take(ctx, c.balance.C)
		switch {
		case ok && e.kind == sessionExpired:
			return
		case ok:
			c.handle(ctx, e)
		case ctx.Err() == nil:
			c.step(ctx, machine.Rebalance{})
			c.balance.Reset(c.cfg.RebalanceInterval)
		}
	}
}

func (c *Controller) handle(ctx context.Context, e event) {
	switch e.kind {
	case machineEvent:
		c.step(ctx, e.input)
	case controllerDeleted:
		if !c.elected {
			c.detected(e.at)
		}
		c.elect(ctx)
	case controllerChanged:
		c.elect(ctx)
	case resignEvent:
		err := c.handOver(ctx)
		e.done <- err
	}
}

// detected traces that the controller known so far is gone, once: by the watch
// on /controller, or by an election that found nobody where the watch was not
// armed (after an expiry, or when a controller came and went in between).
func (c *Controller) detected(at int64) {
	if c.known {
		c.known = false
		c.cfg.Trace.Emit(trace.Event{T: at, Kind: trace.ControllerDetected})
	}
}

// elect looks who is controller and tries to become it where nobody is. What
// led to it may be long past, so that this candidate resigns only by what is
// there now: another controller, or none, in which case it may win again and
// then begins with an empty context.
func (c *Controller) elect(ctx context.Context) {
	if c.failures > 0 { // the last failover failed: let another try first
		if !sleep(ctx, min(100*time.Millisecond<<min(c.failures, 6), 5*time.Second)) {
			return
		}
	}
	began := trace.Now()
	res, err := c.session.Elect(ctx, c.cfg.ID, time.Now().UnixMilli())
	if err != nil {
		if !zk.IsDead(err) && ctx.Err() == nil {
			c.cfg.Logger.Error("election failed", "controller", c.cfg.ID, "err", err)
			c.failures++
			c.retryElection()
		}
		return
	}
	switch {
	case !res.Won && res.Controller == c.cfg.ID && c.elected:
		return // still the one
	case !res.Won:
		c.resign(ctx)
		if res.Controller == kafka.NoLeader {
			c.retryElection()
		}
		c.known = c.known || res.Controller != kafka.NoLeader
		return
	}
	c.resign(ctx)
	c.detected(began)
	c.known = true
	c.elected, c.epoch, c.version = true, res.Epoch, res.EpochVersion
	c.office.Store(true)
	c.store.fence = zk.NoFence
	if !c.cfg.UnfencedWrites {
		c.store.fence = res.EpochVersion
	}
	c.cfg.Trace.Emit(trace.Event{Kind: trace.ControllerElected, Epoch: int64(res.Epoch)})
	c.cfg.Logger.Info("elected as controller", "controller", c.cfg.ID, "epoch", res.Epoch)
	c.step(ctx, machine.Elected{Epoch: res.Epoch})
	if c.m.Active() {
		c.failures = 0
		if !c.cfg.NoRebalance {
			c.balance.Reset(c.cfg.RebalanceDelay)
		}
	}
}

// retryElection queues another election: nothing else would lead to one.
func (c *Controller) retryElection() {
	if err := c.queue.put(event{kind: controllerChanged}); err != nil {
		c.cfg.Logger.Error("election is not tried again", "controller", c.cfg.ID, "err", err)
	}
}

// resign ends the controllership of this candidate, if it has it.
func (c *Controller) resign(ctx context.Context) {
	if c.elected {
		c.step(ctx, machine.Resign{})
	}
}

// handOver gives up /controller.
func (c *Controller) handOver(ctx context.Context) error {
	if !c.elected {
		return nil
	}
	version := c.version
	c.resign(ctx)
	err := c.session.ResignController(ctx, version)
	if errors.Is(err, zk.ErrFenced) {
		return nil // another has it already
	}
	return err
}

// step gives the machine one input, carries out its effects, and goes on until
// it waits for nothing.
func (c *Controller) step(ctx context.Context, in machine.Input) {
	effects := c.m.Step(in)
	for {
		c.apply(ctx, effects)
		if !c.m.Waiting() {
			return
		}
		batch := effects[len(effects)-1].(machine.Batch)
		effects = c.m.Step(machine.Done{Err: c.store.run(ctx, batch)})
	}
}

// apply carries out effects, but for the batch at their end.
func (c *Controller) apply(ctx context.Context, effects []machine.Effect) {
	var shared *metadataBody // of UpdateMetadata requests with the same partitions
	for _, e := range effects {
		c.changes.write(c.epoch, e)
		switch e := e.(type) {
		case *machine.LeaderAndISR:
			c.send(e.Broker, c.requestLeaderAndISR(e))
		case *machine.UpdateMetadata:
			if !shared.same(e) {
				shared = &metadataBody{of: e}
			}
			c.send(e.Broker, c.requestMetadata(e, shared))
		case *machine.StopReplica:
			for _, r := range c.requestsStopReplica(e) {
				c.send(e.Broker, r)
			}
		case *machine.AddBroker:
			c.addSender(e.Broker)
		case *machine.RemoveBroker:
			c.removeSender(e.Broker)
		case *machine.Reply:
			c.reply(e)
		case *machine.Moment:
			c.moment(e)
		case *machine.GiveUp:
			c.giveUp(ctx, e)
		case *machine.Queue:
			c.post(e.Event)
		case *machine.WatchState:
			if e.On {
				c.session.Watch(statePath(e.Partition))
			} else {
				c.session.Unwatch(statePath(e.Partition))
			}
		case *machine.Note:
			c.cfg.Logger.Warn(e.Text, "controller", c.cfg.ID)
		}
	}
}

func (c *Controller) reply(e *machine.Reply) {
	deliver := func() { c.calls.deliver(e) }
	if s := c.senders[c.cfg.ID]; e.AfterMetadata && s != nil {
		s.after(deliver)
		return
	}
	deliver()
}

func (c *Controller) moment(e *machine.Moment) {
	kind := map[machine.MomentKind]trace.Kind{
		machine.Loaded: trace.ControllerLoaded, machine.Active: trace.ControllerActive,
		machine.Resigned: trace.ControllerResigned, machine.BrokerDead: trace.BrokerFenced,
		machine.BrokerLive: trace.BrokerUnfenced, machine.ShutdownGranted: trace.ControllerShutdownGranted,
	}[e.Kind]
	c.cfg.Trace.Emit(trace.Event{Kind: kind, Epoch: int64(e.Epoch), Broker: int32(e.Broker)})
	switch e.Kind {
	case machine.Active:
		c.active.Store(true)
		c.cfg.Logger.Info("controller is active", "controller", c.cfg.ID, "epoch", e.Epoch, "partitions", c.m.Partitions())
	case machine.Resigned:
		c.office.Store(false)
		c.active.Store(false)
		c.elected = false
		c.balance.Stop()
		c.session.UnwatchAll(zk.ControllerPath)
		c.cfg.Logger.Info("controller has resigned", "controller", c.cfg.ID, "epoch", e.Epoch)
	}
}

// giveUp follows a resignation that the machine came to by itself.
func (c *Controller) giveUp(ctx context.Context, e *machine.GiveUp) {
	c.failures++
	if c.session.Err() != nil || ctx.Err() != nil {
		return
	}
	err := c.session.ResignController(ctx, c.version)
	switch {
	case errors.Is(err, zk.ErrFenced): // another is controller: find out who
		c.retryElection()
	case err != nil && !zk.IsDead(err):
		c.cfg.Logger.Error("could not give up the controllership", "controller", c.cfg.ID, "reason", e.Reason, "err", err)
		c.retryElection()
	}
}

// shut drops what is left when Run ends.
func (c *Controller) shut() {
	for _, e := range c.queue.clearAndPut(event{kind: reconnectedEvent}) {
		c.preempt(e)
	}
	c.calls.shut()
	for id := range c.senders {
		c.removeSender(id)
	}
	if err := c.changes.close(); err != nil {
		c.cfg.Logger.Error("state change log is not complete", "controller", c.cfg.ID, "err", err)
	}
}
