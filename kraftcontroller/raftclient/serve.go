package raftclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// call is a request of another node that waits for the machine's answer.
type call struct {
	id     uint64
	answer chan answer // capacity 1
}

// answer is the machine's, with the records of a fetch.
type answer struct {
	msg raft.Message
	raw []byte
}

// APIs are what a voter serves to the quorum and to observers. They answer as
// long as Run runs.
func (c *Client) APIs() []wire.API {
	fetchMax := int16(18)
	if c.cfg.DisableHWPush {
		fetchMax = 17
	}
	apis := []wire.API{
		{Key: keyFetch, MinVersion: 12, MaxVersion: fetchMax, Handle: c.serveFetch},
		{Key: keyVote, MinVersion: 0, MaxVersion: 2, Handle: c.serveVote},
		{Key: keyBeginQuorumEpoch, MinVersion: 0, MaxVersion: 1, Handle: c.serveBegin},
		{Key: keyEndQuorumEpoch, MinVersion: 0, MaxVersion: 1, Handle: c.serveEnd},
		{Key: keyDescribeQuorum, MinVersion: 0, MaxVersion: 2, Handle: c.serveDescribe},
		{Key: keyFetchSnapshot, MinVersion: 0, MaxVersion: 1, Handle: c.serveFetchSnapshot},
		{Key: keyAddVoter, MinVersion: 0, MaxVersion: 1, Handle: c.serveAddVoter},
		{Key: keyRemoveVoter, MinVersion: 0, MaxVersion: 0, Handle: c.serveRemoveVoter},
		{Key: keyUpdateVoter, MinVersion: 0, MaxVersion: 0, Handle: c.serveUpdateVoter},
	}
	for i := range apis {
		apis[i].Handle = unlessGone(c.counted(apis[i].Handle))
	}
	return apis
}

// unlessGone answers nothing to a client that has left: that is no failure of
// its connection worth a line in the log.
func unlessGone(h wire.Handler) wire.Handler {
	return func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
		resp, err := h(ctx, r)
		if err != nil && ctx.Err() != nil {
			return nil, nil
		}
		return resp, err
	}
}

// ask hands a request to the machine and waits for its answer.
func (c *Client) ask(ctx context.Context, msg raft.Message) (answer, error) {
	cl := &call{id: c.ids.Add(1), answer: make(chan answer, 1)}
	if err := c.send(ctx, event{in: raft.Request{ID: cl.id, Message: msg}, call: cl}); err != nil {
		return answer{}, err
	}
	select {
	case a := <-cl.answer:
		return a, nil
	case <-c.stopped:
		return answer{}, ErrClosed
	case <-ctx.Done():
		// The wait for room is bounded by the owner's life.
		if err := c.post(context.WithoutCancel(ctx), raft.Cancel{ID: cl.id}); err != nil {
			return answer{}, err
		}
		return answer{}, ctx.Err()
	}
}

// reply hands the machine's answer to its handler. The records of a fetch are
// read here, before the machine can truncate them.
func (c *Client) reply(r raft.Reply) error {
	cl := c.calls[r.ID]
	if cl == nil {
		return nil // cancelled
	}
	delete(c.calls, r.ID)
	a := answer{msg: r.Message}
	if f, ok := r.Message.(raft.FetchResponse); ok && f.Read != nil {
		var err error
		if a.raw, err = c.read(*f.Read); err != nil {
			return err
		}
	}
	cl.answer <- a
	return nil
}

func (c *Client) read(r raft.Read) ([]byte, error) {
	end := c.log.EndOffset()
	if rc := &c.lastRead; rc.raw != nil && rc.from == r.From && rc.end == end && rc.maxBytes == r.MaxBytes {
		return rc.raw, nil
	}
	raw, err := c.log.Read(r.From, int(r.MaxBytes))
	if err != nil {
		return nil, err
	}
	c.lastRead = readCache{from: r.From, end: end, maxBytes: r.MaxBytes, raw: raw}
	return raw, nil
}

