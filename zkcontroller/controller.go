package zkcontroller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// Controller is one candidate.
type Controller struct {
	cfg   Config
	m     *machine.Machine
	queue *queue
	calls *calls

	office atomic.Bool // elected and not resigned: calls are queued, also during the failover
	active atomic.Bool // the failover is done too

	// Owned by the event thread.
	session  *zk.Session
	store    *store
	epoch    kafka.ControllerEpoch // of the last election won
	version  int32                 // of /controller_epoch: the fence; valid while elected
	elected  bool
	known    bool // a controller was seen whose end is not traced yet
	failures int  // failovers that failed in a row
	senders  map[kafka.BrokerID]*sender
	balance  *time.Timer
	changes  *stateLog // nil writes none

	wg sync.WaitGroup // senders
}

// replyHeader bounds what a reply has beside a list of children: header, count
// and stat.
const replyHeader = 128

// New makes a candidate that does nothing until Run.
func New(cfg Config) (*Controller, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	limit := cfg.MaxRequestBytes
	if limit == 0 {
		limit = zk.DefaultMaxRequestBytes
	}
	c := &Controller{cfg: cfg, queue: newQueue(), calls: newCalls(), senders: map[kafka.BrokerID]*sender{}}
	c.m = machine.New(machine.Config{
		ID: cfg.ID, Dedicated: cfg.Dedicated, MaxRequestBytes: limit, MaxListBytes: cfg.MaxReplyBytes - replyHeader,
		DefaultPartitions: cfg.DefaultPartitions, DefaultReplication: cfg.DefaultReplication,
		UncleanElection: cfg.UncleanElection, NoDeletion: cfg.NoDeletion, PerPartition: cfg.PerPartition, OneByOne: cfg.PerPartition && cfg.MaxInFlight == 1,
		ImbalancePercent: cfg.ImbalancePercent, Protocol: cfg.Protocol, HeldStates: cfg.StatesPerMulti > 1, NoBrokerEpochs: cfg.NoBrokerEpochs, FullMetadata: cfg.FullMetadata,
		Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
	})
	if cfg.StateChangeLog != "" {
		var err error
		if c.changes, err = openStateLog(cfg.StateChangeLog, cfg.ID); err != nil {
			return nil, fmt.Errorf("zkcontroller %d: %w", cfg.ID, err)
		}
	}
	c.balance = time.NewTimer(time.Hour)
	c.balance.Stop()
	return c, nil
}

// Active reports whether this is the active controller and has finished its
// failover.
func (c *Controller) Active() bool { return c.active.Load() }

// Run takes part in elections and controls when elected, until ctx ends; then
// it ends its session, so that another takes over at once. It returns an error
// only for what no retry can mend.
func (c *Controller) Run(ctx context.Context) error {
	defer c.wg.Wait()
	defer c.shut()
	previous := int64(0)
	for {
		s, err := c.connect(ctx, previous)
		if err != nil {
			return err
		}
		if s == nil {
			return nil
		}
		c.serve(ctx, s)
		previous = s.ID()
		c.leave(s)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// reconnectPause is Kafka's pause between tries to make a new session.
const reconnectPause = time.Second

// connect opens a session, trying until ctx ends; nil then.
func (c *Controller) connect(ctx context.Context, previous int64) (*zk.Session, error) {
	cfg := zk.Config{
		Servers: c.cfg.Servers, SessionTimeout: c.cfg.SessionTimeout, MaxInFlight: c.cfg.MaxInFlight,
		MaxRequestBytes: c.cfg.MaxRequestBytes, MaxReplyBytes: c.cfg.MaxReplyBytes, PreviousSession: previous,
		OnEvent: c.onEvent, Dial: c.cfg.DialZooKeeper, Logger: c.cfg.Logger.With("controller", c.cfg.ID), Access: c.cfg.Access,
	}
	for { // ends with ctx
		s, err := zk.Connect(ctx, cfg)
		if err == nil {
			if err = s.EnsurePersistentPaths(ctx); err == nil {
				return s, nil
			}
			s.Close(ctx)
		}
		if ctx.Err() != nil {
			return nil, nil
		}
		if errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrAuthFailed) {
			return nil, fmt.Errorf("zkcontroller %d: %w", c.cfg.ID, err)
		}
		c.cfg.Logger.Warn("no ZooKeeper session yet", "controller", c.cfg.ID, "err", err)
		if !sleep(ctx, reconnectPause) {
			return nil, nil
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// leave ends a session. One that expired is closed beside: the library takes up
// to a second for it, and the next election must not wait.
func (c *Controller) leave(s *zk.Session) {
	closing := func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			c.cfg.Logger.Debug("close session", "controller", c.cfg.ID, "err", err)
		}
	}
	if errors.Is(s.Err(), zk.ErrExpired) {
		c.wg.Go(closing)
		return
	}
	closing()
}

// onEvent queues what the session saw. It runs on the session's goroutine.
func (c *Controller) onEvent(e zk.Event) {
	ev := event{at: trace.Now()}
	switch e.Kind {
	case zk.Expired:
		ev.kind = sessionExpired
		for _, dropped := range c.queue.clearAndPut(ev) {
			c.preempt(dropped)
		}
		return
	case zk.Disconnected:
		return
	case zk.Reconnected:
		ev.kind = reconnectedEvent
	case zk.NodeDeleted:
		if e.Path != zk.ControllerPath {
			return // the children watch of the parent tells the same
		}
		ev.kind = controllerDeleted
	default:
		if e.Path == zk.ControllerPath {
			ev.kind = controllerChanged
			break
		}
		if ev.input = inputOf(e); ev.input == nil {
			return
		}
	}
	if err := c.queue.put(ev); err != nil {
		c.cfg.Logger.Error("a watch event is lost", "controller", c.cfg.ID, "path", e.Path, "err", err)
	}
}

// inputOf gives the machine's event for a change of a znode.
func inputOf(e zk.Event) machine.Input {
	switch e.Path {
	case zk.BrokerIDsPath:
		return machine.BrokerChange{}
	case zk.TopicsPath:
		return machine.TopicChange{}
	case zk.DeleteTopicsPath:
		return machine.TopicDeletion{}
	case zk.PreferredPath:
		return machine.PreferredElection{}
	case zk.ReassignPath:
		if e.Kind == zk.NodeCreated { // the controller's own rewrites are no news
			return machine.ZnodeReassignment{}
		}
		return nil
	case zk.ISRChangesPath:
		return machine.ISRNotified{}
	case zk.LogDirEventsPath:
		return machine.LogDirNotified{}
	case zk.ConfigChangesPath:
		return machine.ConfigChanged{}
	}
	if tp, ok := zk.PartitionOfPath(e.Path); ok {
		return machine.ReassignISRChanged{Partition: tp}
	}
	if id, ok := zk.BrokerOfPath(e.Path); ok {
		return machine.BrokerModified{Broker: id}
	}
	if topic, ok := zk.TopicOfPath(e.Path); ok {
		return machine.TopicModified{Topic: topic}
	}
	return nil
}

// preempt refuses what was dropped from the queue.
func (c *Controller) preempt(e event) {
	if e.done != nil {
		e.done <- nil // the session is over, so is the controllership
	}
	if e.input != nil {
		c.calls.refuse(e.input)
	}
}

// Resign asks the candidate to give up being controller, if it is, and waits
// until it has. An election follows, which it may win again.
func (c *Controller) Resign(ctx context.Context) error {
	done := make(chan error, 1)
	if err := c.queue.put(event{kind: resignEvent, done: done}); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("zkcontroller %d: resign: %w", c.cfg.ID, ctx.Err())
	}
}
