package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"kbench/broker/replica"
	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// Plane is how a broker learns metadata and meets its controller. ZooKeeper
// and KRaft make the two that there are.
type Plane interface {
	// bind ties the plane to its broker, before anything else.
	bind(b *Broker) error
	// apis are the requests that only this mode serves.
	apis() []wire.API
	// run registers the broker and follows the metadata until ctx ends.
	run(ctx context.Context) error
	// leave asks the controller to move leaderships away (controlled shutdown)
	// until it grants, refuses for good, or ctx ends.
	leave(ctx context.Context) error
	// controller is where requests to the controller go now.
	controller() (kafka.BrokerID, string, bool)
	// identity is how the broker shows itself to the controller.
	identity() wire.Identity
	// controllerID is what Metadata tells clients of the controller.
	controllerID(img *metadata.Image) kafka.BrokerID
	// epoch is that of the broker's registration.
	epoch() kafka.BrokerEpoch
	// clusterID names the cluster; "" until it is known.
	clusterID() string
	// configs gives what is set for a resource; the map is the caller's.
	configs(ctx context.Context, r metadata.ConfigResource) (map[string]string, error)
	// topicDef defines the configurations that topics have in this mode.
	topicDef() *admin.ConfigDef
	// topicConfig is configs for a topic on the produce path: cached, and nil
	// where it cannot be had.
	topicConfig(ctx context.Context, topic string) map[string]string
	// logDirFailed tells the controller that a log directory failed, for as long as
	// that takes or until ctx ends.
	logDirFailed(ctx context.Context)
}

// Broker is one broker. Make it with New.
type Broker struct {
	cfg      Config
	log      *slog.Logger
	plane    Plane
	replicas *replica.Manager
	image    atomic.Pointer[metadata.Image]
	changed  notifier // fires when image changes
	began    time.Time

	registered     chan struct{} // closed by the first registration
	registeredOnce sync.Once

	alter     *channel // AlterPartition
	acked     acked    // what of its answers was traced
	producers producerIDs
	dirs      logDirs

	mu       sync.Mutex
	channels []*channel
	ctx      context.Context // of Run; nil before
	cancel   context.CancelFunc
	waiting  []*replica.Fetcher // fetchers born before Run
	dead     error              // why the broker ends by itself
	ending   bool               // Run joins what there is and starts no more
	wg       sync.WaitGroup
	done     chan struct{} // closed when Run returned
}

// New makes a broker that does nothing until Run. The plane belongs to it.
func New(cfg Config, plane Plane) (*Broker, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	b := &Broker{
		cfg: cfg, plane: plane, log: cfg.Logger.With("broker", int32(cfg.ID)),
		began: cfg.Now(), registered: make(chan struct{}), done: make(chan struct{}),
	}
	b.image.Store(metadata.Empty())
	b.replicas = replica.NewManager(replica.Config{
		Self: cfg.ID, LagMax: cfg.ReplicaLagMax, FetchBackoff: cfg.FetchBackoff, OnFetcher: b.startFetcher,
		Dirs: len(cfg.LogDirs),
	})
	b.dirs.init(cfg.LogDirs)
	b.alter = b.newChannel("alter-partition")
	b.producers.init(b)
	if err := plane.bind(b); err != nil {
		return nil, fmt.Errorf("broker %d: %w", cfg.ID, err)
	}
	return b, nil
}

// Run registers the broker and serves until ctx ends, Shutdown is called, or
// the broker cannot go on; the error is nil in the first two cases. It may be
// called once, when the listener is bound already.
func (b *Broker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.mu.Lock()
	if b.ctx != nil {
		b.mu.Unlock()
		return fmt.Errorf("broker %d: Run was called before", b.cfg.ID)
	}
	b.ctx, b.cancel = ctx, cancel
	waiting := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	defer close(b.done)
	for _, f := range waiting {
		b.startFetcher(f)
	}
	b.wg.Go(func() { b.runAlter(ctx) })
	b.wg.Go(func() { b.runLagCheck(ctx) })
	if len(b.cfg.LogDirs) > 0 {
		b.wg.Go(func() { b.runCheckpoints(ctx) })
	}
	err := b.plane.run(ctx)
	cancel()
	b.mu.Lock()
	b.ending = true
	b.mu.Unlock()
	b.wg.Wait()
	b.closeChannels()
	b.closeDirs()
	if b.dead != nil {
		err = b.dead
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("broker %d: %w", b.cfg.ID, err)
	}
	return nil
}

