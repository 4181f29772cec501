package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raftclient"
	"kbench/kraftcontroller/snapshots"
)

// forwarders bounds the admin requests that one broker has at the controller
// at a time; each holds a connection, since a connection answers in order.
const forwarders = 8

// KRaftConfig is what a broker of KRaft mode needs beside Config. Voters or
// Bootstrap must be set; other zero values take Kafka's default.
type KRaftConfig struct {
	Voters []raftclient.Voter // controller.quorum.voters: a static quorum
	// Bootstrap are servers, host:port, that know who leads a quorum whose
	// voters are those of its log (controller.quorum.bootstrap.servers).
	Bootstrap []string

	Heartbeat           time.Duration // broker.heartbeat.interval.ms, 2 s
	RegistrationTimeout time.Duration // initial.broker.registration.timeout.ms, 60 s
	ShutdownTimeout     time.Duration // how long to wait for the grant to leave, 5 min

	FetchTimeout   time.Duration // controller.quorum.fetch.timeout.ms, 2 s
	RequestTimeout time.Duration // controller.quorum.request.timeout.ms, 2 s
	DisableHWPush  bool          // Kafka before 4.1 (KIP-1166)
	// MetadataInMemory keeps the metadata log in memory, and no more of it than
	// was not applied yet; otherwise it is in Config.DataDir where that is set.
	MetadataInMemory bool
	// A metadata log on a disk gets snapshots as a controller's does, and is then
	// cut. 0 means Kafka's in each.
	SnapshotBytes  int64  // metadata.log.max.record.bytes.between.snapshots, 20 MiB
	SegmentBytes   int64  // metadata.log.segment.bytes
	RetentionBytes int64  // metadata.max.retention.bytes, 100 MiB
	Seed           uint64 // of the raft client's timeouts; 0 draws one

	// Dial opens connections to voters; nil dials TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Identity is how the broker shows itself at the controllers' listener.
	Identity wire.Identity
}

// kraftPlane is a broker's side of KRaft mode: an observer of the metadata
// log, registered and heartbeating at the quorum's leader.
type kraftPlane struct {
	cfg         KRaftConfig
	b           *Broker
	client      *raftclient.Client
	publisher   *publisher
	snapshots   *snapshots.Generator // nil where the metadata log is in memory
	applied     applied
	incarnation kafka.UUID

	regEpoch atomic.Int64
	leader   atomic.Pointer[raftclient.LeaderAndEpoch]
	word     atomic.Pointer[word] // nil without one
	moved    notifier             // fires when leader changes

	lifecycle *channel // registration and heartbeats
	assigning *channel // AssignReplicasToDirs
	assign    assignments
	dirFailed chan struct{} // capacity 1: a heartbeat is due that tells of it
	refresh   chan struct{} // capacity 1: the registration must be made again
	forward   chan *channel

	leaveOnce sync.Once
	leaving   chan struct{} // closed when the broker wants to leave
	granted   chan struct{} // closed when it may
}

// KRaft makes the plane of a broker that observes a KRaft quorum. It belongs
// to one broker.
func KRaft(cfg KRaftConfig) Plane {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&cfg.Heartbeat, 2 * time.Second},
		{&cfg.RegistrationTimeout, time.Minute},
		{&cfg.ShutdownTimeout, 5 * time.Minute},
	} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	p := &kraftPlane{
		cfg: cfg, incarnation: randomUUID(), forward: make(chan *channel, forwarders),
		leaving: make(chan struct{}), granted: make(chan struct{}), dirFailed: make(chan struct{}, 1), refresh: make(chan struct{}, 1),
		assign: assignments{queued: map[replicaRef]kafka.UUID{}, wake: make(chan struct{}, 1)},
	}
	p.regEpoch.Store(int64(kafka.NoBrokerEpoch))
	p.applied.offset.Store(int64(kafka.NoOffset))
	p.leader.Store(&raftclient.LeaderAndEpoch{Leader: kafka.NoLeader, Epoch: kafka.NoEpoch})
	return p
}

func (p *kraftPlane) bind(b *Broker) error {
	p.b = b
	if len(p.cfg.Voters) == 0 && len(p.cfg.Bootstrap) == 0 {
		return errors.New("no voter and no bootstrap server: name the controllers of the quorum, or some of them")
	}
	for _, v := range p.cfg.Voters {
		if v.ID == b.cfg.ID {
			return fmt.Errorf("id %d is that of a controller: give the broker another", b.cfg.ID)
		}
	}
	if b.cfg.ClusterID == "" {
		return errors.New("no cluster id: give that of the quorum")
	}
	p.publisher = newPublisher(p)
	p.lifecycle, p.assigning = b.newChannel("heartbeat"), b.newChannel("assign-replicas")
	for range forwarders {
		p.forward <- b.newChannel("forward")
	}
	dial := p.cfg.Dial
	if dial == nil {
		dial = b.cfg.Dial
	}
	rc := raftclient.Config{
		NodeID: b.cfg.ID, ClusterID: b.cfg.ClusterID, Voters: p.cfg.Voters, Bootstrap: p.cfg.Bootstrap, Listener: p.publisher,
		FetchTimeout: p.cfg.FetchTimeout, RequestTimeout: p.cfg.RequestTimeout, DisableHWPush: p.cfg.DisableHWPush,
		SegmentBytes: p.cfg.SegmentBytes, RetentionBytes: p.cfg.RetentionBytes,
		Seed: p.cfg.Seed, Logger: b.log, Now: b.cfg.Now, Dial: dial,
		Identity: p.cfg.Identity,
	}
	if b.cfg.DataDir != "" && !p.cfg.MetadataInMemory {
		rc.Dir = filepath.Join(b.cfg.DataDir, "metadata")
	}
	var err error
	if p.client, err = raftclient.New(rc); err != nil {
		return err
	}
	if rc.Dir != "" {
		p.snapshots = snapshots.New(p.client, snapshots.Config{Bytes: p.cfg.SnapshotBytes, Logger: b.log, Now: b.cfg.Now})
	}
	return nil
}

