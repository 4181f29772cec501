package metalog

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// ControlType is the type in the key of a control record.
type ControlType int16

// The control records of a metadata log. Those of producer transactions (0, 1)
// never occur in one.
const (
	LeaderChangeType   ControlType = 2
	SnapshotHeaderType ControlType = 3
	SnapshotFooterType ControlType = 4
	KRaftVersionType   ControlType = 5
	KRaftVotersType    ControlType = 6
)

// LeaderChange opens an epoch: the leader, the voters of the epoch and those
// that granted their vote. Version 1 has their directory ids; Kafka up to 4.4.0
// writes version 0, with dynamic voters too, and reads both.
type LeaderChange struct {
	Version        int16
	Leader         kafka.BrokerID
	Voters         []VoterKey
	GrantingVoters []VoterKey
}

// SnapshotHeader opens a snapshot. LastContainedLogTimestamp is the timestamp
// of the last batch it covers, ms since 1970.
type SnapshotHeader struct {
	LastContainedLogTimestamp int64
}

// ControlTypeOf reads the type from the key of a control record.
func ControlTypeOf(key []byte) (ControlType, error) {
	if len(key) < 4 {
		return 0, fmt.Errorf("control record key has %d bytes, want 4", len(key))
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

func controlRecord(t ControlType, value []byte) Record {
	key := make([]byte, 4) // version 0, then the type
	binary.BigEndian.PutUint16(key[2:], uint16(t))
	return Record{Key: key, Value: value}
}

// Record encodes m as a control record.
func (m LeaderChange) Record() Record {
	msg := kmsg.LeaderChangeMessage{
		Version: m.Version, LeaderID: int32(m.Leader), Voters: m.encode(m.Voters), GrantingVoters: m.encode(m.GrantingVoters),
	}
	return controlRecord(LeaderChangeType, msg.AppendTo(nil))
}

func (m LeaderChange) encode(keys []VoterKey) []kmsg.LeaderChangeMessageVoter {
	vs := make([]kmsg.LeaderChangeMessageVoter, len(keys))
	for i, k := range keys {
		vs[i].VoterID = int32(k.ID)
		if m.Version > 0 {
			vs[i].VoterDirectoryID = k.Directory
		}
	}
	return vs
}

// ParseLeaderChange decodes the value of a LeaderChange record, version 0 or 1.
func ParseLeaderChange(value []byte) (LeaderChange, error) {
	if err := checkVersion("LeaderChange", value, 1); err != nil {
		return LeaderChange{}, err
	}
	// Every voter takes 2 bytes at least: the bound on what is allocated.
	var msg kmsg.LeaderChangeMessage
	if err := msg.ReadFrom(value); err != nil {
		return LeaderChange{}, fmt.Errorf("LeaderChange record: %w", err)
	}
	return LeaderChange{
		Version: msg.Version, Leader: kafka.BrokerID(msg.LeaderID),
		Voters: decodeVoterKeys(msg.Voters), GrantingVoters: decodeVoterKeys(msg.GrantingVoters),
	}, nil
}

func decodeVoterKeys(vs []kmsg.LeaderChangeMessageVoter) []VoterKey {
	var keys []VoterKey
	for _, v := range vs {
		keys = append(keys, VoterKey{kafka.BrokerID(v.VoterID), v.VoterDirectoryID})
	}
	return keys
}

// Record encodes h as a control record.
func (h SnapshotHeader) Record() Record {
	v := kbin.AppendInt16(nil, 0)
	v = kbin.AppendInt64(v, h.LastContainedLogTimestamp)
	return controlRecord(SnapshotHeaderType, append(v, 0)) // no tagged fields
}

// ParseSnapshotHeader decodes the value of a SnapshotHeader record.
func ParseSnapshotHeader(value []byte) (SnapshotHeader, error) {
	if err := checkVersion("SnapshotHeader", value, 0); err != nil {
		return SnapshotHeader{}, err
	}
	if len(value) < 10 {
		return SnapshotHeader{}, fmt.Errorf("SnapshotHeader record has %d bytes, want 11", len(value))
	}
	return SnapshotHeader{LastContainedLogTimestamp: int64(binary.BigEndian.Uint64(value[2:]))}, nil
}

// snapshotFooterRecord closes a snapshot: a version and no tagged fields.
func snapshotFooterRecord() Record { return controlRecord(SnapshotFooterType, []byte{0, 0, 0}) }

func checkVersion(name string, value []byte, highest uint16) error {
	if len(value) < 2 {
		return fmt.Errorf("%s record has %d bytes", name, len(value))
	}
	if v := binary.BigEndian.Uint16(value); v > highest {
		return fmt.Errorf("%s record has version %d, at most %d is known", name, v, highest)
	}
	return nil
}