func (c *Client) serveFetch(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.FetchRequest)
	resp := kmsg.NewPtrFetchResponse()
	if len(req.Topics) != 1 || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 ||
		(req.Version < 13 && req.Topics[0].Topic != kafka.MetadataTopic) ||
		(req.Version >= 13 && req.Topics[0].TopicID != kafka.MetadataTopicID) {
		resp.ErrorCode = int16(kafka.InvalidRequest)
		return resp, nil
	}
	p := req.Topics[0].Partitions[0]
	replica := req.ReplicaID
	if req.Version >= 15 {
		replica = req.ReplicaState.ID
	}
	maxBytes := min(req.MaxBytes, p.PartitionMaxBytes)
	if maxBytes <= 0 {
		maxBytes = max(req.MaxBytes, 1)
	}
	a, err := c.ask(ctx, raft.FetchRequest{
		ClusterID: req.ClusterID, Replica: raft.ReplicaKey{ID: kafka.BrokerID(replica), DirectoryID: p.ReplicaDirectoryID},
		CurrentLeaderEpoch: kafka.LeaderEpoch(p.CurrentLeaderEpoch), FetchOffset: kafka.Offset(p.FetchOffset),
		LastFetchedEpoch: kafka.LeaderEpoch(p.LastFetchedEpoch),
		MaxWait:          time.Duration(max(req.MaxWaitMillis, 0)) * time.Millisecond, MaxBytes: min(maxBytes, maxBatchBytes),
		HighWatermark: highWatermarkOf(req.Version, p.HighWatermark),
	})
	if err != nil {
		return nil, err
	}
	m := a.msg.(raft.FetchResponse)
	resp.ErrorCode = int16(m.Error)
	if m.Error != kafka.None {
		return resp, nil
	}
	out := kmsg.NewFetchResponseTopicPartition()
	out.ErrorCode, out.HighWatermark, out.LogStartOffset = int16(m.PartitionError), int64(m.HighWatermark), int64(m.LogStartOffset)
	out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = int32(m.LeaderID), int32(m.LeaderEpoch)
	if m.Diverging != nil {
		out.DivergingEpoch.Epoch, out.DivergingEpoch.EndOffset = int32(m.Diverging.Epoch), int64(m.Diverging.EndOffset)
	}
	if m.Snapshot != nil {
		out.SnapshotID.Epoch, out.SnapshotID.EndOffset = int32(m.Snapshot.Epoch), int64(m.Snapshot.EndOffset)
	}
	out.RecordBatches = a.raw
	t := kmsg.NewFetchResponseTopic()
	t.Topic, t.TopicID, t.Partitions = req.Topics[0].Topic, req.Topics[0].TopicID, append(t.Partitions, out)
	resp.Topics = append(resp.Topics, t)
	if v, ok := c.Endpoint(m.LeaderID); ok && req.Version >= 16 {
		b := kmsg.NewFetchResponseBroker()
		b.NodeID, b.Host, b.Port = int32(m.LeaderID), v.Host, int32(v.Port)
		resp.Brokers = append(resp.Brokers, b)
	}
	return resp, nil
}

func (c *Client) serveVote(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.VoteRequest)
	resp := kmsg.NewPtrVoteResponse()
	if len(req.Topics) != 1 || req.Topics[0].Topic != kafka.MetadataTopic || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 {
		resp.ErrorCode = int16(kafka.InvalidRequest)
		return resp, nil
	}
	p := req.Topics[0].Partitions[0]
	a, err := c.ask(ctx, raft.VoteRequest{
		ClusterID: req.ClusterID,
		Voter:     raft.ReplicaKey{ID: kafka.BrokerID(req.VoterID), DirectoryID: p.VoterDirectoryID},
		Epoch:     kafka.LeaderEpoch(p.CandidateEpoch),
		Candidate: raft.ReplicaKey{ID: kafka.BrokerID(p.CandidateID), DirectoryID: p.CandidateDirectoryID},
		LastEpoch: kafka.LeaderEpoch(p.LastOffsetEpoch), LastOffset: kafka.Offset(p.LastOffset), PreVote: p.PreVote,
	})
	if err != nil {
		return nil, err
	}
	m := a.msg.(raft.VoteResponse)
	resp.ErrorCode = int16(m.Error)
	if m.Error != kafka.None {
		return resp, nil
	}
	out := kmsg.NewVoteResponseTopicPartition()
	out.ErrorCode, out.LeaderID, out.LeaderEpoch, out.VoteGranted = int16(m.PartitionError), int32(m.LeaderID), int32(m.LeaderEpoch), m.Granted
	t := kmsg.NewVoteResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, out)
	resp.Topics = append(resp.Topics, t)
	if v, ok := c.Endpoint(m.LeaderID); ok && req.Version >= 1 {
		e := kmsg.NewVoteResponseNodeEndpoint()
		e.NodeID, e.Host, e.Port = int32(m.LeaderID), v.Host, v.Port
		resp.NodeEndpoints = append(resp.NodeEndpoints, e)
	}
	return resp, nil
}