func (p *kraftPlane) epoch() kafka.BrokerEpoch { return kafka.BrokerEpoch(p.regEpoch.Load()) }

func (p *kraftPlane) clusterID() string { return p.b.cfg.ClusterID }

func (p *kraftPlane) identity() wire.Identity { return p.cfg.Identity }

// controller is the leader of the quorum, where it says that it listens.
func (p *kraftPlane) controller() (kafka.BrokerID, string, bool) {
	leader := p.leader.Load().Leader
	if e, ok := p.client.Endpoint(leader); ok {
		return leader, e.Addr(), true
	}
	return kafka.NoLeader, "", false
}

func (p *kraftPlane) kraftVersion() int16 { return p.client.Quorum().KRaftVersion }

// controllerID is a broker that forwards: clients of KRaft mode never see
// controllers. Kafka names a random live one; this broker names itself, since
// it is reached already.
func (p *kraftPlane) controllerID(img *metadata.Image) kafka.BrokerID {
	if self, ok := img.Broker(p.b.cfg.ID); ok && !self.Fenced {
		return self.ID
	}
	for b := range img.Brokers() {
		if !b.Fenced {
			return b.ID
		}
	}
	return kafka.NoLeader
}

func (p *kraftPlane) configs(_ context.Context, r metadata.ConfigResource) (map[string]string, error) {
	return p.b.Image().Config(r), nil
}

func (p *kraftPlane) topicDef() *admin.ConfigDef { return admin.TopicConfigs }

func (p *kraftPlane) topicConfig(_ context.Context, topic string) map[string]string {
	return p.b.Image().Config(metadata.ConfigResource{Type: metadata.TopicConfig, Name: topic})
}

// run observes the quorum, registers and heartbeats until ctx ends or one of
// them cannot go on.
func (p *kraftPlane) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := p.b.openDirs(p.b.cfg.ClusterID); err != nil {
		return err
	}
	var wg sync.WaitGroup
	if p.b.dirs.several() {
		wg.Go(func() { p.runAssign(ctx) })
	}
	if p.snapshots != nil {
		wg.Go(func() { p.snapshots.Run(ctx) })
	}
	wg.Go(func() {
		if err := p.client.Run(ctx); err != nil {
			cancel(fmt.Errorf("metadata log: %w", err))
		}
	})
	err := p.live(ctx)
	cancel(err)
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// leaderChanged hears of the quorum's leader and epoch, on the raft client's
// goroutine. The trace is written first: with the leader known, another
// goroutine may register at once and trace that.
func (p *kraftPlane) leaderChanged(l raftclient.LeaderAndEpoch) {
	old := p.leader.Load()
	if l.Leader >= 0 && l.Epoch > old.Epoch || l.Leader >= 0 && old.Leader < 0 {
		p.b.cfg.Trace.Emit(trace.Event{Kind: trace.BrokerControllerEpoch, Epoch: int64(l.Epoch), Broker: int32(p.b.cfg.ID)})
	}
	p.leader.Store(&l)
	p.b.controllerMoved()
	p.moved.notify()
}

func (p *kraftPlane) apis() []wire.API {
	apis := []wire.API{
		{Key: int16(kmsg.AlterConfigs), MaxVersion: 2, Handle: p.handleAlterConfigs},
		{Key: int16(kmsg.IncrementalAlterConfigs), MaxVersion: 1, Handle: p.handleIncrementalAlterConfigs},
		{Key: int16(kmsg.ListConfigResources), MaxVersion: 1, Handle: p.handleListConfigResources},
	}
	for _, a := range []struct{ key, lowest, highest int16 }{
		{19, 2, 7},
		{20, 1, 6},
		{30, 0, 3},
		{31, 0, 3},
		{37, 0, 3},
		{38, 1, 3},
		{39, 1, 2},
		{40, 1, 2},
		{43, 0, 2},
		{45, 0, 1},
		{46, 0, 0},
		{49, 0, 1},
		{51, 0, 0},
		{55, 0, 2},
		{57, 0, 2},
		{64, 0, 0},
		{80, 0, 1},
		{81, 0, 0},
		{94, 0, 0},
	} {
		apis = append(apis, wire.API{Key: a.key, MinVersion: a.lowest, MaxVersion: a.highest, Handle: p.handleForwarded})
	}
	return apis
}
