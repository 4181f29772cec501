package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"kbench/broker"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/kafka/guard"
	"kbench/kafka/ibp"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raftclient"
	"kbench/zkcontroller"
)

// closeTimeout bounds the close of a listener's connections.
const closeTimeout = 5 * time.Second

// brokersPart is the brokers of a process, and the candidates among them.
type brokersPart struct {
	brokers    []*broker.Broker
	servers    []brokerServer
	candidates []*zkcontroller.Controller
}

// server is a wire.Server with the listener it serves.
type server struct {
	*wire.Server
	ln net.Listener
}

// brokerServer is one of the listeners of a broker.
type brokerServer struct {
	*server
	of *broker.Broker
}

func newServer(host string, port uint16, cfg wire.ServerConfig) (*server, error) {
	s, err := wire.NewServer(cfg)
	if err != nil {
		return nil, err
	}
	ln, err := listen(host, port)
	if err != nil {
		return nil, err
	}
	return &server{s, ln}, nil
}

func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return s.Close(ctx)
}

func (p *process) newBrokers() (part, error) {
	out := &brokersPart{}
	for _, b := range p.cfg.Brokers {
		if err := p.addBroker(out, b); err != nil {
			for _, s := range out.servers {
				_ = s.ln.Close()
			}
			return nil, fmt.Errorf("broker %d: %w", b.ID, err)
		}
	}
	if len(out.brokers) == 1 { // names are those of a process that is one broker, as Kafka's is
		maps.Copy(p.gauges, out.brokers[0].Gauges())
	}
	return out, nil
}

func (p *process) addBroker(out *brokersPart, b nodeconfig.Broker) error {
	endpoints, protocols := p.endpoints(b)
	cfg := broker.Config{
		ID: b.ID, ClusterID: p.cfg.ClusterID, Rack: b.Rack,
		Endpoints: endpoints, Protocols: protocols, Identity: p.secure.identity(p.cfg.Security.BrokerListener()),
		TokenSecret:   p.cfg.Security.TokenSecret,
		DataDir:       filepath.Join(p.cfg.DataDir, fmt.Sprintf("broker-%d", b.ID)),
		LogDirs:       p.logDirs(b),
		ReplicaLagMax: p.cfg.Timers.ReplicaLagMax.D(),
		Trace:         p.trace, Logger: p.log,
	}
	if b.Candidate {
		c, err := p.newCandidate(b.ID)
		if err != nil {
			return err
		}
		cfg.ControllerAPIs = c.APIs()
		out.candidates = append(out.candidates, c)
	}
	made, err := broker.New(cfg, p.plane())
	if err != nil {
		return err
	}
	apis := guard.OverImage(p.secure.authorizer(), made.Image, p.ready(made)).Wrap(made.APIs())
	data, err := wire.NewRequestChannel(wire.DefaultIOThreads, wire.DefaultQueuedRequests)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		cfg := wire.ServerConfig{APIs: apis, Features: made.Features, Listener: e.Listener, Logger: p.log, Requests: data}
		if e.Listener == p.cfg.Security.ControlPlane {
			if err := controlPlane(&cfg); err != nil {
				return err
			}
		}
		p.secure.secure(&cfg, made.Image)
		s, err := newServer(e.Host, e.Port, cfg)
		if err != nil {
			return err
		}
		out.servers = append(out.servers, brokerServer{s, made})
	}
	out.brokers = append(out.brokers, made)
	return nil
}

// controlPlane gives a listener a queue, a network thread and a handler of its
// own (KIP-291).
func controlPlane(cfg *wire.ServerConfig) (err error) {
	cfg.NetworkThreads = 1
	cfg.Requests, err = wire.NewRequestChannel(1, wire.ControlPlaneQueuedRequests)
	return err
}

// endpoints are a broker's listeners, that between brokers first, and their
// protocols.
func (p *process) endpoints(b nodeconfig.Broker) ([]kafka.Endpoint, map[string]kafka.SecurityProtocol) {
	out := []kafka.Endpoint{{Listener: p.cfg.Security.BrokerListener(), Host: b.Host, Port: b.Port}}
	for _, e := range b.Listeners {
		out = append(out, kafka.Endpoint{Listener: e.Name, Host: b.Host, Port: e.Port})
	}
	protocols := map[string]kafka.SecurityProtocol{}
	for _, e := range out {
		protocols[e.Listener] = p.secure.protocol(e.Listener)
	}
	return out, protocols
}