func (c *Client) serveBegin(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.BeginQuorumEpochRequest)
	resp := kmsg.NewPtrBeginQuorumEpochResponse()
	if len(req.Topics) != 1 || req.Topics[0].Topic != kafka.MetadataTopic || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 {
		resp.ErrorCode = int16(kafka.InvalidRequest)
		return resp, nil
	}
	p := req.Topics[0].Partitions[0]
	a, err := c.ask(ctx, raft.BeginQuorumEpochRequest{
		ClusterID: req.ClusterID,
		Voter:     raft.ReplicaKey{ID: kafka.BrokerID(req.VoterID), DirectoryID: p.VoterDirectoryID},
		LeaderID:  kafka.BrokerID(p.LeaderID), LeaderEpoch: kafka.LeaderEpoch(p.LeaderEpoch),
	})
	if err != nil {
		return nil, err
	}
	m := a.msg.(raft.BeginQuorumEpochResponse)
	resp.ErrorCode = int16(m.Error)
	if m.Error != kafka.None {
		return resp, nil
	}
	if m.PartitionError == kafka.None {
		c.learnLeader(kafka.BrokerID(p.LeaderID), req.LeaderEndpoints)
	}
	out := kmsg.NewBeginQuorumEpochResponseTopicPartition()
	out.ErrorCode, out.LeaderID, out.LeaderEpoch = int16(m.PartitionError), int32(m.LeaderID), int32(m.LeaderEpoch)
	t := kmsg.NewBeginQuorumEpochResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, out)
	resp.Topics = append(resp.Topics, t)
	if v, ok := c.Endpoint(m.LeaderID); ok && req.Version >= 1 {
		e := kmsg.NewBeginQuorumEpochResponseNodeEndpoint()
		e.NodeID, e.Host, e.Port = int32(m.LeaderID), v.Host, v.Port
		resp.NodeEndpoints = append(resp.NodeEndpoints, e)
	}
	return resp, nil
}

// learnLeader notes where a leader is that the machine has accepted: a refused one
// could name any address for any node.
func (c *Client) learnLeader(id kafka.BrokerID, at []kmsg.BeginQuorumEpochRequestLeaderEndpoint) {
	for _, e := range at {
		if e.Name == c.cfg.ListenerName {
			c.addrs.learn(id, e.Host, int32(e.Port))
		}
	}
}

func (c *Client) serveEnd(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.EndQuorumEpochRequest)
	resp := kmsg.NewPtrEndQuorumEpochResponse()
	if len(req.Topics) != 1 || req.Topics[0].Topic != kafka.MetadataTopic || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 {
		resp.ErrorCode = int16(kafka.InvalidRequest)
		return resp, nil
	}
	p := req.Topics[0].Partitions[0]
	m := raft.EndQuorumEpochRequest{
		ClusterID: req.ClusterID, LeaderID: kafka.BrokerID(p.LeaderID), LeaderEpoch: kafka.LeaderEpoch(p.LeaderEpoch),
	}
	for _, id := range p.PreferredSuccessors {
		m.PreferredSuccessors = append(m.PreferredSuccessors, raft.ReplicaKey{ID: kafka.BrokerID(id)})
	}
	for _, k := range p.PreferredCandidates {
		m.PreferredSuccessors = append(m.PreferredSuccessors, raft.ReplicaKey{ID: kafka.BrokerID(k.CandidateID), DirectoryID: k.CandidateDirectoryID})
	}
	a, err := c.ask(ctx, m)
	if err != nil {
		return nil, err
	}
	got := a.msg.(raft.EndQuorumEpochResponse)
	resp.ErrorCode = int16(got.Error)
	if got.Error != kafka.None {
		return resp, nil
	}
	if got.PartitionError == kafka.None {
		c.cfg.Trace.Emit(trace.Event{Kind: trace.ControllerDetected, Epoch: int64(m.LeaderEpoch), Detail: "EndQuorumEpoch"})
	}
	out := kmsg.NewEndQuorumEpochResponseTopicPartition()
	out.ErrorCode, out.LeaderID, out.LeaderEpoch = int16(got.PartitionError), int32(got.LeaderID), int32(got.LeaderEpoch)
	t := kmsg.NewEndQuorumEpochResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, out)
	resp.Topics = append(resp.Topics, t)
	if v, ok := c.Endpoint(got.LeaderID); ok && req.Version >= 1 {
		e := kmsg.NewEndQuorumEpochResponseNodeEndpoint()
		e.NodeID, e.Host, e.Port = int32(got.LeaderID), v.Host, v.Port
		resp.NodeEndpoints = append(resp.NodeEndpoints, e)
	}
	return resp, nil
}

