package raftclient

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// The API keys of the quorum.
const (
	keyFetch            = 1
	keyVote             = 52
	keyBeginQuorumEpoch = 53
	keyEndQuorumEpoch   = 54
	keyDescribeQuorum   = 55
	keyFetchSnapshot    = 59
	keyAddVoter         = 80
	keyRemoveVoter      = 81
	keyUpdateVoter      = 82
)

// pickVersion gives the newest version of an API that both ends have.
type pickVersion func(key, lowest, highest int16) (int16, error)

// encodeRequest makes Kafka's request of the machine's.
func (c *Client) encodeRequest(msg raft.Message, pick pickVersion) (kmsg.Request, error) {
	switch m := msg.(type) {
	case raft.FetchRequest:
		highest := int16(18)
		if c.cfg.DisableHWPush {
			highest = 17
		}
		v, err := pick(keyFetch, 12, highest)
		return encodeFetch(m, v), err
	case raft.VoteRequest:
		lowest := int16(0)
		if m.PreVote {
			lowest = 2
		}
		v, err := pick(keyVote, lowest, 2)
		return encodeVote(m, v), err
	case raft.BeginQuorumEpochRequest:
		v, err := pick(keyBeginQuorumEpoch, 0, 1)
		return c.encodeBegin(m, v), err
	case raft.EndQuorumEpochRequest:
		v, err := pick(keyEndQuorumEpoch, 0, 1)
		return c.encodeEnd(m, v), err
	case raft.FetchSnapshotRequest:
		v, err := pick(keyFetchSnapshot, 0, 1)
		return encodeFetchSnapshot(m, v), err
	case raft.APIVersionsRequest:
		return encodeAPIVersions(), nil
	case raft.AddVoterRequest:
		v, err := pick(keyAddVoter, 0, 1)
		return encodeAddVoter(m, v), err
	case raft.RemoveVoterRequest:
		v, err := pick(keyRemoveVoter, 0, 0)
		return encodeRemoveVoter(m, v), err
	case raft.UpdateVoterRequest:
		v, err := pick(keyUpdateVoter, 0, 0)
		return encodeUpdateVoter(m, v), err
	}
	return nil, fmt.Errorf("request %T is unknown to the driver", msg)
}

