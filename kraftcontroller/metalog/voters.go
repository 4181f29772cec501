package metalog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"

	"kbench/kafka"
)

// VoterKey names one incarnation of a voter: the node and the directory it
// writes to, zero where that is not known (KIP-853).
type VoterKey struct {
	ID        kafka.BrokerID
	Directory kafka.UUID
}

// Voter is a member of a voter set as VotersRecord holds it: where it listens,
// and the levels of kraft.version that it supports.
type Voter struct {
	VoterKey
	Endpoints          []kafka.Endpoint
	MinLevel, MaxLevel int16
}

// KRaftVersion is the finalized level of the feature kraft.version
// (KRaftVersionRecord version 0): 0 static voters, 1 dynamic ones.
type KRaftVersion struct{ Level int16 }

// Voters is a voter set (VotersRecord version 0), by id.
type Voters struct{ Voters []Voter }

// maxVoters bounds a decoded voter set and the endpoints of a voter.
const maxVoters = 1000

// Record encodes m as a control record.
func (m KRaftVersion) Record() Record {
	v := kbin.AppendInt16(nil, 0)
	v = kbin.AppendInt16(v, m.Level)
	return controlRecord(KRaftVersionType, append(v, 0)) // no tagged fields
}

// ParseKRaftVersion decodes the value of a KRaftVersion record.
func ParseKRaftVersion(value []byte) (KRaftVersion, error) {
	if err := checkVersion("KRaftVersion", value, 0); err != nil {
		return KRaftVersion{}, err
	}
	if len(value) < 5 {
		return KRaftVersion{}, fmt.Errorf("KRaftVersion record has %d bytes, want 5", len(value))
	}
	m := KRaftVersion{Level: int16(binary.BigEndian.Uint16(value[2:]))}
	if m.Level < 0 {
		return KRaftVersion{}, fmt.Errorf("KRaftVersion record has the negative level %d", m.Level)
	}
	return m, nil
}

// Record encodes m as a control record.
func (m Voters) Record() Record {
	v := kbin.AppendInt16(nil, 0)
	v = kbin.AppendCompactArrayLen(v, len(m.Voters))
	for _, voter := range m.Voters {
		v = kbin.AppendInt32(v, int32(voter.ID))
		v = append(v, voter.Directory[:]...)
		v = kbin.AppendCompactArrayLen(v, len(voter.Endpoints))
		for _, e := range voter.Endpoints {
			v = kbin.AppendCompactString(v, e.Listener)
			v = kbin.AppendCompactString(v, e.Host)
			v = kbin.AppendUint16(v, e.Port)
			v = append(v, 0)
		}
		v = kbin.AppendInt16(v, voter.MinLevel)
		v = kbin.AppendInt16(v, voter.MaxLevel)
		v = append(v, 0, 0) // tags of the feature and of the voter
	}
	return controlRecord(KRaftVotersType, append(v, 0))
}

// ParseVoters decodes the value of a Voters record. Ids ascend, as Kafka
// writes them; the decoded set is in the record's order.
func ParseVoters(value []byte) (Voters, error) {
	if err := checkVersion("Voters", value, 0); err != nil {
		return Voters{}, err
	}
	r := kbin.Reader{Src: value[2:]}
	n, err := arrayLen(&r)
	if err != nil {
		return Voters{}, fmt.Errorf("Voters record: %w", err)
	}
	var m Voters
	for range n {
		v, err := readVoter(&r)
		if err != nil {
			return Voters{}, fmt.Errorf("Voters record: voter %d of %d: %w", len(m.Voters)+1, n, err)
		}
		m.Voters = append(m.Voters, v)
	}
	skipTags(&r)
	if !r.Ok() {
		return Voters{}, errors.New("Voters record is cut short")
	}
	return m, nil
}

func readVoter(r *kbin.Reader) (Voter, error) {
	v := Voter{VoterKey: VoterKey{ID: kafka.BrokerID(r.Int32()), Directory: r.Uuid()}}
	n, err := arrayLen(r)
	if err != nil {
		return v, err
	}
	for range n {
		e := kafka.Endpoint{Listener: r.CompactString(), Host: r.CompactString(), Port: r.Uint16()}
		skipTags(r)
		if !r.Ok() {
			return v, errors.New("an endpoint is cut short")
		}
		v.Endpoints = append(v.Endpoints, e)
	}
	v.MinLevel, v.MaxLevel = r.Int16(), r.Int16()
	skipTags(r)
	skipTags(r)
	switch {
	case !r.Ok():
		return v, errors.New("its fields are cut short")
	case v.ID < 0:
		return v, fmt.Errorf("id %d is negative", v.ID)
	}
	return v, nil
}

// arrayLen reads the length of a compact array, bounded by what its elements
// take at least.
func arrayLen(r *kbin.Reader) (int, error) {
	n := int(r.CompactArrayLen())
	if !r.Ok() || n < 0 || n > len(r.Src) || n > maxVoters {
		return 0, fmt.Errorf("array of %d elements in %d bytes", n, len(r.Src))
	}
	return n, nil
}

// skipTags reads over tagged fields, which a newer version may have added.
func skipTags(r *kbin.Reader) {
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		r.Uvarint()
		r.Span(int(r.Uvarint()))
	}
}
