package raftclient

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// kraftVersionFeature is the feature whose level says how voters change.
const kraftVersionFeature = "kraft.version"

// clientSoftware is how this client introduces itself in ApiVersions.
const clientSoftware = "kbench"

func encodeAPIVersions() kmsg.Request {
	r := kmsg.NewPtrApiVersionsRequest()
	r.Version, r.ClientSoftwareName, r.ClientSoftwareVersion = 4, clientSoftware, "1"
	return r
}

func decodeAPIVersions(r *kmsg.ApiVersionsResponse) raft.Message {
	m := raft.APIVersionsResponse{Error: kafka.ErrorCode(r.ErrorCode)}
	for _, f := range r.SupportedFeatures {
		if f.Name == kraftVersionFeature {
			m.KRaftVersions = raft.VersionRange{Min: f.MinVersion, Max: f.MaxVersion}
		}
	}
	return m
}

func encodeAddVoter(m raft.AddVoterRequest, version int16) kmsg.Request {
	r := kmsg.NewPtrAddRaftVoterRequest()
	r.Version, r.ClusterID, r.TimeoutMillis = version, m.ClusterID, int32(m.Timeout/time.Millisecond)
	r.VoterID, r.VoterDirectoryID, r.AckWhenCommitted = int32(m.Voter.ID), m.Voter.DirectoryID, m.AckWhenCommitted
	for _, e := range m.Voter.Endpoints {
		l := kmsg.NewAddRaftVoterRequestListener()
		l.Name, l.Host, l.Port = e.Listener, e.Host, e.Port
		r.Listeners = append(r.Listeners, l)
	}
	return r
}

func encodeRemoveVoter(m raft.RemoveVoterRequest, version int16) kmsg.Request {
	r := kmsg.NewPtrRemoveRaftVoterRequest()
	r.Version, r.ClusterID, r.VoterID, r.VoterDirectoryID = version, m.ClusterID, int32(m.Voter.ID), m.Voter.DirectoryID
	return r
}

func encodeUpdateVoter(m raft.UpdateVoterRequest, version int16) kmsg.Request {
	r := kmsg.NewPtrUpdateRaftVoterRequest()
	r.Version, r.ClusterID, r.CurrentLeaderEpoch = version, m.ClusterID, int32(m.CurrentLeaderEpoch)
	r.VoterID, r.VoterDirectoryID = int32(m.Voter.ID), m.Voter.DirectoryID
	r.KRaftVersionFeature.MinSupportedVersion, r.KRaftVersionFeature.MaxSupportedVersion = m.Voter.KRaftVersions.Min, m.Voter.KRaftVersions.Max
	for _, e := range m.Voter.Endpoints {
		l := kmsg.NewUpdateRaftVoterRequestListener()
		l.Name, l.Host, l.Port = e.Listener, e.Host, e.Port
		r.Listeners = append(r.Listeners, l)
	}
	return r
}

func decodeUpdateVoter(r *kmsg.UpdateRaftVoterResponse) raft.Message {
	return raft.UpdateVoterResponse{
		Error: kafka.ErrorCode(r.ErrorCode), LeaderID: kafka.BrokerID(r.CurrentLeader.LeaderID),
		LeaderEpoch: kafka.LeaderEpoch(max(r.CurrentLeader.LeaderEpoch, 0)),
	}
}

func (c *Client) serveAddVoter(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.AddRaftVoterRequest)
	v := raft.Voter{ReplicaKey: raft.ReplicaKey{ID: kafka.BrokerID(req.VoterID), DirectoryID: req.VoterDirectoryID}}
	for _, l := range req.Listeners {
		v.Endpoints = append(v.Endpoints, kafka.Endpoint{Listener: l.Name, Host: l.Host, Port: l.Port})
	}
	a, err := c.ask(ctx, raft.AddVoterRequest{
		ClusterID: req.ClusterID, Timeout: time.Duration(req.TimeoutMillis) * time.Millisecond, Voter: v,
		AckWhenCommitted: req.Version < 1 || req.AckWhenCommitted,
	})
	if err != nil {
		return nil, err
	}
	m := a.msg.(raft.AddVoterResponse)
	resp := kmsg.NewPtrAddRaftVoterResponse()
	resp.ErrorCode, resp.ErrorMessage = int16(m.Error), textOrNull(m.Text)
	return resp, nil
}

