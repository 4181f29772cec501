package raftclient

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/fuzzing"
	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// answers are the keys of what peers answer to the machine.
var answers = []int16{keyFetch, keyVote, keyBeginQuorumEpoch, keyEndQuorumEpoch, keyFetchSnapshot, int16(kmsg.ApiVersions), keyAddVoter, keyRemoveVoter, keyUpdateVoter}

// mend puts the checksums of fetched records right.
func mend(resp kmsg.Response) {
	r, ok := resp.(*kmsg.FetchResponse)
	if !ok {
		return
	}
	for _, t := range r.Topics {
		for i := range t.Partitions {
			t.Partitions[i].RecordBatches = fuzzing.Mended(t.Partitions[i].RecordBatches)
		}
	}
}

// checkFetched requires that what the machine is told of records is what the
// bytes hold.
func checkFetched(t *testing.T, m raft.FetchResponse) {
	raw, ok := m.Records.([]byte)
	if !ok && len(m.Batches) > 0 {
		t.Fatalf("%d batches without records", len(m.Batches))
	}
	for _, b := range m.Batches {
		h, err := metalog.ReadHeader(raw)
		if err != nil || h.BaseOffset != b.BaseOffset || h.EndOffset != b.LastOffset+1 || h.Epoch != b.Epoch || b.LastOffset < b.BaseOffset {
			t.Fatalf("batch %+v is %+v, %v", b, h, err)
		}
		raw = raw[h.SizeBytes:]
	}
	if len(raw) > 0 {
		t.Fatalf("%d bytes are of no batch", len(raw))
	}
}

// FuzzDecodeResponse decodes arbitrary bodies as each of the answers of a peer:
// no panic, and memory bounded by the body.
func FuzzDecodeResponse(f *testing.F) {
	for i, key := range answers {
		resp := kmsg.ResponseForKey(key)
		resp.SetVersion(resp.MaxVersion())
		f.Add(uint8(i), resp.GetVersion(), resp.AppendTo(nil))
	}
	for _, resp := range fullAnswers(f) {
		resp.SetVersion(resp.MaxVersion())
		f.Add(uint8(slices.Index(answers, resp.Key())), resp.GetVersion(), resp.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, which uint8, version int16, body []byte) {
		resp := kmsg.ResponseForKey(answers[int(which)%len(answers)])
		if version < 0 || version > resp.MaxVersion() {
			return
		}
		resp.SetVersion(version)
		if resp.ReadFrom(body) != nil {
			return
		}
		for range 2 {
			var m raft.Message
			var err error
			fuzzing.Within(t, len(body), 128, func() { m, err = decodeResponse(resp) })
			if got, ok := m.(raft.FetchResponse); ok && err == nil {
				checkFetched(t, got)
			}
			mend(resp)
		}
	})
}

// fullAnswers are answers that say what they can.
func fullAnswers(f *testing.F) []kmsg.Response {
	voters := metalog.Voters{Voters: []metalog.Voter{{VoterKey: metalog.VoterKey{ID: 1}, Endpoints: []kafka.Endpoint{{Listener: "C", Host: "h", Port: 9}}, MaxLevel: 1}}}
	var raw []byte
	for i, b := range []metalog.Batch{
		{Epoch: 3, Control: true, Records: []metalog.Record{metalog.LeaderChange{Leader: 1}.Record(), metalog.KRaftVersion{Level: 1}.Record(), voters.Record()}},
		{BaseOffset: 3, Epoch: 3, Records: []metalog.Record{{Value: []byte("a")}, {Value: []byte("b")}}},
	} {
		var err error
		if raw, err = b.Append(raw); err != nil {
			f.Fatal(i, err)
		}
	}
	fetched := kmsg.NewFetchResponseTopicPartition()
	fetched.HighWatermark, fetched.RecordBatches = 5, raw
	fetched.CurrentLeader.LeaderID, fetched.CurrentLeader.LeaderEpoch = 1, 3
	fetched.DivergingEpoch.Epoch, fetched.DivergingEpoch.EndOffset = 2, 4
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.TopicID, topic.Partitions = kafka.MetadataTopic, kafka.MetadataTopicID, append(topic.Partitions, fetched)
	fetch := kmsg.NewPtrFetchResponse()
	fetch.Topics = append(fetch.Topics, topic)

	chunk := kmsg.NewFetchSnapshotResponseTopicPartition()
	chunk.SnapshotID.EndOffset, chunk.SnapshotID.Epoch, chunk.Size, chunk.Position, chunk.Bytes = 5, 3, 100, 50, raw
	snapshots := kmsg.NewFetchSnapshotResponseTopic()
	snapshots.Topic, snapshots.Partitions = kafka.MetadataTopic, append(snapshots.Partitions, chunk)
	snapshot := kmsg.NewPtrFetchSnapshotResponse()
	snapshot.Topics = append(snapshot.Topics, snapshots)

	vote := kmsg.NewPtrVoteResponse()
	voted := kmsg.NewVoteResponseTopic()
	voted.Topic, voted.Partitions = kafka.MetadataTopic, append(voted.Partitions, kmsg.NewVoteResponseTopicPartition())
	vote.Topics = append(vote.Topics, voted)
	versions := kmsg.NewPtrApiVersionsResponse()
	feature := kmsg.NewApiVersionsResponseSupportedFeature()
	feature.Name, feature.MaxVersion = kraftVersionFeature, 1
	versions.SupportedFeatures = append(versions.SupportedFeatures, feature)
	return []kmsg.Response{fetch, snapshot, vote, versions}
}
