package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/ibp"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// reconnectPause is how long a broker waits after it failed to get a new
// ZooKeeper session before it tries again.
const reconnectPause = time.Second

// ZooKeeperConfig is what a broker of ZooKeeper mode needs beside Config.
// Servers must be set; other zero values take Kafka's default.
type ZooKeeperConfig struct {
	Servers         []string
	SessionTimeout  time.Duration // zookeeper.session.timeout.ms, 18 s
	ConnectTimeout  time.Duration // zookeeper.connection.timeout.ms, 18 s as Kafka's server.properties has it
	MaxInFlight     int           // zookeeper.max.in.flight.requests, 10
	MaxRequestBytes int           // jute.maxbuffer of the servers; ZooKeeper's default

	// Protocol is inter.broker.protocol.version, 3.9: it decides the form of the
	// registration, the version of ControlledShutdown and AlterPartition, and
	// whether the broker itself writes the ISRs it leads and takes producer ids.
	Protocol ibp.Version

	// ControlListener is control.plane.listener.name (KIP-291), where requests to
	// the controller go but for ControlledShutdown; "" means the listener between
	// brokers.
	ControlListener string
	// ControlIdentity is how the broker shows itself there; without a
	// ControlListener it is Config.Identity.
	ControlIdentity wire.Identity

	ShutdownTries   int           // controlled.shutdown.max.retries, 3: how often it asks in all
	ShutdownBackoff time.Duration // controlled.shutdown.retry.backoff.ms, 5 s

	// Dial opens connections to ZooKeeper; nil dials TCP.
	Dial func(network, addr string, timeout time.Duration) (net.Conn, error)
	// Access is how the broker shows itself to ZooKeeper, and what it lets
	// others do with its znodes.
	Access zk.Access
}

// zkPlane is a broker's side of ZooKeeper mode: it registers in
// /brokers/ids and obeys the controller's LeaderAndIsr, StopReplica and
// UpdateMetadata requests.
type zkPlane struct {
	cfg          ZooKeeperConfig
	b            *Broker
	session      atomic.Pointer[zk.Session]
	regEpoch     atomic.Int64
	cluster      atomic.Pointer[string]
	topicConfigs configCache
	news         chan struct{} // capacity 1: a notification may have come; of the session
	shutdown     *channel      // ControlledShutdown
	isr          *isrNotes
	featureEpoch atomic.Int64 // version of an enabled /feature; -1 for none

	// mu makes the controller's requests apply one after another and guards
	// what they fence by.
	mu              sync.Mutex
	controllerEpoch kafka.ControllerEpoch // highest seen
	tracedEpoch     kafka.ControllerEpoch // highest seen in UpdateMetadata
	active          atomic.Int32          // id of the controller that spoke last
}

// ZooKeeper makes the plane of a broker that registers in ZooKeeper and obeys
// the controller of ZooKeeper mode. It belongs to one broker.
func ZooKeeper(cfg ZooKeeperConfig) Plane {
	if cfg.SessionTimeout == 0 {
		cfg.SessionTimeout = 18 * time.Second
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 18 * time.Second
	}
	if cfg.ShutdownTries <= 0 {
		cfg.ShutdownTries = 3
	}
	if cfg.ShutdownBackoff == 0 {
		cfg.ShutdownBackoff = 5 * time.Second
	}
	p := &zkPlane{cfg: cfg, isr: newISRNotes()}
	p.regEpoch.Store(int64(kafka.NoBrokerEpoch))
	p.featureEpoch.Store(-1)
	p.active.Store(int32(kafka.NoLeader))
	return p
}

func (p *zkPlane) bind(b *Broker) error {
	if len(p.cfg.Servers) == 0 {
		return errors.New("no ZooKeeper server: name at least one as host:port")
	}
	p.b, p.shutdown = b, b.newChannel("controlled-shutdown")
	// As in Kafka, whose ControlledShutdown is not among what a control-plane
	// listener is for.
	p.shutdown.where = func() (kafka.BrokerID, string, bool) { return p.controllerAt(b.listener()) }
	p.shutdown.as = func() wire.Identity { return b.cfg.Identity }
	p.isr.lastPropagate = b.cfg.Now()
	return nil
}