// die ends Run with an error.
func (b *Broker) die(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead = err
	b.cancel()
}

// Shutdown leaves in a controlled way and then ends Run, which it waits for.
// The error says why the controller did not grant the leave; the broker stops
// all the same. ctx bounds the whole.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.mu.Lock()
	running, cancel := b.ctx != nil, b.cancel
	b.mu.Unlock()
	if !running {
		return nil
	}
	leaving, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(b.ctx, stop)() // the broker died meanwhile
	err := b.plane.leave(leaving)
	cancel()
	select {
	case <-b.done:
	case <-ctx.Done():
		err = errors.Join(err, fmt.Errorf("wait for the broker's goroutines: %w", ctx.Err()))
	}
	if err != nil {
		return fmt.Errorf("controlled shutdown of broker %d: %w", b.cfg.ID, err)
	}
	return nil
}

// ID is the broker's id.
func (b *Broker) ID() kafka.BrokerID { return b.cfg.ID }

// Image is the metadata that the broker serves now. It is immutable.
func (b *Broker) Image() *metadata.Image { return b.image.Load() }

// Changed gives a channel that is closed when the image changes next.
func (b *Broker) Changed() <-chan struct{} { return b.changed.next() }

// Epoch is the epoch of the broker's registration, kafka.NoBrokerEpoch before.
func (b *Broker) Epoch() kafka.BrokerEpoch { return b.plane.epoch() }

// Registered gives a channel that is closed once the broker is registered. No
// request is to be served before, as Kafka has it: where it was killed and is back
// before that was noticed, metadata still shows its last incarnation leading.
func (b *Broker) Registered() <-chan struct{} { return b.registered }

func (b *Broker) nowRegistered() { b.registeredOnce.Do(func() { close(b.registered) }) }

// Replicas gives totals of what the broker leads and holds.
func (b *Broker) Replicas() replica.Counts { return b.replicas.Counts() }

// Replica gives the state of one replica held here.
func (b *Broker) Replica(tp kafka.TopicPartition) (replica.Info, bool) { return b.replicas.Info(tp) }

// now is the time for the replica manager, in ns since the broker was made
// plus an hour, so that a zero time is long ago.
func (b *Broker) now() int64 { return int64(b.cfg.Now().Sub(b.began) + time.Hour) }

// publish makes img what the broker serves.
func (b *Broker) publish(img *metadata.Image) {
	b.image.Store(img)
	b.changed.notify()
}

// eligible tells whether a broker may join an ISR, and its epoch.
func (b *Broker) eligible(id kafka.BrokerID) (kafka.BrokerEpoch, bool) {
	if id == b.cfg.ID {
		return b.plane.epoch(), true
	}
	reg, ok := b.Image().Broker(id)
	if !ok {
		return kafka.NoBrokerEpoch, false
	}
	return reg.Epoch, reg.Active()
}

// runLagCheck shrinks ISRs by followers that fell behind, looking as often as
// Kafka does.
func (b *Broker) runLagCheck(ctx context.Context) {
	t := time.NewTicker(max(b.cfg.ReplicaLagMax/2, time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-t.C:
			b.replicas.CheckLag(b.now())
		case <-ctx.Done():
			return
		}
	}
}

// listener is the name of the listener between brokers.
func (b *Broker) listener() string { return b.cfg.Endpoints[0].Listener }

// addressOf finds where another broker listens for brokers.
func (b *Broker) addressOf(id kafka.BrokerID) (string, bool) {
	return b.addressAt(id, b.listener())
}

// addressAt finds where another broker has a listener.
func (b *Broker) addressAt(id kafka.BrokerID, listener string) (string, bool) {
	reg, ok := b.Image().Broker(id)
	if !ok {
		return "", false
	}
	e, ok := reg.Endpoint(listener)
	return e.Addr(), ok
}

// pause waits d, or until ctx ends, and reports which.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// notifier closes its channel at each change.
type notifier struct {
	mu sync.Mutex
	ch chan struct{}
}

func (n *notifier) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch == nil {
		n.ch = make(chan struct{})
	}
	return n.ch
}

func (n *notifier) notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch != nil {
		close(n.ch)
		n.ch = nil
	}
}
