package metalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"kbench/kafka"
)

// maxQuorumState bounds the file that is read: 100 voters take 2 KB.
const maxQuorumState = 64 << 10

// QuorumState is what a voter must not forget: the epoch, who leads it and for
// whom it voted. Leader and Voted are -1 where there is none.
type QuorumState struct {
	Leader         kafka.BrokerID
	Epoch          kafka.LeaderEpoch
	Voted          kafka.BrokerID
	VotedDirectory kafka.UUID // version 1 only; zero where unknown

	// Version is the format: 0 with static voters, 1 with dynamic ones
	// (kraft.version 1).
	Version int16
	// Voters is part of version 0 only, where it is not read by anybody but
	// people.
	Voters []kafka.BrokerID
}

type quorumStateV0 struct {
	ClusterID     string          `json:"clusterId"`
	LeaderID      int32           `json:"leaderId"`
	LeaderEpoch   int32           `json:"leaderEpoch"`
	VotedID       int32           `json:"votedId"`
	AppliedOffset int64           `json:"appliedOffset"`
	CurrentVoters []quorumVoterV0 `json:"currentVoters"`
	DataVersion   int16           `json:"data_version"`
}

type quorumVoterV0 struct {
	VoterID int32 `json:"voterId"`
}

type quorumStateV1 struct {
	LeaderID         int32  `json:"leaderId"`
	LeaderEpoch      int32  `json:"leaderEpoch"`
	VotedID          int32  `json:"votedId"`
	VotedDirectoryID string `json:"votedDirectoryId"`
	DataVersion      int16  `json:"data_version"`
}

// Encode gives the JSON as Kafka writes it.
func (s QuorumState) Encode() ([]byte, error) {
	switch s.Version {
	case 0:
		v := quorumStateV0{
			LeaderID: int32(s.Leader), LeaderEpoch: int32(s.Epoch), VotedID: int32(s.Voted),
			CurrentVoters: []quorumVoterV0{},
		}
		for _, id := range s.Voters {
			v.CurrentVoters = append(v.CurrentVoters, quorumVoterV0{int32(id)})
		}
		return json.Marshal(v)
	case 1:
		return json.Marshal(quorumStateV1{
			int32(s.Leader), int32(s.Epoch), int32(s.Voted), s.VotedDirectory.String(), 1,
		})
	}
	return nil, fmt.Errorf("quorum-state version %d is unknown", s.Version)
}

// DecodeQuorumState reads either version. Unknown fields are ignored, an
// unknown version is not.
func DecodeQuorumState(b []byte) (QuorumState, error) {
	var v struct {
		LeaderID         *int32          `json:"leaderId"`
		LeaderEpoch      *int32          `json:"leaderEpoch"`
		VotedID          int32           `json:"votedId"`
		VotedDirectoryID string          `json:"votedDirectoryId"`
		CurrentVoters    []quorumVoterV0 `json:"currentVoters"`
		DataVersion      *int16          `json:"data_version"`
	}
	v.VotedID = -1
	if len(b) > maxQuorumState {
		return QuorumState{}, fmt.Errorf("%d bytes, at most %d", len(b), maxQuorumState)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&v); err != nil {
		return QuorumState{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return QuorumState{}, errors.New("text behind the JSON object")
	}
	switch {
	case v.DataVersion == nil || v.LeaderID == nil || v.LeaderEpoch == nil:
		return QuorumState{}, errors.New("leaderId, leaderEpoch or data_version is missing")
	case *v.DataVersion < 0 || *v.DataVersion > 1:
		return QuorumState{}, fmt.Errorf("data_version %d is unknown; 0 and 1 are read", *v.DataVersion)
	case *v.LeaderEpoch < 0 || *v.LeaderID < -1 || v.VotedID < -1:
		return QuorumState{}, errors.New("negative epoch or id")
	}
	s := QuorumState{
		Leader: kafka.BrokerID(*v.LeaderID), Epoch: kafka.LeaderEpoch(*v.LeaderEpoch),
		Voted: kafka.BrokerID(v.VotedID), Version: *v.DataVersion,
	}
	if s.Version == 0 {
		for _, voter := range v.CurrentVoters {
			s.Voters = append(s.Voters, kafka.BrokerID(voter.VoterID))
		}
		return s, nil
	}
	if v.VotedDirectoryID != "" {
		var err error
		if s.VotedDirectory, err = kafka.ParseUUID(v.VotedDirectoryID); err != nil {
			return QuorumState{}, fmt.Errorf("votedDirectoryId: %w", err)
		}
	}
	return s, nil
}

// ReadQuorumState reads the file; false where there is none yet. A broken one
// is an error: to go on without it could mean voting twice in an epoch.
func ReadQuorumState(fs FS, path string) (QuorumState, bool, error) {
	b, err := fs.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return QuorumState{}, false, nil
	}
	if err != nil {
		return QuorumState{}, false, err
	}
	s, err := DecodeQuorumState(b)
	if err != nil {
		return QuorumState{}, false, fmt.Errorf("%s: %w: the node may have voted and not know it; %s", path, err, StartAnew)
	}
	return s, true, nil
}

// WriteQuorumState replaces the file atomically; when it returns nil the state
// is durable.
func WriteQuorumState(fs FS, path string, s QuorumState) error {
	b, err := s.Encode()
	if err == nil {
		err = WriteAtomic(fs, path, b)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, Cured(err))
	}
	return nil
}