func (p *zkPlane) epoch() kafka.BrokerEpoch { return kafka.BrokerEpoch(p.regEpoch.Load()) }

func (p *zkPlane) clusterID() string {
	if id := p.cluster.Load(); id != nil {
		return *id
	}
	return p.b.cfg.ClusterID
}

// controller is the one whose requests came last; brokers find it among the
// live brokers, as Kafka's do.
func (p *zkPlane) controller() (kafka.BrokerID, string, bool) {
	listener := p.cfg.ControlListener
	if listener == "" {
		listener = p.b.listener()
	}
	return p.controllerAt(listener)
}

// controllerAt is where the controller has a listener.
func (p *zkPlane) controllerAt(listener string) (kafka.BrokerID, string, bool) {
	id := kafka.BrokerID(p.active.Load())
	if id < 0 {
		return id, "", false
	}
	addr, ok := p.b.addressAt(id, listener)
	return id, addr, ok
}

func (p *zkPlane) identity() wire.Identity {
	if p.cfg.ControlListener == "" {
		return p.b.cfg.Identity
	}
	return p.cfg.ControlIdentity
}

func (p *zkPlane) controllerID(img *metadata.Image) kafka.BrokerID {
	id := kafka.BrokerID(p.active.Load())
	if _, ok := img.Broker(id); !ok {
		return kafka.NoLeader
	}
	return id
}

// run holds a session with the registration in it until ctx ends. After an
// expiry it begins a new one, for as long as that takes, as Kafka does, also
// where the session expired before the broker was registered in it.
func (p *zkPlane) run(ctx context.Context) error {
	if p.writesISR() {
		p.b.wg.Go(func() { p.propagateISR(ctx) })
	}
	var previous int64
	for first := true; ; {
		s, err := p.register(ctx, previous)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil && (first && !zk.IsDead(err) || errors.Is(err, zk.ErrAuthFailed)):
			return err
		case err != nil:
			p.b.log.Warn("no new ZooKeeper session yet", "reason", err)
			if !pause(ctx, reconnectPause) {
				return nil
			}
			continue
		}
		previous, first = s.ID(), false
		p.hold(ctx, s)
		p.session.Store(nil)
		if ctx.Err() != nil {
			if err := p.close(s); err != nil { // ZooKeeper is away: it will expire the session
				p.b.log.Warn("the registration may outlive the broker by the session's time-out", "reason", err)
			}
			return nil
		}
		p.b.wg.Go(func() { _ = p.close(s) }) // it is dead already: this ends its goroutines
		p.b.log.Warn("ZooKeeper session lost, registering again", "session", fmt.Sprintf("0x%x", uint64(previous)), "reason", s.Err())
	}
}

// close ends the session, so that the registration goes at once.
func (p *zkPlane) close(s *zk.Session) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.cfg.SessionTimeout)
	defer cancel()
	return s.Close(ctx)
}