func (c *Client) serveRemoveVoter(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.RemoveRaftVoterRequest)
	a, err := c.ask(ctx, raft.RemoveVoterRequest{
		ClusterID: req.ClusterID, Voter: raft.ReplicaKey{ID: kafka.BrokerID(req.VoterID), DirectoryID: req.VoterDirectoryID},
	})
	if err != nil {
		return nil, err
	}
	m := a.msg.(raft.RemoveVoterResponse)
	resp := kmsg.NewPtrRemoveRaftVoterResponse()
	resp.ErrorCode, resp.ErrorMessage = int16(m.Error), textOrNull(m.Text)
	return resp, nil
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (c *Client) serveUpdateVoter(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.UpdateRaftVoterRequest)
	v := raft.Voter{
		ReplicaKey:    raft.ReplicaKey{ID: kafka.BrokerID(req.VoterID), DirectoryID: req.VoterDirectoryID},
		KRaftVersions: raft.VersionRange{Min: req.KRaftVersionFeature.MinSupportedVersion, Max: req.KRaftVersionFeature.MaxSupportedVersion},
	}
	for _, l := range req.Listeners {
		v.Endpoints = append(v.Endpoints, kafka.Endpoint{Listener: l.Name, Host: l.Host, Port: l.Port})
	}
	a, err := c.ask(ctx, raft.UpdateVoterRequest{ClusterID: req.ClusterID, CurrentLeaderEpoch: kafka.LeaderEpoch(req.CurrentLeaderEpoch), Voter: v})
	if err != nil {
		return nil, err
	}
	m := a.msg.(raft.UpdateVoterResponse)
	resp := kmsg.NewPtrUpdateRaftVoterResponse()
	resp.ErrorCode = int16(m.Error)
	resp.CurrentLeader.LeaderID, resp.CurrentLeader.LeaderEpoch = int32(m.LeaderID), int32(m.LeaderEpoch)
	if e, ok := c.Endpoint(m.LeaderID); ok {
		resp.CurrentLeader.Host, resp.CurrentLeader.Port = e.Host, int32(e.Port)
	}
	return resp, nil
}

// UpgradeKRaftVersion finalizes a level of kraft.version in the epoch that this
// node leads: from 1 on the log has the voters, and they can change. The error
// is a kafka.ErrorCode with its reason: NOT_LEADER_OR_FOLLOWER, or
// INVALID_UPDATE_VERSION. It returns when the record is appended.
func (c *Client) UpgradeKRaftVersion(ctx context.Context, epoch kafka.LeaderEpoch, level int16, validateOnly bool) error {
	a, err := c.ask(ctx, raft.UpgradeRequest{Epoch: epoch, KRaftVersion: level, ValidateOnly: validateOnly})
	if err != nil {
		return err
	}
	if m := a.msg.(raft.UpgradeResponse); m.Error != kafka.None {
		return fmt.Errorf("%w: %s", m.Error, m.Text)
	}
	return nil
}

// Quorum gives the level of kraft.version and the voters that count now,
// committed or not. The caller must not write to them.
func (c *Client) Quorum() raft.Quorum {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.quorum
}

// Endpoints is where this node listens as a controller. The caller must not
// write to it.
func (c *Client) Endpoints() []kafka.Endpoint { return c.cfg.Endpoints }

// Endpoint is where a node of the quorum listens, this one among them; false where
// that is not known.
func (c *Client) Endpoint(id kafka.BrokerID) (kafka.Endpoint, bool) {
	if id == c.cfg.NodeID {
		if e, ok := endpointOf(c.cfg.Endpoints, c.cfg.ListenerName); ok {
			return e, true
		}
	}
	return c.addrs.of(id)
}

func votersToLog(voters []raft.Voter) []metalog.Voter {
	out := make([]metalog.Voter, len(voters))
	for i, v := range voters {
		out[i] = metalog.Voter{
			VoterKey:  metalog.VoterKey{ID: v.ID, Directory: v.DirectoryID},
			Endpoints: v.Endpoints, MinLevel: v.KRaftVersions.Min, MaxLevel: v.KRaftVersions.Max,
		}
	}
	return out
}

func votersFromLog(voters []metalog.Voter) []raft.Voter {
	out := make([]raft.Voter, len(voters))
	for i, v := range voters {
		out[i] = raft.Voter{
			ReplicaKey: raft.ReplicaKey{ID: v.ID, DirectoryID: v.Directory},
			Endpoints:  v.Endpoints, KRaftVersions: raft.VersionRange{Min: v.MinLevel, Max: v.MaxLevel},
		}
	}
	return out
}

func quorumFromLog(q metalog.Quorum) raft.Quorum {
	return raft.Quorum{KRaftVersion: q.Level, Voters: votersFromLog(q.Voters)}
}

func changesFromLog(changes []metalog.QuorumChange) []raft.QuorumChange {
	var out []raft.QuorumChange
	for _, c := range changes {
		r := raft.QuorumChange{Offset: c.Offset, KRaftVersion: c.Level}
		if c.Voters != nil {
			r.Voters = votersFromLog(c.Voters)
		}
		out = append(out, r)
	}
	return out
}

// changeRecords are the control records of changes.
func changeRecords(changes []raft.QuorumChange) []metalog.Record {
	var out []metalog.Record
	for _, c := range changes {
		if c.KRaftVersion != raft.Unchanged {
			out = append(out, metalog.KRaftVersion{Level: c.KRaftVersion}.Record())
		}
		if c.Voters != nil {
			out = append(out, metalog.Voters{Voters: votersToLog(c.Voters)}.Record())
		}
	}
	return slices.Clip(out)
}
