package kraftcontroller

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

// mute is a Listener that hears nothing.
type mute struct{}

func (mute) HandleCommit([]metalog.Batch) error               { return nil }
func (mute) HandleLoadSnapshot(*metalog.SnapshotReader) error { return nil }
func (mute) HandleLeaderChange(raftclient.LeaderAndEpoch)     {}

// TestLogThatDoesNotReplayStopsTheNode starts a controller on a log that a
// newer or a broken one wrote: it must stop and name the record, and leave the
// directory as it was.
func TestLogThatDoesNotReplayStopsTheNode(t *testing.T) {
	for name, tc := range map[string]struct {
		record metadata.Record
		want   []string
	}{
		"feature level above the range": {
			&metadata.FeatureLevelRecord{Name: metadata.MetadataVersionFeature, FeatureLevel: 999},
			[]string{"offset 1", "999", metadata.MetadataVersionFeature},
		},
		"broker that never registered": {
			&metadata.UnregisterBrokerRecord{BrokerID: 7, BrokerEpoch: 5},
			[]string{"offset 1", "7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			voters := []raftclient.Voter{{ID: 1, Host: "127.0.0.1", Port: 1}}
			rc := raftclient.Config{
				NodeID: 1, ClusterID: clusterID, Voters: voters, Dir: filepath.Join(t.TempDir(), "d"), Listener: mute{},
			}
			writeLog(t, rc, tc.record)
			for range 2 { // it says the same again: nothing was damaged
				c, err := New(Config{Raft: rc})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				err = c.Run(ctx)
				cancel()
				for _, want := range tc.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Fatalf("Run gives %v, it lacks %q", err, want)
					}
				}
			}
		})
	}
}

func writeLog(t *testing.T, rc raftclient.Config, r metadata.Record) {
	t.Helper()
	client, err := raftclient.New(rc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	value, err := metadata.AppendRecord(nil, r, 0)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the record to be committed", func() bool {
		if client.HighWatermark() >= 2 {
			return true
		}
		if client.HighWatermark() == 1 && client.LogEndOffset() == 1 {
			if _, err := client.Append(client.Leader().Epoch, [][]byte{value}); err != nil {
				t.Fatal(err)
			}
			await(t, "the record", func() bool { return client.HighWatermark() >= 2 })
		}
		return false
	})
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
