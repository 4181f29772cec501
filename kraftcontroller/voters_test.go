package kraftcontroller

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/machine"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

// The quorum's own records take offsets in the midst of an epoch: the
// controller decides around them and keeps its epoch.
func TestVotersChangeUnderAnActiveController(t *testing.T) {
	// Voters tell their directories after three fetch timeouts.
	cl := newCluster(t, 3, func(c *Config) { c.Raft.FetchTimeout, c.Raft.RequestTimeout = 4*time.Second, 4*time.Second })
	for id := range kafka.BrokerID(3) {
		cl.broker(id)
	}
	n := cl.active(-1)
	if code := cl.createTopic("before", 3, 1); code != kafka.None {
		t.Fatal(code)
	}
	var epoch kafka.LeaderEpoch
	await(t, "kraft.version 1", func() bool {
		n = cl.active(-1)
		epoch = n.c.View().Epoch
		return n.c.client.UpgradeKRaftVersion(t.Context(), epoch, 1, false) == nil
	})
	for i := range 5 {
		if code := cl.createTopic(fmt.Sprintf("between-%d", i), 3, 1); code != kafka.None {
			t.Fatal(code)
		}
	}
	var gone kafka.BrokerID
	for _, v := range n.c.client.Quorum().Voters {
		if v.ID != n.id {
			gone = v.ID
			r := kmsg.NewPtrRemoveRaftVoterRequest()
			r.VoterID, r.VoterDirectoryID = int32(v.ID), v.DirectoryID
			resp := cl.request(r).(*kmsg.RemoveRaftVoterResponse)
			if resp.ErrorCode != 0 {
				t.Fatalf("remove voter %d: %v", v.ID, kafka.ErrorCode(resp.ErrorCode))
			}
			break
		}
	}
	if code := cl.createTopic("after", 3, 1); code != kafka.None {
		t.Fatal(code)
	}
	if v := n.c.View(); !v.Active || v.Epoch != epoch {
		t.Errorf("active=%v in epoch %d, was in %d", v.Active, v.Epoch, epoch)
	}
	if got := n.c.voterIDs(); len(got) != 2 {
		t.Errorf("voters %v after the removal of %d", got, gone)
	}
	cl.awaitEqual([]string{"before", "between-4", "after"})
}

// A cluster begins with what its directories were formatted with, be it by
// Kafka's own tool: the voters, the features and the users. What the configuration
// says of a new cluster does not count then.
func TestControllerStartsFromKafkasFormat(t *testing.T) {
	for _, name := range []string{"static", "initial", "kafka-3.9.2-static"} {
		t.Run(name, func(t *testing.T) {
			c := formattedController(t, filepath.Join("metalog", "testdata", "format", name))
			want, err := c.client.Bootstrap()
			if err != nil || len(want) == 0 {
				t.Fatalf("%d records, %v", len(want), err)
			}
			level := int16(c.cfg.Machine.MetadataVersion)
			r, _, err := metadata.ReadRecord(want[0])
			if f, ok := r.(*metadata.FeatureLevelRecord); err != nil || !ok || f.FeatureLevel != level || len(c.cfg.Machine.Bootstrap) != len(want) {
				t.Errorf("metadata.version %d, %d records; the directory says %+v, %v", level, len(c.cfg.Machine.Bootstrap), r, err)
			}
		})
	}
	t.Run("another node's", func(t *testing.T) {
		dir := t.TempDir()
		if _, err := metalog.FormatDirectory(metalog.OS(), dir, metalog.Format{ClusterID: clusterID, NodeID: 1, Timestamp: 1}); err != nil {
			t.Fatal(err)
		}
		if c, err := New(Config{Raft: raftclient.Config{NodeID: 2, ClusterID: clusterID, Voters: []raftclient.Voter{{ID: 2, Host: "h", Port: 1}}, Dir: dir}}); err == nil {
			c.Close()
			t.Error("a directory of another node is taken")
		}
	})
}

func formattedController(t *testing.T, golden string) *Controller {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{
		Raft: raftclient.Config{
			NodeID: 3001, ClusterID: "MkU3OEVBNTcwNTJENDM2Qg", Voters: []raftclient.Voter{{ID: 3001, Host: "127.0.0.1", Port: 1}}, Dir: dir,
		},
		Machine: machine.Config{MetadataVersion: metadata.V3_3_IV3, Bootstrap: metadata.V3_3_IV3.LevelRecords(nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
