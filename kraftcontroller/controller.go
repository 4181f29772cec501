package kraftcontroller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"kbench/kafka"
	"kbench/kafka/guard"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/raftclient"
	"kbench/kraftcontroller/snapshots"
)

const (
	// maxNews bounds what the quorum has committed and the loop has not seen:
	// each is at most 4 MiB of records. The log holds the rest.
	maxNews = 8
	// maxRequests bounds the requests before the loop; more wait in their
	// handlers.
	maxRequests = 1024
)

// ErrStopped is the error of a request to a controller that does not run any
// more; its connection is closed with it.
var ErrStopped = errors.New("the controller has stopped")

// Controller is one controller node. Methods may be called from any goroutine.
type Controller struct {
	cfg    Config
	log    *slog.Logger
	origin time.Time // the machine's time 0
	client *raftclient.Client

	news     chan news
	requests chan queued
	calls    *calls
	view     atomic.Pointer[View]

	counters  counters
	guard     guard.Guard
	registrar *registrar

	running atomic.Bool
	stopped chan struct{} // closed when the loop is over

	// Owned by the loop.
	m         *machine.Machine
	deadline  time.Duration
	next      kafka.Offset // after the last committed batch seen
	claimed   kafka.LeaderEpoch
	refused   error // why the log refused what the last step decided
	snapshots *snapshots.Generator
}

// View is what a controller shows of itself at one moment.
type View struct {
	Active bool
	Epoch  kafka.LeaderEpoch // that it claimed last, NoEpoch for none
	Image  *metadata.Image   // the committed metadata
}

// New opens the data directory and recovers the log. Close releases them if Run
// is never called.
func New(cfg Config) (*Controller, error) {
	cfg.defaults()
	origin := cfg.Raft.Now()
	cfg.Machine.StartMs = origin.UnixMilli()
	c := &Controller{
		cfg: cfg, log: cfg.Raft.Logger, origin: origin,
		news: make(chan news, maxNews), requests: make(chan queued, maxRequests),
		calls: newCalls(), stopped: make(chan struct{}),
		deadline: machine.Never, claimed: kafka.NoEpoch,
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	var err error
	rc := cfg.Raft
	rc.Listener = &listener{c}
	if c.client, err = raftclient.New(rc); err != nil {
		return nil, fmt.Errorf("controller %d: %w", cfg.Raft.NodeID, err)
	}
	c.cfg.Machine.Append = c.append
	if err = c.bootstrap(); err == nil {
		c.m, err = machine.New(c.cfg.Machine)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("controller %d: %w", cfg.Raft.NodeID, err), c.client.Close())
	}
	c.snapshots = snapshots.New(c.client, snapshots.Config{
		Bytes: cfg.SnapshotBytes, Interval: cfg.SnapshotInterval, Logger: c.log, Now: cfg.Raft.Now,
	})
	c.guard, c.registrar = c.newGuard(), newRegistrar(c)
	c.publish()
	return c, nil
}

// Run serves until ctx ends, Shutdown is done, or the controller cannot go on:
// a record that does not replay, a failed write or fsync. The end of ctx is
// like a crash: nothing is handed over. It joins everything it started, and
// runs once.
func (c *Controller) Run(ctx context.Context) error {
	if c.running.Swap(true) {
		return errors.New("the controller was run before")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var clientErr error
	wg.Go(func() {
		defer cancel()
		clientErr = c.client.Run(ctx)
	})
	wg.Go(func() { c.registrar.run(ctx) })
	wg.Go(func() { c.snapshots.Run(ctx) })
	loopErr := c.loop(ctx)
	cancel()
	close(c.stopped)
	wg.Wait()
	if err := whyEnded(loopErr, clientErr); err != nil {
		return fmt.Errorf("controller %d: %w", c.cfg.Raft.NodeID, err)
	}
	return nil
}

// whyEnded gives the cause of an end, nil for one in good order. Where the loop
// has one it is the cause. A loop whose context ended leaves it to the client to
// say why; a client that found the loop gone, with news for it, does not know.
func whyEnded(loopErr, clientErr error) error {
	followed := errors.Is(loopErr, context.Canceled) || errors.Is(loopErr, context.DeadlineExceeded) || errors.Is(loopErr, raftclient.ErrClosed)
	switch {
	case loopErr != nil && !followed:
		return loopErr
	case errors.Is(clientErr, ErrStopped):
		return nil
	}
	return clientErr
}

// Resign hands the leadership over, if this node has it, and goes on as a
// standby.
func (c *Controller) Resign(ctx context.Context) error {
	return c.client.Resign(ctx, c.client.Role().Epoch)
}

// Shutdown leaves in good order: a leader sends EndQuorumEpoch and stays until
// a successor is known or ctx ends. Run then returns nil.
func (c *Controller) Shutdown(ctx context.Context) error {
	if err := c.client.Shutdown(ctx); err != nil {
		return err
	}
	if !c.running.Load() {
		return nil
	}
	select {
	case <-c.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the controller to stop: %w", ctx.Err())
	}
}

// Close releases the directory of a controller that was never run.
func (c *Controller) Close() error { return c.client.Close() }

// View gives the controller's state as of its last step.
func (c *Controller) View() View { return *c.view.Load() }

// Client is the node's part in the quorum, for metrics.
func (c *Controller) Client() *raftclient.Client { return c.client }

func (c *Controller) now() time.Duration { return c.cfg.Raft.Now().Sub(c.origin) }

func (c *Controller) publish() {
	active, epoch := c.m.Active()
	image := c.m.Image()
	c.view.Store(&View{Active: active, Epoch: epoch, Image: image})
	c.counters.applied.Store(int64(c.m.Applied()))
	c.counters.unclean.Store(c.m.UncleanElections())
	c.registrar.look(image)
}