// register opens a session and registers the broker in it.
func (p *zkPlane) register(ctx context.Context, previous int64) (*zk.Session, error) {
	changes := make(chan struct{}, 1)
	s, err := zk.Connect(ctx, zk.Config{
		Servers: p.cfg.Servers, SessionTimeout: p.cfg.SessionTimeout, ConnectTimeout: p.cfg.ConnectTimeout, MaxInFlight: p.cfg.MaxInFlight,
		MaxRequestBytes: p.cfg.MaxRequestBytes, PreviousSession: previous, Dial: p.cfg.Dial, Logger: p.b.log,
		Access: p.cfg.Access,
		OnEvent: func(e zk.Event) {
			if e.Path != "" || e.Kind == zk.Reconnected { // only notifications and features are watched
				select {
				case changes <- struct{}{}:
				default:
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if err = p.prepare(ctx, s); err == nil {
		// What clients ask for needs the session: whoever sees the registration may
		// ask at once.
		p.session.Store(s)
		err = p.claim(ctx, s)
	}
	if err != nil {
		p.session.Store(nil)
		return nil, errors.Join(err, p.close(s))
	}
	p.topicConfigs.begin()
	p.news = changes
	return s, nil
}

// prepare makes the roots and learns the cluster's id.
func (p *zkPlane) prepare(ctx context.Context, s *zk.Session) error {
	if err := errors.Join(s.EnsurePersistentPaths(ctx), s.EnsureAccessPaths(ctx)); err != nil {
		return err
	}
	candidate, err := kafka.ParseUUID(p.b.cfg.ClusterID)
	if err != nil {
		candidate = randomUUID()
	}
	id, err := s.ClusterID(ctx, candidate)
	if err != nil {
		return err
	}
	p.cluster.Store(&id)
	if err := p.b.openDirs(id); err != nil {
		return err
	}
	// Before others learn of this broker: they must be able to log in. It is
	// read again when the watches are armed.
	return p.loadAccess(ctx, s)
}

// claim creates the broker's znode. Where a killed predecessor's session still
// holds it, it waits until that expires; where the owner does not go away in
// time, another broker runs under this id.
func (p *zkPlane) claim(ctx context.Context, s *zk.Session) error {
	reg := p.registration()
	began := p.b.cfg.Now()
	most := 2*p.cfg.SessionTimeout + 5*time.Second // servers expire sessions in steps of a tick
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for { // each turn is another owner; ctx bounds them
		epoch, err := s.RegisterBroker(ctx, reg)
		var owned *zk.OwnedError
		if errors.As(err, &owned) {
			p.b.log.Warn("broker id is still registered: waiting until its owner's session expires",
				"znode", owned.Path, "owner", fmt.Sprintf("0x%x", uint64(owned.Owner)), "atMost", most-p.b.cfg.Now().Sub(began))
			if err := s.WaitDeleted(ctx, owned.Path); err != nil {
				return fmt.Errorf("broker id %d is held by ZooKeeper session 0x%x, not expired after %v: stop the other broker of this id: %w",
					reg.ID, uint64(owned.Owner), p.b.cfg.Now().Sub(began).Round(time.Millisecond), err)
			}
			continue
		}
		if err != nil {
			return err
		}
		p.regEpoch.Store(int64(epoch))
		p.b.nowRegistered()
		waited := p.b.cfg.Now().Sub(began)
		p.b.log.Info("registered", "epoch", int64(epoch), "session", fmt.Sprintf("0x%x", uint64(s.ID())), "waited", waited)
		p.b.cfg.Trace.Emit(trace.Event{Kind: trace.BrokerRegistered, Broker: int32(reg.ID), N: int64(waited), Detail: "zk; n is the wait for the znode in ns"})
		return nil
	}
}

func (p *zkPlane) registration() zk.BrokerRegistration {
	protocols := map[string]string{}
	for _, e := range p.b.cfg.Endpoints {
		protocols[e.Listener] = p.b.cfg.Protocols[e.Listener].String()
	}
	return zk.BrokerRegistration{
		Protocols: protocols,
		ID:        p.b.cfg.ID, Version: p.cfg.Protocol.BrokerNode(), Endpoints: p.b.cfg.Endpoints, Rack: p.b.cfg.Rack,
		JMXPort: -1, TimestampMs: p.b.cfg.Now().UnixMilli(),
	}
}

// hold keeps what the broker has of configuration, ACLs and tokens up to date,
// until the session dies or ctx ends.
func (p *zkPlane) hold(ctx context.Context, s *zk.Session) {
	queues := p.queues()
	for _, q := range queues {
		q.begin()
		s.WatchChildren(q.path)
	}
	s.Watch(zk.FeaturePath)
	warn := func(err error) {
		if err != nil && ctx.Err() == nil && s.Err() == nil {
			p.b.log.Warn("changes in ZooKeeper not read", "reason", err)
		}
	}
	tokens := time.NewTicker(admin.TokenCheck)
	defer tokens.Stop()
	for loaded := false; ; {
		for _, q := range queues {
			warn(q.catchUp(ctx, s, p.b.cfg.Now().UnixMilli()))
		}
		warn(p.loadFeatures(ctx, s))
		if !loaded { // after the watches are armed, so that nothing is missed
			err := p.loadAccess(ctx, s)
			warn(err)
			loaded = err == nil
		}
		select {
		case <-p.news:
		case <-tokens.C:
			warn(p.expireTokens(ctx))
		case <-s.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

func (p *zkPlane) apis() []wire.API {
	return append(p.fallbacks(), []wire.API{
		{Key: 4, MinVersion: 0, MaxVersion: 7, Handle: p.handleLeaderAndISR},
		{Key: 5, MinVersion: 0, MaxVersion: 4, Handle: p.handleStopReplica},
		{Key: 6, MinVersion: 0, MaxVersion: 8, Handle: p.handleUpdateMetadata},
		{Key: 30, MinVersion: 0, MaxVersion: 3, Handle: p.handleCreateACLs},
		{Key: 31, MinVersion: 0, MaxVersion: 3, Handle: p.handleDeleteACLs},
		{Key: 33, MinVersion: 0, MaxVersion: 2, Handle: p.handleAlterConfigs},
		{Key: 38, MinVersion: 1, MaxVersion: 3, Handle: p.handleCreateDelegationToken},
		{Key: 39, MinVersion: 1, MaxVersion: 2, Handle: p.handleRenewDelegationToken},
		{Key: 40, MinVersion: 1, MaxVersion: 2, Handle: p.handleExpireDelegationToken},
		{Key: 44, MinVersion: 0, MaxVersion: 1, Handle: p.handleIncrementalAlterConfigs},
		{Key: 49, MinVersion: 0, MaxVersion: 1, Handle: p.handleAlterClientQuotas},
		{Key: 51, MinVersion: 0, MaxVersion: 0, Handle: p.handleAlterUserSCRAMCredentials},
	}...)
}

// awaitRegistration holds a request of a controller until the broker has an
// epoch to judge it by, as Kafka's brokers do, which register before they handle
// requests: one that a former broker of this id was meant to get must not be
// obeyed, and one to this broker may be faster than the answer to its
// registration. Where that takes too long the connection ends, and the
// controller sends the request again.
func (p *zkPlane) awaitRegistration(ctx context.Context) error {
	select {
	case <-p.b.registered:
		return nil
	default:
	}
	wire.Park(ctx)
	ctx, cancel := context.WithTimeout(ctx, p.b.cfg.RequestTimeout)
	defer cancel()
	select {
	case <-p.b.registered:
		return nil
	case <-p.b.done:
		return errors.New("the broker has stopped before it was registered")
	case <-ctx.Done():
		return fmt.Errorf("the broker is not registered yet: %w", ctx.Err())
	}
}

// fence checks what every request of a controller must pass, and remembers the
// sender. The caller holds mu, after awaitRegistration.
func (p *zkPlane) fence(controller int32, epoch int32, brokerEpoch int64) kafka.ErrorCode {
	if brokerEpoch != int64(kafka.NoBrokerEpoch) && brokerEpoch < p.regEpoch.Load() {
		return kafka.StaleBrokerEpoch
	}
	if kafka.ControllerEpoch(epoch) < p.controllerEpoch {
		return kafka.StaleControllerEpoch
	}
	p.controllerEpoch = kafka.ControllerEpoch(epoch)
	p.active.Store(controller)
	return kafka.None
}
