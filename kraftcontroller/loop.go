package kraftcontroller

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/refusal"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/raftclient"
)

// loop is the event loop: the only goroutine that touches the machine.
func (c *Controller) loop(ctx context.Context) error {
	if err := c.step(ctx, machine.Voters{IDs: c.voterIDs()}); err != nil {
		return err
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(c.wait())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case n := <-c.news:
			if err := c.hear(ctx, n); err != nil {
				return err
			}
			continue
		default:
		}
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case n := <-c.news:
			err = c.hear(ctx, n)
		case r := <-c.requests:
			err = c.take(ctx, r)
		case <-timer.C:
			err = c.tick(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func (c *Controller) voterIDs() []kafka.BrokerID {
	var ids []kafka.BrokerID
	for _, v := range c.client.Quorum().Voters {
		ids = append(ids, v.ID)
	}
	return ids
}

// wait is the time to the machine's deadline.
func (c *Controller) wait() time.Duration {
	if c.deadline == machine.Never {
		return time.Hour
	}
	return max(c.deadline-c.now(), 0)
}

// tick does what is due, after the requests that are here already: a loop that
// was held up must not fence a broker whose heartbeat waits in its own queue
// (KAFKA-15019).
func (c *Controller) tick(ctx context.Context) error {
	for range len(c.requests) {
		if err := c.take(ctx, <-c.requests); err != nil {
			return err
		}
	}
	return c.step(ctx, machine.Tick{})
}

// take steps a request in, unless it waited for longer than its client said; once
// it is in, it ends with its records committed or the controller's end, as in Kafka.
func (c *Controller) take(ctx context.Context, r queued) error {
	start := c.now()
	c.counters.queueTime.add(start - r.at)
	if limit, ok := r.Body.(kmsg.TimeoutRequest); ok && limit.Timeout() > 0 && start-r.at > time.Duration(limit.Timeout())*time.Millisecond {
		c.counters.timedOut.Add(1)
		c.calls.answer(r.ID, answer{body: refusal.Of(r.Body, kafka.RequestTimedOut, "The request waited for the controller longer than its time-out.")})
		return nil
	}
	err := c.step(ctx, r.Request)
	c.counters.processingTime.add(c.now() - start)
	return err
}

// hear steps in what the quorum tells.
func (c *Controller) hear(ctx context.Context, n news) error {
	switch {
	case n.leader != nil:
		return c.leaderChanged(ctx, *n.leader)
	case n.snapshot != nil:
		id := n.snapshot.ID()
		err := c.step(ctx, machine.Snapshot{EndOffset: id.EndOffset, Epoch: id.Epoch, Values: n.snapshot.Values})
		c.next = id.EndOffset
		c.counters.loads.Add(1)
		c.snapshots.Loaded()
		n.done <- err
		return err
	}
	for i := range n.batches {
		b := &n.batches[i]
		if err := c.step(ctx, machine.Committed{BaseOffset: b.BaseOffset, Epoch: b.Epoch, Control: b.Control, Values: values(b)}); err != nil {
			return err
		}
		if b.Control { // it may have changed the voters
			if err := c.step(ctx, machine.Voters{IDs: c.voterIDs()}); err != nil {
				return err
			}
		}
		c.next = b.EndOffset()
		c.counters.timestamp.Store(b.Timestamp)
		c.snapshots.Committed(b, c.m.Image())
	}
	return nil
}

func (c *Controller) leaderChanged(ctx context.Context, at raftclient.LeaderAndEpoch) error {
	c.heardLeader(at.Leader)
	if at.Leader != c.cfg.Raft.NodeID {
		return c.step(ctx, machine.Renounce{})
	}
	// All up to the start of the epoch was heard, and nothing can have been
	// appended behind it but by this loop and, for a change of the voters, by the
	// quorum itself, see decide.
	c.claimed = at.Epoch
	c.cfg.Raft.Trace.Emit(trace.Event{Kind: trace.ControllerLoaded, Epoch: int64(at.Epoch), Offset: int64(c.next)})
	c.log.Info("active controller", "epoch", at.Epoch, "offset", c.next, "partitions", c.m.Image().NumPartitions())
	return c.step(ctx, machine.Claim{Epoch: at.Epoch, NextOffset: c.next})
}

// step steps the machine and carries out its effects: what it decides is
// appended as it goes, then come the answers. When the log refuses an append the
// leadership is lost or broken, and the controller gives it up.
func (c *Controller) step(ctx context.Context, in machine.Input) error {
	c.counters.started.Add(1)
	before, epoch := c.m.Active()
	fx, refused, err := c.decide(in)
	if err != nil {
		c.counters.errors.Add(1)
		return err
	}
	c.deadline = fx.Deadline
	after, _ := c.m.Active()
	_, claim := in.(machine.Claim)
	for _, r := range fx.Responses {
		c.calls.answer(r.ID, answer{body: r.Body, notController: !before || !after || claim})
	}
	c.tell(fx.Events)
	c.publish()
	if before && !after {
		c.cfg.Raft.Trace.Emit(trace.Event{Kind: trace.ControllerResigned, Epoch: int64(epoch)})
		c.log.Info("no longer the active controller", "epoch", epoch)
	}
	if refused == nil {
		return nil
	}
	c.log.Warn("the log refused an append: giving up the epoch", "epoch", c.claimed, "err", refused)
	if err := c.step(ctx, machine.Renounce{}); err != nil {
		return err
	}
	return c.client.Resign(ctx, c.claimed)
}

// decide steps the machine, which appends what it decides, and tells whether the
// log refused one of that. It holds the next offset meanwhile, so that a change of
// the voters cannot take it.
func (c *Controller) decide(in machine.Input) (fx machine.Effects, refused, fault error) {
	if next, release, ok := c.client.Reserve(c.claimed); ok {
		defer release()
		if claim, ok := in.(machine.Claim); ok {
			claim.NextOffset = next
			in = claim
		} else if _, err := c.m.Step(c.now(), machine.Skip{NextOffset: next}); err != nil {
			return fx, nil, err
		}
	}
	c.refused = nil
	fx, err := c.m.Step(c.now(), in)
	if err != nil {
		return fx, nil, err
	}
	return fx, c.refused, nil
}

// append is the machine's: it appends a batch unless one before it was refused.
// Brokers learn of the first batches of a large operation while the machine is at
// the others.
func (c *Controller) append(a machine.Append) {
	if c.refused != nil {
		return
	}
	last, err := c.client.Append(c.claimed, a.Values)
	if err == nil && last != a.LastOffset() {
		err = fmt.Errorf("records were given offsets up to %d, %d was decided", last, a.LastOffset())
	}
	c.refused = err
}

// traced are the machine's events that the trace has a kind for.
var traced = map[machine.EventKind]trace.Kind{
	machine.Activated:       trace.ControllerActive,
	machine.BrokerUnfenced:  trace.BrokerUnfenced,
	machine.BrokerFenced:    trace.BrokerFenced,
	machine.ShutdownGranted: trace.ControllerShutdownGranted,
}

func (c *Controller) tell(events []machine.Event) {
	for _, e := range events {
		c.log.Info("controller", "event", e.Kind, "broker", e.Broker, "epoch", c.claimed)
		kind, ok := traced[e.Kind]
		if !ok {
			continue
		}
		t := trace.Event{Kind: kind, Epoch: int64(c.claimed), Broker: int32(max(e.Broker, 0)), Offset: int64(max(c.m.Image().Offset(), 0))}
		if e.Kind == machine.BrokerFenced {
			t.N = int64(cmp.Or(c.cfg.Machine.SessionTimeout, machine.DefaultSessionTimeout))
		}
		c.cfg.Raft.Trace.Emit(t)
	}
}