// ready says when a broker has the ACLs: those of ZooKeeper before it registers,
// those of the log with its first image.
func (p *process) ready(b *broker.Broker) func() bool {
	if p.cfg.Mode == nodeconfig.ModeKRaft {
		return func() bool { return b.Image().Offset() != kafka.NoOffset }
	}
	return func() bool { return b.Epoch() != kafka.NoBrokerEpoch }
}

func (p *process) plane() broker.Plane {
	t := p.cfg.Timers
	if p.cfg.Mode == nodeconfig.ModeKRaft {
		return broker.KRaft(broker.KRaftConfig{
			Voters: p.voters(), Bootstrap: p.cfg.Quorum.Bootstrap, Heartbeat: t.BrokerHeartbeat.D(),
			FetchTimeout: t.FetchTimeout.D(), DisableHWPush: p.cfg.Tuning.NoHWPush,
			SnapshotBytes: p.cfg.Tuning.SnapshotBytes,
			Identity:      p.secure.identity(nodeconfig.ControllerListener),
		})
	}
	dial, as := p.secure.zookeeper()
	control := p.cfg.Security.ControlPlane
	return broker.ZooKeeper(broker.ZooKeeperConfig{
		Dial: dial, Access: as, ControlListener: control, ControlIdentity: p.secure.identity(control),
		Servers: p.cfg.ZooKeeper.Servers, SessionTimeout: p.cfg.ZooKeeper.SessionTimeout.D(),
		MaxInFlight: p.cfg.Tuning.ZKMaxInFlight, Protocol: p.protocol(), ShutdownBackoff: t.ControlledShutdownBackoff.D(),
	})
}

func (p *process) voters() []raftclient.Voter {
	out := make([]raftclient.Voter, len(p.cfg.Quorum.Voters))
	for i, v := range p.cfg.Quorum.Voters {
		out[i] = raftclient.Voter{ID: v.ID, Host: v.Host, Port: v.Port}
	}
	return out
}

// protocol is the inter-broker protocol, which the configuration's Check has
// accepted; none is the newest.
func (p *process) protocol() ibp.Version {
	v, _ := ibp.Parse(p.cfg.Tuning.ZKProtocol)
	return v
}

func (p *process) newCandidate(id kafka.BrokerID) (*zkcontroller.Controller, error) {
	z, t := p.cfg.ZooKeeper, p.cfg.Tuning
	changes := ""
	if t.ZKStateChangeLog {
		changes = filepath.Join(p.cfg.DataDir, fmt.Sprintf("state-change-%d.log", id))
	}
	dial, as := p.secure.zookeeper()
	listener := p.cfg.Security.BrokerListener()
	control := cmp.Or(p.cfg.Security.ControlPlane, listener)
	return zkcontroller.New(zkcontroller.Config{
		DialZooKeeper: dial, Access: as, Identity: p.secure.identity(control),
		ID: id, Servers: z.Servers, Dedicated: z.Dedicated, SessionTimeout: z.SessionTimeout.D(),
		MaxInFlight: t.ZKMaxInFlight, UnfencedWrites: t.ZKUnfencedWrites, PerPartition: t.ZKPerPartitionRequest,
		StatesPerMulti: t.ZKStatesPerMulti,
		NoBrokerEpochs: t.ZKNoBrokerEpochs, FullMetadata: t.ZKFullMetadata, StateChangeLog: changes, Protocol: p.protocol(),
		Listener: listener, ControlListener: control, Trace: p.trace, Logger: p.log,
		NoRebalance: !t.AutoLeaderRebalance, RebalanceInterval: t.LeaderImbalanceInterval.D(), ImbalancePercent: t.LeaderImbalancePercent,
	})
}

// run serves until ctx ends or any part of the process fails.
func (b *brokersPart) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range b.servers {
		g.Go(func() error {
			select {
			case <-s.of.Registered(): // connections wait to be accepted until then
			case <-ctx.Done():
			}
			return s.Serve(s.ln)
		})
	}
	for _, one := range b.brokers {
		g.Go(func() error { return one.Run(ctx) })
	}
	for _, c := range b.candidates {
		g.Go(func() error { return c.Run(ctx) })
	}
	g.Go(func() error {
		<-ctx.Done()
		return b.closeServers()
	})
	return g.Wait()
}

// shutdown leaves as Kafka's brokers do: leaderships are moved away while the
// process serves; run ends afterwards.
func (b *brokersPart) shutdown(ctx context.Context) error {
	var g errgroup.Group
	for _, one := range b.brokers {
		g.Go(func() error { return one.Shutdown(ctx) })
	}
	return g.Wait()
}

func (b *brokersPart) closeServers() error {
	var errs []error
	for _, s := range b.servers {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