func (c *Client) serveFetchSnapshot(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.FetchSnapshotRequest)
	resp := kmsg.NewPtrFetchSnapshotResponse()
	if len(req.Topics) != 1 || req.Topics[0].Topic != kafka.MetadataTopic || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 {
		resp.ErrorCode = int16(kafka.InvalidRequest)
		return resp, nil
	}
	p := req.Topics[0].Partitions[0]
	a, err := c.ask(ctx, raft.FetchSnapshotRequest{
		ClusterID: req.ClusterID, Replica: raft.ReplicaKey{ID: kafka.BrokerID(req.ReplicaID), DirectoryID: p.ReplicaDirectoryID},
		CurrentLeaderEpoch: kafka.LeaderEpoch(p.CurrentLeaderEpoch),
		Snapshot:           raft.SnapshotID{EndOffset: kafka.Offset(p.SnapshotID.EndOffset), Epoch: kafka.LeaderEpoch(p.SnapshotID.Epoch)},
		Position:           p.Position, MaxBytes: max(1, min(req.MaxBytes, maxBatchBytes)),
	})
	if err != nil {
		return nil, err
	}
	m := a.msg.(raft.FetchSnapshotResponse)
	if m.ReadChunk {
		if m, err = c.readChunk(m); err != nil {
			return nil, err
		}
	}
	resp.ErrorCode = int16(m.Error)
	if m.Error != kafka.None {
		return resp, nil
	}
	out := kmsg.NewFetchSnapshotResponseTopicPartition()
	out.ErrorCode, out.Size, out.Position, out.Bytes = int16(m.PartitionError), m.Size, m.Position, m.Data
	out.SnapshotID.EndOffset, out.SnapshotID.Epoch = int64(m.Snapshot.EndOffset), int32(m.Snapshot.Epoch)
	out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = int32(m.LeaderID), int32(m.LeaderEpoch)
	t := kmsg.NewFetchSnapshotResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, out)
	resp.Topics = append(resp.Topics, t)
	if v, ok := c.Endpoint(m.LeaderID); ok && req.Version >= 1 {
		e := kmsg.NewFetchSnapshotResponseNodeEndpoint()
		e.NodeID, e.Host, e.Port = int32(m.LeaderID), v.Host, v.Port
		resp.NodeEndpoints = append(resp.NodeEndpoints, e)
	}
	return resp, nil
}

// readChunk fills the bytes of a snapshot in. A snapshot never changes, so this
// needs no machine and keeps it free for the quorum.
func (c *Client) readChunk(m raft.FetchSnapshotResponse) (raft.FetchSnapshotResponse, error) {
	s, err := c.log.OpenSnapshot(metalog.SnapshotID(m.Snapshot))
	if errors.Is(err, kafka.SnapshotNotFound) {
		m.PartitionError = kafka.SnapshotNotFound
		return m, nil
	}
	if err != nil {
		return m, err
	}
	defer s.Close()
	m.Size = s.Size()
	if m.Position < 0 || m.Position >= m.Size {
		m.PartitionError = kafka.PositionOutOfRange
		return m, nil
	}
	m.Data = make([]byte, min(int64(m.MaxBytes), m.Size-m.Position))
	if _, err := s.ReadAt(m.Data, m.Position); err != nil && !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("read snapshot %v: %w", s.ID(), err)
	}
	return m, nil
}

func (c *Client) serveDescribe(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.DescribeQuorumRequest)
	resp := kmsg.NewPtrDescribeQuorumResponse()
	if len(req.Topics) != 1 || req.Topics[0].Topic != kafka.MetadataTopic || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 {
		resp.ErrorCode = int16(kafka.InvalidRequest)
		return resp, nil
	}
	a, err := c.ask(ctx, raft.DescribeQuorumRequest{})
	if err != nil {
		return nil, err
	}
	m := a.msg.(raft.DescribeQuorumResponse)
	resp.ErrorCode = int16(m.Error)
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.ErrorCode, p.LeaderID, p.LeaderEpoch, p.HighWatermark = int16(m.PartitionError), int32(m.LeaderID), int32(m.LeaderEpoch), int64(m.HighWatermark)
	p.CurrentVoters, p.Observers = c.replicaStates(m.Voters), c.replicaStates(m.Observers)
	t := kmsg.NewDescribeQuorumResponseTopic()
	t.Topic, t.Partitions = kafka.MetadataTopic, append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	for _, v := range c.Quorum().Voters {
		n := kmsg.NewDescribeQuorumResponseNode()
		n.NodeID = int32(v.ID)
		for _, e := range v.Endpoints {
			l := kmsg.NewDescribeQuorumResponseNodeListener()
			l.Name, l.Host, l.Port = e.Listener, e.Host, e.Port
			n.Listeners = append(n.Listeners, l)
		}
		resp.Nodes = append(resp.Nodes, n)
	}
	return resp, nil
}

func (c *Client) replicaStates(states []raft.ReplicaState) []kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	wall := func(d time.Duration) int64 {
		if d < 0 {
			return -1
		}
		return c.origin.Add(d).UnixMilli()
	}
	var out []kmsg.DescribeQuorumResponseTopicPartitionReplicaState
	for _, s := range states {
		r := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		r.ReplicaID, r.ReplicaDirectoryID, r.LogEndOffset = int32(s.ID), s.DirectoryID, int64(s.LogEndOffset)
		r.LastFetchTimestamp, r.LastCaughtUpTimestamp = wall(s.LastFetch), wall(s.LastCaughtUp)
		out = append(out, r)
	}
	return out
}
