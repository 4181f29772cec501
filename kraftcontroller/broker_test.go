package kraftcontroller

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker"
	"kbench/internal/heldport/heldtest"
	"kbench/kafka"
	"kbench/kafka/metadata"
)

// startBroker runs kbench's own broker 1, which no client reaches, and waits until
// it is unfenced. The cluster has one controller.
func (cl *cluster) startBroker(dir string, cfg broker.KRaftConfig) (b *broker.Broker, shutdown func()) {
	cl.t.Helper()
	cfg.Voters, cfg.Heartbeat, cfg.FetchTimeout = cl.voters, 50*time.Millisecond, 15*time.Second
	b, err := broker.New(broker.Config{
		ID: 1, ClusterID: clusterID, DataDir: dir, Logger: testLogger().With("broker", 1),
		Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: heldtest.Ports(cl.t, 1)[0]}},
	}, broker.KRaft(cfg))
	if err != nil {
		cl.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Run(context.Background()) }()
	shutdown = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			cl.t.Error(err)
		}
		if err := <-ended; err != nil {
			cl.t.Error(err)
		}
	})
	cl.t.Cleanup(shutdown)
	await(cl.t, "the broker to be unfenced", func() bool {
		reg, ok := b.Image().Broker(1)
		return ok && !reg.Fenced && reg.Epoch == b.Epoch()
	})
	return b, shutdown
}

// A broker that registered before the metadata.version had log directories tells
// of its own once it has, with the registration that it has (KIP-858).
func TestBrokerRegistersAgainWithDirectories(t *testing.T) {
	cl := newCluster(t, 1, func(c *Config) { c.Machine.MetadataVersion = metadata.V3_6_IV2 })
	b, _ := cl.startBroker("", broker.KRaftConfig{})
	before, _ := b.Image().Broker(1)
	if len(before.LogDirs) != 0 {
		t.Fatalf("directories %v at metadata.version %s", before.LogDirs, metadata.V3_6_IV2)
	}
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.Version = 1
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = metadata.MetadataVersionFeature, int16(metadata.V3_7_IV2), 1
	req.FeatureUpdates = append(req.FeatureUpdates, u)
	if r := cl.request(req).(*kmsg.UpdateFeaturesResponse); r.ErrorCode != 0 {
		t.Fatalf("%v %v", kafka.ErrorCode(r.ErrorCode), *r.ErrorMessage)
	}
	await(t, "the directory in the registration", func() bool {
		reg, ok := b.Image().Broker(1)
		if ok && (reg.Fenced || reg.Epoch != before.Epoch || reg.Incarnation != before.Incarnation) {
			t.Fatalf("registration %+v, before %+v", reg, before)
		}
		return ok && len(reg.LogDirs) == 1 && !metadata.IsReservedDirectory(reg.LogDirs[0])
	})
}
