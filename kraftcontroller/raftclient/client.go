package raftclient

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// inboxSize bounds what waits for the machine; senders wait for room.
const inboxSize = 256

// ErrClosed is the error of calls on a client that does not run any more.
var ErrClosed = errors.New("the raft client has stopped")

// Client is one node of the quorum. New opens its directory; Run does the
// rest. Methods may be called from any goroutine.
type Client struct {
	cfg     Config
	voter   bool
	origin  time.Time // the machine's time 0
	machine Machine
	dir     *metalog.Directory // nil in memory
	log     *metalog.Log
	quorum  string // the path of quorum-state

	inbox     chan event
	flush     chan uint64 // to the syncing goroutine; one at a time
	flushed   chan flushResult
	drainNow  chan struct{}
	acc       *accumulator
	talk      Talk
	addrs     *addresses
	ids       atomic.Uint64
	strangers strangers

	// Owned by Run's goroutine.
	calls     map[uint64]*call
	peers     map[kafka.BrokerID]*peer
	spawn     func(func(context.Context)) // runs a goroutine that Run joins
	flushing  bool
	flushEnd  kafka.Offset // of the log when the last flush began
	told      int          // flushes told since the last truncation
	receiving *metalog.SnapshotReceiver
	lastRead  readCache
	meter     meter // also read by others
	alone     alone
	owned     []raft.Input // made by carrying out effects, stepped before anything else

	mu    sync.Mutex
	state state
	wake  chan struct{} // to the delivering goroutine

	running  atomic.Bool
	stopped  chan struct{} // closed when Run is over
	stopOnce sync.Once
	fatal    chan error // from the other goroutines, capacity 1
}

// event is an input on its way to the machine; call is set for a Request. With
// do it is something else for the goroutine that owns the log.
type event struct {
	in   raft.Input
	call *call
	do   func() error
}

// state is what other goroutines see of the machine.
type state struct {
	role   raft.Role
	voted  kafka.BrokerID
	hw     kafka.Offset // NoOffset where unknown
	end    kafka.Offset
	quorum raft.Quorum
}

type flushResult struct {
	seq uint64
	err error
}

// readCache holds what was last read for a fetch: replicas ask for the same
// tail at about the same time.
type readCache struct {
	from, end kafka.Offset
	maxBytes  int32
	raw       []byte
}

// New opens the data directory and recovers the log. Close releases them if
// Run is never called.
func New(cfg Config) (*Client, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("raft client %d: %w", cfg.NodeID, err)
	}
	cfg.defaults()
	c := &Client{
		cfg: cfg, voter: cfg.syncs(), origin: cfg.Now(),
		inbox: make(chan event, inboxSize), flush: make(chan uint64, 1), flushed: make(chan flushResult, 1),
		drainNow: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		calls: map[uint64]*call{}, peers: map[kafka.BrokerID]*peer{}, addrs: newAddresses(cfg.ListenerName, cfg.Bootstrap), stopped: make(chan struct{}), fatal: make(chan error, 1),
	}
	c.told = maxTold // nothing was truncated
	c.alone = newAlone(cfg.NodeID, cfg.FetchTimeout)
	c.acc = newAccumulator(cfg.AppendLinger, cfg.Now, func() { signal(c.drainNow) })
	if err := c.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("raft client %d: %w", cfg.NodeID, err), c.closeFiles())
	}
	c.publish()
	return c, nil
}

// open opens the files and makes the machine from what they hold.
func (c *Client) open() error {
	logCfg := metalog.Config{FS: c.cfg.FS, SegmentBytes: c.cfg.SegmentBytes, SegmentAge: c.cfg.SegmentAge, NoSync: !c.voter, Logger: c.cfg.Logger}
	if c.cfg.Dir == "" {
		c.cfg.FS = &metalog.MemFS{}
		logCfg.FS, logCfg.Dir, logCfg.SegmentBytes = c.cfg.FS, metalog.PartitionDir, 1<<20
		c.quorum = filepath.Join(logCfg.Dir, "quorum-state")
	} else {
		var err error
		if c.dir, err = metalog.OpenDirectory(c.cfg.FS, c.cfg.Dir, c.cfg.ClusterID, c.cfg.NodeID); err != nil {
			return err
		}
		logCfg.Dir, c.quorum = c.dir.LogDir(), c.dir.QuorumStatePath()
	}
	var err error
	if c.log, err = metalog.Open(logCfg); err != nil {
		return err
	}
	p, voted, err := c.persisted()
	if err != nil {
		return err
	}
	m := c.cfg.machine()
	m.Bootstrap = c.addrs.bootstrapIDs()
	if c.dir != nil {
		m.DirectoryID = c.dir.Meta().DirectoryID
	}
	if c.machine, err = c.newMachine(m, p, logCfg.Dir); err != nil {
		return err
	}
	if !voted && c.voter && p.LogEnd > 0 {
		return c.voteUnknown(p.LogEnd)
	}
	return nil
}

// voteUnknown refuses a log without quorum-state, which was durable before its
// first record was written: only a first start has neither. Without it a voter may
// vote a second time in an epoch. The only voter there is can do no harm by that,
// and nobody else has its records.
func (c *Client) voteUnknown(end kafka.Offset) error {
	if len(c.machine.Quorum().Voters) > 1 {
		return fmt.Errorf("%s is missing, but the log beside it ends at offset %d: the node may have voted and not know it; %s", c.quorum, end, metalog.StartAnew)
	}
	c.cfg.Logger.Warn("quorum-state is missing: the node may have voted and not know it; going on, since no other node votes", "file", c.quorum, "endOffset", end)
	return nil
}

