package raftclient

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

func ask(t *testing.T, c *wire.Conn, req kmsg.Request) kmsg.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := c.Request(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func dialNode(t *testing.T, q *quorum, id kafka.BrokerID) *wire.Conn {
	t.Helper()
	c, err := wire.Dial(context.Background(), q.voters[id-1].Addr(), wire.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestServesTheQuorumsRequests(t *testing.T) {
	q := newQuorum(t, 1, nil)
	lead, at := q.leader()
	if err := lead.write(at.Epoch, "v"); err != nil {
		t.Fatal(err)
	}
	c := dialNode(t, q, 1)
	other := "another"

	t.Run("DescribeQuorum", func(t *testing.T) {
		for v := int16(0); v <= 2; v++ {
			req := kmsg.NewPtrDescribeQuorumRequest()
			req.Version = v
			topic := kmsg.NewDescribeQuorumRequestTopic()
			topic.Topic = kafka.MetadataTopic
			topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
			req.Topics = append(req.Topics, topic)
			r := ask(t, c, req).(*kmsg.DescribeQuorumResponse)
			p := r.Topics[0].Partitions[0]
			if r.ErrorCode != 0 || p.ErrorCode != 0 || p.LeaderID != 1 || p.LeaderEpoch != int32(at.Epoch) || p.HighWatermark != 2 || len(p.CurrentVoters) != 1 || p.CurrentVoters[0].LogEndOffset != 2 {
				t.Fatalf("version %d: %+v", v, r)
			}
			if v == 2 && (len(r.Nodes) != 1 || r.Nodes[0].Listeners[0].Port != q.voters[0].Port) {
				t.Errorf("nodes %+v", r.Nodes)
			}
		}
	})
	t.Run("Vote", func(t *testing.T) {
		req := kmsg.NewPtrVoteRequest()
		req.Version = 2
		if r := ask(t, c, req).(*kmsg.VoteResponse); r.ErrorCode != int16(kafka.InvalidRequest) {
			t.Errorf("without a topic: %+v", r)
		}
		topic := kmsg.NewVoteRequestTopic()
		topic.Topic = kafka.MetadataTopic
		p := kmsg.NewVoteRequestTopicPartition()
		p.CandidateEpoch, p.CandidateID, p.LastOffset = 0, 2, 100
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
		if r := ask(t, c, req).(*kmsg.VoteResponse); len(r.Topics) == 1 && r.Topics[0].Partitions[0].VoteGranted {
			t.Errorf("a vote in an old epoch: %+v", r)
		}
		req.ClusterID = &other
		if r := ask(t, c, req).(*kmsg.VoteResponse); r.ErrorCode != int16(kafka.InconsistentClusterID) {
			t.Errorf("another cluster's: %+v", r)
		}
	})
	t.Run("Fetch", func(t *testing.T) {
		for v := int16(12); v <= 17; v++ {
			fetch := func(offset int64, epoch int32) *kmsg.FetchResponse {
				req := kmsg.NewPtrFetchRequest()
				req.Version, req.MaxBytes, req.SessionEpoch = v, 1<<20, -1
				topic := kmsg.NewFetchRequestTopic()
				topic.Topic, topic.TopicID = kafka.MetadataTopic, kafka.MetadataTopicID
				p := kmsg.NewFetchRequestTopicPartition()
				p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch, p.PartitionMaxBytes = int32(at.Epoch), offset, epoch, 1<<20
				topic.Partitions = append(topic.Partitions, p)
				req.Topics = append(req.Topics, topic)
				return ask(t, c, req).(*kmsg.FetchResponse)
			}
			r := fetch(0, 0)
			p := r.Topics[0].Partitions[0]
			if p.ErrorCode != 0 || len(p.RecordBatches) == 0 || p.HighWatermark != 2 || p.CurrentLeader.LeaderID != 1 {
				t.Fatalf("version %d: %+v", v, p)
			}
			if v >= 16 && (len(r.Brokers) != 1 || r.Brokers[0].Port != int32(q.voters[0].Port)) {
				t.Errorf("version %d: no leader endpoint: %+v", v, r.Brokers)
			}
			if p := fetch(50, int32(at.Epoch)).Topics[0].Partitions[0]; p.DivergingEpoch.EndOffset != 2 {
				t.Errorf("version %d: a diverged replica is told %+v", v, p)
			}
			if r := fetch(50, int32(at.Epoch)); v >= 13 && r.Topics[0].TopicID != kafka.MetadataTopicID {
				t.Errorf("version %d: topic id %v", v, r.Topics[0].TopicID)
			}
		}
		req := kmsg.NewPtrFetchRequest()
		req.Version = 13
		topic := kmsg.NewFetchRequestTopic()
		topic.TopicID = kafka.UUID{5}
		topic.Partitions = append(topic.Partitions, kmsg.NewFetchRequestTopicPartition())
		req.Topics = append(req.Topics, topic)
		if r := ask(t, c, req).(*kmsg.FetchResponse); r.ErrorCode != int16(kafka.InvalidRequest) {
			t.Errorf("another topic: %+v", r)
		}
	})
	t.Run("FetchSnapshot", func(t *testing.T) {
		req := kmsg.NewPtrFetchSnapshotRequest()
		req.Version = 1
		topic := kmsg.NewFetchSnapshotRequestTopic()
		topic.Topic = kafka.MetadataTopic
		p := kmsg.NewFetchSnapshotRequestTopicPartition()
		p.CurrentLeaderEpoch, p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int32(at.Epoch), 2, int32(at.Epoch)
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
		r := ask(t, c, req).(*kmsg.FetchSnapshotResponse)
		if len(r.Topics) != 1 || r.Topics[0].Partitions[0].ErrorCode != int16(kafka.SnapshotNotFound) {
			t.Errorf("no such snapshot: %+v", r)
		}
	})
	t.Run("BeginAndEnd", func(t *testing.T) {
		b := kmsg.NewPtrBeginQuorumEpochRequest()
		b.Version = 1
		if r := ask(t, c, b).(*kmsg.BeginQuorumEpochResponse); r.ErrorCode != int16(kafka.InvalidRequest) {
			t.Errorf("Begin without a topic: %+v", r)
		}
		topic := kmsg.NewBeginQuorumEpochRequestTopic()
		topic.Topic = kafka.MetadataTopic
		p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
		p.LeaderID, p.LeaderEpoch = 9, int32(at.Epoch)-1
		topic.Partitions = append(topic.Partitions, p)
		where := kmsg.NewBeginQuorumEpochRequestLeaderEndpoint()
		where.Name, where.Host, where.Port = lead.client.cfg.ListenerName, "elsewhere", 9
		b.VoterID = 1
		b.Topics, b.LeaderEndpoints = append(b.Topics, topic), append(b.LeaderEndpoints, where)
		if r := ask(t, c, b).(*kmsg.BeginQuorumEpochResponse); r.ErrorCode == 0 && r.Topics[0].Partitions[0].ErrorCode == 0 {
			t.Errorf("Begin of an old epoch: %+v", r)
		}
		if got, ok := lead.client.addrs.of(9); ok {
			t.Errorf("a refused leader's address is learned: %+v", got)
		}
		e := kmsg.NewPtrEndQuorumEpochRequest()
		e.Version = 1
		if r := ask(t, c, e).(*kmsg.EndQuorumEpochResponse); r.ErrorCode != int16(kafka.InvalidRequest) {
			t.Errorf("End without a topic: %+v", r)
		}
	})
}

// A leader that is followed tells by BeginQuorumEpoch where it listens: it may have
// moved since the voters were configured.
func TestBeginTellsWhereTheLeaderListens(t *testing.T) {
	q := newQuorum(t, 0, nil)
	for range 3 {
		q.addAddress()
	}
	follower := q.start(1)
	c := dialNode(t, q, 1)
	for v := int16(0); v <= 1; v++ {
		b := kmsg.NewPtrBeginQuorumEpochRequest()
		b.Version, b.VoterID = v, 1
		topic := kmsg.NewBeginQuorumEpochRequestTopic()
		topic.Topic = kafka.MetadataTopic
		p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
		p.LeaderID, p.LeaderEpoch = 2+int32(v), 100+int32(v)
		topic.Partitions = append(topic.Partitions, p)
		b.Topics = append(b.Topics, topic)
		for name, port := range map[string]uint16{ControllerListener: 9, "ANOTHER": 10} {
			at := kmsg.NewBeginQuorumEpochRequestLeaderEndpoint()
			at.Name, at.Host, at.Port = name, "moved", port
			b.LeaderEndpoints = append(b.LeaderEndpoints, at)
		}
		r := ask(t, c, b).(*kmsg.BeginQuorumEpochResponse)
		if r.ErrorCode != 0 || r.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Fatalf("version %d: %+v", v, r)
		}
		want := q.voters[1].Addr() // version 0 has no endpoints
		if v == 1 {
			want = "moved:9"
			if len(r.NodeEndpoints) != 1 || r.NodeEndpoints[0].NodeID != 3 || r.NodeEndpoints[0].Host != "moved" {
				t.Errorf("the answer names the leader at %+v", r.NodeEndpoints)
			}
		}
		if got, err := follower.client.addrs.dial(kafka.BrokerID(p.LeaderID)); err != nil || got != want {
			t.Errorf("version %d: the leader is fetched from at %s, %v, want %s", v, got, err, want)
		}
	}
}
