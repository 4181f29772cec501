package node

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/guard"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/kraftcontroller"
	"kbench/kraftcontroller/etcdraft"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/raftclient"
)

// controllerPart is a voter of the quorum on its own listener.
type controllerPart struct {
	controller *kraftcontroller.Controller
	server     *server
}

func (p *process) newController() (part, error) {
	self, ok := voterOf(p.cfg.Quorum)
	if q := p.cfg.Quorum; q.Dynamic() {
		self, ok = nodeconfig.Voter{ID: q.NodeID, Host: q.Host, Port: q.Port}, true
	}
	if !ok {
		return nil, fmt.Errorf("controller %d is not among the voters", p.cfg.Quorum.NodeID)
	}
	cc, push := p.controllerConfig(self), (*etcdraft.Push)(nil)
	if p.cfg.Tuning.RaftPush {
		push = etcdraft.New()
		cc.Raft.Algorithm = push
	}
	c, err := kraftcontroller.New(cc)
	if err != nil {
		return nil, err
	}
	maps.Copy(p.gauges, c.Gauges())
	sc := wire.ServerConfig{APIs: c.APIs(), Features: c.Features, Listener: raftclient.ControllerListener, Logger: p.log}
	image := func() *metadata.Image { return c.View().Image }
	p.secure.secure(&sc, image)
	s, err := newServer(self.Host, self.Port, sc)
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("controller %d: %w", self.ID, err)
	}
	if push != nil {
		s.ln = push.Listener(s.ln, etcdraft.Gate{TLS: sc.TLS, Admit: p.admitVoter(image)})
	}
	return &controllerPart{controller: c, server: s}, nil
}

// admitVoter judges who may speak as a voter, as the quorum's requests are judged
// where voters fetch.
func (p *process) admitVoter(image func() *metadata.Image) func(string, net.Addr) bool {
	g := guard.OverImage(p.secure.authorizer(), image, func() bool { return image().Offset() != kafka.NoOffset })
	return func(principal string, from net.Addr) bool {
		host, _, _ := net.SplitHostPort(from.String()) // none is no host that a rule names
		return g.Authorizer().Allows(access.Action{
			Principal: principal, Host: host, Operation: access.ClusterAction, ResourceType: access.Cluster, ResourceName: access.ClusterName,
		})
	}
}

func voterOf(q nodeconfig.Quorum) (nodeconfig.Voter, bool) {
	for _, v := range q.Voters {
		if v.ID == q.NodeID {
			return v, true
		}
	}
	return nodeconfig.Voter{}, false
}

func (p *process) controllerConfig(self nodeconfig.Voter) kraftcontroller.Config {
	t, k := p.cfg.Timers, p.cfg.Tuning
	version, first := beginning(k.MetadataVersion)
	return kraftcontroller.Config{
		Raft: raftclient.Config{
			NodeID: self.ID, ClusterID: p.cfg.ClusterID, Voters: p.voters(),
			Controller: true, AutoJoin: p.cfg.Quorum.AutoJoin, Bootstrap: p.cfg.Quorum.Bootstrap,
			Endpoints:    []kafka.Endpoint{{Listener: raftclient.ControllerListener, Host: self.Host, Port: self.Port}},
			Dir:          filepath.Join(p.cfg.DataDir, nodeconfig.MetadataDir),
			FS:           p.metalogFS(),
			AppendLinger: orDefault(k.AppendLinger, raftclient.DefaultAppendLinger),
			FetchTimeout: t.FetchTimeout.D(), ElectionTimeout: t.ElectionTimeout.D(),
			ElectionBackoffMax: t.ElectionBackoffMax.D(),
			DisableHWPush:      k.NoHWPush, DisablePreVote: k.NoPreVote,
			Identity: p.secure.identity(raftclient.ControllerListener), Protocol: p.secure.protocol(raftclient.ControllerListener),
			Logger: p.log, Trace: p.trace,
		},
		Machine: machine.Config{
			ClusterID: p.cfg.ClusterID, SessionTimeout: t.BrokerSession.D(),
			NoOpInterval: noOpInterval(k.NoOpInterval), TokenSecret: p.cfg.Security.TokenSecret,
			LeaderBalanceInterval: leaderBalance(k),
			MetadataVersion:       version, Bootstrap: first,
		},
		Authorizer:    p.secure.authorizer(),
		SnapshotBytes: k.SnapshotBytes,
	}
}

// beginning is what an empty log is given at a metadata.version: the levels that
// its release finalizes. Without one it is the machine's default alone. The
// configuration was checked.
func beginning(name string) (metadata.MetadataVersion, []metadata.Record) {
	if name == "" {
		return 0, nil
	}
	v, _ := metadata.ParseMetadataVersion(name)
	return v, v.LevelRecords(v.ReleaseLevels())
}

// orDefault resolves a setting for which zero is a value.
func orDefault(d *nodeconfig.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.D()
}

// leaderBalance gives the time between two passes of the leader balancer, 0 for
// none.
func leaderBalance(t nodeconfig.Tuning) time.Duration {
	if !t.AutoLeaderRebalance {
		return 0
	}
	return cmp.Or(t.LeaderImbalanceInterval.D(), machine.DefaultLeaderBalanceInterval)
}

// noOpInterval turns an interval of 0, which writes none, into the machine's
// negative one.
func noOpInterval(d *nodeconfig.Duration) time.Duration {
	if v := orDefault(d, machine.DefaultNoOpInterval); v != 0 {
		return v
	}
	return -1
}

func (c *controllerPart) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.server.Serve(c.server.ln) })
	g.Go(func() error { return c.controller.Run(ctx) })
	g.Go(func() error {
		<-ctx.Done()
		return c.server.close()
	})
	return g.Wait()
}

// shutdown hands the leadership over with EndQuorumEpoch, where there is one
// to take it.
func (c *controllerPart) shutdown(ctx context.Context) error { return c.controller.Shutdown(ctx) }