// persisted gives what the files hold; false without quorum-state.
func (c *Client) persisted() (p raft.Persisted, voted bool, err error) {
	p = raft.Persisted{
		QuorumState: raft.EmptyQuorumState(),
		LogStart:    c.log.StartOffset(), StartEpoch: c.log.StartEpoch(), LogEnd: c.log.EndOffset(),
	}
	qs, voted, err := metalog.ReadQuorumState(c.cfg.FS, c.quorum)
	if err != nil {
		return p, false, err
	}
	if voted {
		p.QuorumState = raft.QuorumState{
			LeaderID: qs.Leader, LeaderEpoch: qs.Epoch,
			VotedKey: raft.ReplicaKey{ID: qs.Voted, DirectoryID: qs.VotedDirectory},
		}
	}
	for _, e := range c.log.Epochs() {
		p.Epochs = append(p.Epochs, raft.EpochStart(e))
	}
	p.Changes = changesFromLog(c.log.QuorumChanges())
	if id, ok := c.log.LatestSnapshot(); ok {
		q, err := c.log.SnapshotQuorum(id)
		if err != nil {
			return p, false, fmt.Errorf("%w: %s", err, metalog.StartAnew)
		}
		p.Snapshot, p.Quorum = raft.SnapshotID(id), quorumFromLog(q)
	}
	return p, voted, nil
}

// Bootstrap gives the metadata records that the data directory was formatted
// with, encoded; none where no tool did.
func (c *Client) Bootstrap() ([][]byte, error) {
	if c.dir == nil {
		return nil, nil
	}
	return c.dir.Bootstrap()
}

// Append adds values, encoded metadata records, as records of one batch in the
// epoch that this node leads, and gives the last one's offset at once: they are
// neither written nor committed yet. It fails with NOT_LEADER_OR_FOLLOWER when
// the node does not lead that epoch. It waits while 80 MiB are not written yet.
// The values are the client's afterwards.
func (c *Client) Append(epoch kafka.LeaderEpoch, values [][]byte) (kafka.Offset, error) {
	return c.acc.append(epoch, values)
}

// Reserve gives the offset that the next record of epoch gets and, until release
// is called, keeps the control records of the quorum itself from it: a caller
// that decides by offsets steps and appends in between, and soon. False where
// this node does not lead that epoch.
func (c *Client) Reserve(epoch kafka.LeaderEpoch) (next kafka.Offset, release func(), ok bool) {
	next, ok = c.acc.reserved(epoch)
	return next, c.acc.release, ok
}

// Resign gives up the leadership of epoch and hands over; in any other state it
// does nothing.
func (c *Client) Resign(ctx context.Context, epoch kafka.LeaderEpoch) error {
	return c.post(ctx, raft.Resign{Epoch: epoch})
}

// maxHandover is how long a leader that shuts down waits for a successor, as
// Kafka does: the last voter of a quorum has none.
const maxHandover = 5 * time.Second

// Shutdown leaves in good order: a leader sends EndQuorumEpoch and answers
// votes until a successor is known, ctx ends or five seconds have passed. Run
// then returns nil.
func (c *Client) Shutdown(ctx context.Context) error {
	timeout := maxHandover
	if d, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(d))
	}
	if !c.running.Load() {
		return nil
	}
	if err := c.post(ctx, raft.Shutdown{Timeout: max(timeout, 0)}); err != nil {
		if errors.Is(err, ErrClosed) {
			return nil
		}
		return err
	}
	select {
	case <-c.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the raft client to stop: %w", ctx.Err())
	}
}

// Leader is who leads, as far as this node knows; it may run ahead of what the
// Listener was told.
func (c *Client) Leader() LeaderAndEpoch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return LeaderAndEpoch{Leader: c.state.role.LeaderID, Epoch: c.state.role.Epoch}
}

// HighWatermark is the end of what is known to be committed, NoOffset where
// unknown.
func (c *Client) HighWatermark() kafka.Offset {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.hw
}

// LogEndOffset is the end of the log, without what waits in the accumulator.
func (c *Client) LogEndOffset() kafka.Offset {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.end
}

// Role is where this node stands in the quorum.
func (c *Client) Role() raft.Role {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.role
}

// post hands an input to the machine.
func (c *Client) post(ctx context.Context, in raft.Input) error {
	return c.send(ctx, event{in: in})
}

func (c *Client) send(ctx context.Context, e event) error {
	select {
	case c.inbox <- e:
		return nil
	case <-c.stopped:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fail stops the client from another goroutine; the first error counts.
func (c *Client) fail(err error) {
	select {
	case c.fatal <- err:
	default:
	}
}

// Close releases the directory of a client that was never run.
func (c *Client) Close() error {
	if c.running.Load() {
		return errors.New("the raft client runs: end its context instead")
	}
	c.stopOnce.Do(func() { close(c.stopped) })
	return c.closeFiles()
}

func (c *Client) closeFiles() error {
	var errs []error
	if c.receiving != nil {
		errs = append(errs, c.receiving.Close())
	}
	if c.log != nil {
		errs = append(errs, c.log.Close())
	}
	if c.dir != nil {
		errs = append(errs, c.dir.Close())
	}
	return errors.Join(errs...)
}

// signal wakes a goroutine that waits on a channel of capacity 1.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
