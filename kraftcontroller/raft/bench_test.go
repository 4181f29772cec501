package raft

import (
	"testing"
	"time"

	"kbench/kafka"
)

// BenchmarkCommit is what the machine adds to a commit: at the leader of three,
// an append, the fsync of it, and the two fetches that acknowledge it and park.
func BenchmarkCommit(b *testing.B) {
	cfg := Config{NodeID: 1, DisablePreVote: true}
	for id := range kafka.BrokerID(3) {
		cfg.Voters = append(cfg.Voters, Voter{ReplicaKey: ReplicaKey{ID: id + 1}})
	}
	m, err := New(cfg, Persisted{QuorumState: EmptyQuorumState()})
	if err != nil {
		b.Fatal(err)
	}
	m.Step(0, Tick{})
	now := 2 * time.Second
	fx, _ := m.Step(now, Tick{})
	fx, _ = m.Step(now, Response{fx.Send[0].ID, VoteResponse{LeaderID: None, LeaderEpoch: 1, Granted: true}})
	m.Step(now, FlushDone{fx.Flush.Seq})
	id := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		now += time.Millisecond
		fx, _ := m.Step(now, Append{Epoch: 1, Count: 1})
		seq, end := fx.Flush.Seq, fx.Appended[0].LastOffset+1
		m.Step(now, FlushDone{seq})
		for replica := range kafka.BrokerID(2) {
			id++
			m.Step(now, Request{id, FetchRequest{
				Replica: ReplicaKey{ID: replica + 2}, CurrentLeaderEpoch: 1, FetchOffset: end, LastFetchedEpoch: 1,
				MaxWait: 500 * time.Millisecond, MaxBytes: 1 << 20, HighWatermark: HighWatermarkUnsupported,
			}})
		}
	}
	if m.HighWatermark() != m.LogEnd() {
		b.Fatalf("high watermark %d, log end %d", m.HighWatermark(), m.LogEnd())
	}
}
