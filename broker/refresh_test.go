package broker

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/kraftcontroller"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/raftclient"
)

// startController runs the one controller of a new cluster, at a metadata.version.
func startController(t *testing.T, version metadata.MetadataVersion) raftclient.Voter {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	voter := raftclient.Voter{ID: 100, Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port)}
	c, err := kraftcontroller.New(kraftcontroller.Config{
		Raft: raftclient.Config{
			NodeID: voter.ID, ClusterID: testCluster, Voters: []raftclient.Voter{voter}, Dir: t.TempDir(),
			ElectionTimeout: 50 * time.Millisecond, FetchTimeout: time.Second, Logger: testLog(),
		},
		Machine: machine.Config{MetadataVersion: version, SessionTimeout: deadline, NoOpInterval: 50 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	server, err := wire.NewServer(wire.ServerConfig{APIs: c.APIs(), Features: c.Features, Listener: raftclient.ControllerListener, Logger: testLog()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { _ = server.Serve(ln) }()
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closing, end := context.WithTimeout(context.Background(), deadline)
		defer end()
		if err := server.Close(closing); err != nil {
			t.Error(err)
		}
	})
	return voter
}

// A broker that registered before the metadata.version had log directories tells
// of its own once it has, with the registration that it has.
func TestKRaftRegistersAgainWithDirectories(t *testing.T) {
	voter := startController(t, metadata.V3_6_IV2)
	p := startProcess(t, 1, 0, KRaft(KRaftConfig{
		Voters: []raftclient.Voter{voter}, Heartbeat: 50 * time.Millisecond, RegistrationTimeout: deadline,
		FetchTimeout: time.Second, MetadataInMemory: true,
	}), func(c *Config) { c.ClusterID = testCluster })
	eventually(t, "the broker is unfenced", func() bool {
		reg, ok := p.Image().Broker(1)
		return ok && !reg.Fenced && reg.Epoch == p.Epoch()
	})
	before, _ := p.Image().Broker(1)
	if len(before.LogDirs) != 0 {
		t.Fatalf("directories %v at metadata.version %s", before.LogDirs, metadata.V3_6_IV2)
	}
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.Version = 1
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = metadata.MetadataVersionFeature, int16(metadata.V3_7_IV2), 1
	req.FeatureUpdates = append(req.FeatureUpdates, u)
	if r := ask[*kmsg.UpdateFeaturesResponse](t, p.addr(), req); r.ErrorCode != 0 {
		t.Fatalf("%v %v", kafka.ErrorCode(r.ErrorCode), *r.ErrorMessage)
	}
	want := kafka.UUID(directoryID(testCluster, 1))
	eventually(t, "the registration has its directory", func() bool {
		reg, ok := p.Image().Broker(1)
		if ok && (reg.Fenced || reg.Epoch != before.Epoch || reg.Incarnation != before.Incarnation) {
			t.Fatalf("registration %+v, before %+v", reg, before)
		}
		return ok && len(reg.LogDirs) == 1 && reg.LogDirs[0] == want
	})
	p.stop(t)
	if got := p.events(t); strings.Count(got, "broker.registered") != 1 {
		t.Errorf("trace: %s", got)
	}
}