func encodeFetch(m raft.FetchRequest, version int16) kmsg.Request {
	r := kmsg.NewPtrFetchRequest()
	r.Version, r.ClusterID = version, m.ClusterID
	if version >= 15 {
		r.ReplicaState.ID = int32(m.Replica.ID)
	} else {
		r.ReplicaID = int32(m.Replica.ID)
	}
	r.MaxWaitMillis, r.MaxBytes, r.SessionEpoch = int32(m.MaxWait/time.Millisecond), m.MaxBytes, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.FetchOffset = int32(m.CurrentLeaderEpoch), int64(m.FetchOffset)
	p.LastFetchedEpoch, p.PartitionMaxBytes = int32(m.LastFetchedEpoch), m.MaxBytes
	if version >= 17 {
		p.ReplicaDirectoryID = m.Replica.DirectoryID
	}
	if version >= 18 {
		p.HighWatermark = int64(m.HighWatermark)
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = kafka.MetadataTopic, kafka.MetadataTopicID
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func encodeVote(m raft.VoteRequest, version int16) kmsg.Request {
	r := kmsg.NewPtrVoteRequest()
	r.Version, r.ClusterID, r.VoterID = version, m.ClusterID, int32(m.Voter.ID)
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateEpoch, p.CandidateID = int32(m.Epoch), int32(m.Candidate.ID)
	p.CandidateDirectoryID, p.VoterDirectoryID = m.Candidate.DirectoryID, m.Voter.DirectoryID
	p.LastOffsetEpoch, p.LastOffset, p.PreVote = int32(m.LastEpoch), int64(m.LastOffset), m.PreVote
	t := kmsg.NewVoteRequestTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func (c *Client) encodeBegin(m raft.BeginQuorumEpochRequest, version int16) kmsg.Request {
	r := kmsg.NewPtrBeginQuorumEpochRequest()
	r.Version, r.ClusterID, r.VoterID = version, m.ClusterID, int32(m.Voter.ID)
	p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
	p.VoterDirectoryID, p.LeaderID, p.LeaderEpoch = m.Voter.DirectoryID, int32(m.LeaderID), int32(m.LeaderEpoch)
	t := kmsg.NewBeginQuorumEpochRequestTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	for _, v := range c.cfg.Endpoints {
		e := kmsg.NewBeginQuorumEpochRequestLeaderEndpoint()
		e.Name, e.Host, e.Port = v.Listener, v.Host, v.Port
		r.LeaderEndpoints = append(r.LeaderEndpoints, e)
	}
	return r
}

func (c *Client) encodeEnd(m raft.EndQuorumEpochRequest, version int16) kmsg.Request {
	r := kmsg.NewPtrEndQuorumEpochRequest()
	r.Version, r.ClusterID = version, m.ClusterID
	p := kmsg.NewEndQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch = int32(m.LeaderID), int32(m.LeaderEpoch)
	for _, s := range m.PreferredSuccessors {
		p.PreferredSuccessors = append(p.PreferredSuccessors, int32(s.ID))
		cand := kmsg.NewEndQuorumEpochRequestTopicPartitionPreferredCandidate()
		cand.CandidateID, cand.CandidateDirectoryID = int32(s.ID), s.DirectoryID
		p.PreferredCandidates = append(p.PreferredCandidates, cand)
	}
	t := kmsg.NewEndQuorumEpochRequestTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	for _, v := range c.cfg.Endpoints {
		e := kmsg.NewEndQuorumEpochRequestLeaderEndpoint()
		e.Name, e.Host, e.Port = v.Listener, v.Host, v.Port
		r.LeaderEndpoints = append(r.LeaderEndpoints, e)
	}
	return r
}

func encodeFetchSnapshot(m raft.FetchSnapshotRequest, version int16) kmsg.Request {
	r := kmsg.NewPtrFetchSnapshotRequest()
	r.Version, r.ClusterID, r.ReplicaID, r.MaxBytes = version, m.ClusterID, int32(m.Replica.ID), m.MaxBytes
	p := kmsg.NewFetchSnapshotRequestTopicPartition()
	p.CurrentLeaderEpoch, p.Position = int32(m.CurrentLeaderEpoch), m.Position
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(m.Snapshot.EndOffset), int32(m.Snapshot.Epoch)
	if version >= 1 {
		p.ReplicaDirectoryID = m.Replica.DirectoryID
	}
	t := kmsg.NewFetchSnapshotRequestTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

var errNoPartition = errors.New("the answer has no partition of " + kafka.MetadataTopic)

// decodeResponse makes the machine's response of Kafka's. With a top-level
// error there may be no partition.
func decodeResponse(resp kmsg.Response) (raft.Message, error) {
	switch r := resp.(type) {
	case *kmsg.FetchResponse:
		return decodeFetch(r)
	case *kmsg.VoteResponse:
		m := raft.VoteResponse{Error: kafka.ErrorCode(r.ErrorCode), LeaderID: raft.None}
		if len(r.Topics) == 1 && len(r.Topics[0].Partitions) == 1 {
			p := r.Topics[0].Partitions[0]
			m.PartitionError, m.LeaderID, m.LeaderEpoch = kafka.ErrorCode(p.ErrorCode), kafka.BrokerID(p.LeaderID), kafka.LeaderEpoch(p.LeaderEpoch)
			m.Granted = p.VoteGranted
			return m, nil
		}
		return m, noPartition(r.ErrorCode)
	case *kmsg.BeginQuorumEpochResponse:
		m := raft.BeginQuorumEpochResponse{Error: kafka.ErrorCode(r.ErrorCode), LeaderID: raft.None}
		if len(r.Topics) == 1 && len(r.Topics[0].Partitions) == 1 {
			p := r.Topics[0].Partitions[0]
			m.PartitionError, m.LeaderID, m.LeaderEpoch = kafka.ErrorCode(p.ErrorCode), kafka.BrokerID(p.LeaderID), kafka.LeaderEpoch(p.LeaderEpoch)
			return m, nil
		}
		return m, noPartition(r.ErrorCode)
	case *kmsg.EndQuorumEpochResponse:
		m := raft.EndQuorumEpochResponse{Error: kafka.ErrorCode(r.ErrorCode), LeaderID: raft.None}
		if len(r.Topics) == 1 && len(r.Topics[0].Partitions) == 1 {
			p := r.Topics[0].Partitions[0]
			m.PartitionError, m.LeaderID, m.LeaderEpoch = kafka.ErrorCode(p.ErrorCode), kafka.BrokerID(p.LeaderID), kafka.LeaderEpoch(p.LeaderEpoch)
			return m, nil
		}
		return m, noPartition(r.ErrorCode)
	case *kmsg.FetchSnapshotResponse:
		return decodeFetchSnapshot(r)
	case *kmsg.ApiVersionsResponse:
		return decodeAPIVersions(r), nil
	case *kmsg.AddRaftVoterResponse:
		return raft.AddVoterResponse{Error: kafka.ErrorCode(r.ErrorCode)}, nil
	case *kmsg.RemoveRaftVoterResponse:
		return raft.RemoveVoterResponse{Error: kafka.ErrorCode(r.ErrorCode)}, nil
	case *kmsg.UpdateRaftVoterResponse:
		return decodeUpdateVoter(r), nil
	}
	return nil, fmt.Errorf("response %T is unknown to the driver", resp)
}

func noPartition(code int16) error {
	if code != 0 {
		return nil
	}
	return errNoPartition
}

func decodeFetch(r *kmsg.FetchResponse) (raft.Message, error) {
	m := raft.FetchResponse{Error: kafka.ErrorCode(r.ErrorCode), LeaderID: raft.None, HighWatermark: kafka.NoOffset}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return m, noPartition(r.ErrorCode)
	}
	p := r.Topics[0].Partitions[0]
	m.PartitionError = kafka.ErrorCode(p.ErrorCode)
	m.LeaderID, m.LeaderEpoch = kafka.BrokerID(p.CurrentLeader.LeaderID), kafka.LeaderEpoch(max(p.CurrentLeader.LeaderEpoch, 0))
	m.HighWatermark, m.LogStartOffset = kafka.Offset(p.HighWatermark), kafka.Offset(max(p.LogStartOffset, 0))
	if d := p.DivergingEpoch; d.Epoch >= 0 && d.EndOffset >= 0 {
		m.Diverging = &raft.EpochEndOffset{Epoch: kafka.LeaderEpoch(d.Epoch), EndOffset: kafka.Offset(d.EndOffset)}
	}
	if s := p.SnapshotID; s.Epoch >= 0 && s.EndOffset >= 0 {
		m.Snapshot = &raft.SnapshotID{EndOffset: kafka.Offset(s.EndOffset), Epoch: kafka.LeaderEpoch(s.Epoch)}
	}
	raw, err := checkedBatches(p.RecordBatches, &m)
	if err != nil {
		return nil, fmt.Errorf("fetched records: %w", err)
	}
	if len(raw) > 0 {
		m.Records = raw
	}
	return m, nil
}

// checkedBatches checks every whole batch of raw, describes it in m, and gives
// the bytes of those.
func checkedBatches(raw []byte, m *raft.FetchResponse) ([]byte, error) {
	end := 0
	for end < len(raw) {
		h, err := metalog.ReadHeader(raw[end:])
		if err == nil {
			err = h.Verify(raw[end:])
		}
		if errors.Is(err, metalog.ErrShort) {
			break
		}
		if err != nil {
			return nil, err
		}
		b := raft.Batch{BaseOffset: h.BaseOffset, LastOffset: h.EndOffset - 1, Epoch: h.Epoch}
		if h.Control {
			if b.Changes, err = QuorumChanges(raw[end:]); err != nil {
				return nil, err
			}
		}
		m.Batches = append(m.Batches, b)
		end += h.SizeBytes
	}
	return raw[:end], nil
}

// QuorumChanges gives what the control records of a batch change of the quorum.
func QuorumChanges(raw []byte) ([]raft.QuorumChange, error) {
	b, _, err := metalog.ReadBatch(raw)
	if err != nil {
		return nil, err
	}
	changes, err := b.QuorumChanges()
	return changesFromLog(changes), err
}

func decodeFetchSnapshot(r *kmsg.FetchSnapshotResponse) (raft.Message, error) {
	m := raft.FetchSnapshotResponse{Error: kafka.ErrorCode(r.ErrorCode), LeaderID: raft.None}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return m, noPartition(r.ErrorCode)
	}
	p := r.Topics[0].Partitions[0]
	m.PartitionError = kafka.ErrorCode(p.ErrorCode)
	m.LeaderID, m.LeaderEpoch = kafka.BrokerID(p.CurrentLeader.LeaderID), kafka.LeaderEpoch(p.CurrentLeader.LeaderEpoch)
	m.Snapshot = raft.SnapshotID{EndOffset: kafka.Offset(p.SnapshotID.EndOffset), Epoch: kafka.LeaderEpoch(p.SnapshotID.Epoch)}
	m.Size, m.Position, m.Data = p.Size, p.Position, p.Bytes
	return m, nil
}

// highWatermarkOf is the one in a fetch, by its version.
func highWatermarkOf(version int16, hw int64) kafka.Offset {
	if version < 18 || hw == math.MaxInt64 {
		return raft.HighWatermarkUnsupported
	}
	return kafka.Offset(hw)
}
