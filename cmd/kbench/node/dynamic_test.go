package node

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kbench/internal/heldport/heldtest"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

// TestDynamicQuorum: a quorum whose voters are those of its log alone, and a
// broker that knows nothing of it but bootstrap servers, one of which is gone.
func TestDynamicQuorum(t *testing.T) {
	r := newRig(t)
	p := heldtest.Ports(t, 4)
	first := metalog.Quorum{Level: 1}
	for i := range 2 {
		first.Voters = append(first.Voters, metalog.Voter{
			VoterKey:  metalog.VoterKey{ID: kafka.BrokerID(1001 + i), Directory: kafka.UUID{0x70, byte(i)}},
			Endpoints: []kafka.Endpoint{{Listener: raftclient.ControllerListener, Host: "127.0.0.1", Port: p[i]}}, MaxLevel: 1,
		})
	}
	bootstrap := []string{addr(p[3]), addr(p[1]), addr(p[0])}
	for i, v := range first.Voters {
		name := []string{"c1", "c2"}[i]
		if _, err := metalog.FormatDirectory(metalog.OS(), filepath.Join(r.dir, name, "metadata"), metalog.Format{
			ClusterID: clusterID, NodeID: v.ID, Directory: v.Directory, Quorum: first, Timestamp: 1,
		}); err != nil {
			t.Fatal(err)
		}
		r.start(nodeconfig.Config{
			Name: name, Role: nodeconfig.RoleController, Mode: nodeconfig.ModeKRaft, Timers: calm,
			Quorum: nodeconfig.Quorum{NodeID: v.ID, Host: "127.0.0.1", Port: p[i], Bootstrap: bootstrap},
		})
	}
	r.start(nodeconfig.Config{
		Name: "b1", Role: nodeconfig.RoleBroker, Mode: nodeconfig.ModeKRaft, Timers: calm,
		Brokers: []nodeconfig.Broker{{ID: 1, Host: "127.0.0.1", Port: p[2]}},
		Quorum:  nodeconfig.Quorum{Bootstrap: bootstrap},
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr(p[2])))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	r.eventually("a topic is created", func() bool {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		resp, err := kadm.NewClient(cl).CreateTopic(one, 3, 1, nil, "t")
		return err == nil || resp.Err != nil && resp.Err.Error() == "TOPIC_ALREADY_EXISTS"
	})
}
