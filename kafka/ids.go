package kafka

import (
	"encoding/base64"
	"fmt"
	"strconv"
)

// BrokerID names a node: a broker, or a controller of a KRaft quorum. It is
// Kafka's broker.id or node.id; valid ids are 0 and above.
type BrokerID int32

// NoLeader is the leader of a partition that has none.
const NoLeader BrokerID = -1

// ControllerEpoch counts the controllers of a ZooKeeper-mode cluster. The
// first controller has epoch 1. In KRaft mode the epoch of the quorum leader
// takes its place.
type ControllerEpoch int32

// LeaderEpoch counts the leaders of one partition, or of the metadata quorum.
// The first leader of a partition has epoch 0; NoEpoch means unknown.
type LeaderEpoch int32

// NoEpoch is an unknown leader epoch.
const NoEpoch LeaderEpoch = -1

// PartitionEpoch counts every change of a partition's state. In ZooKeeper
// mode it is the version of the state znode.
type PartitionEpoch int32

// BrokerEpoch is the epoch of one registration of a broker: the czxid of its
// znode (KIP-380), or the offset of its registration record (KIP-631).
type BrokerEpoch int64

// NoBrokerEpoch is an unknown broker epoch.
const NoBrokerEpoch BrokerEpoch = -1

// Offset is a position in a log. A log end offset is exclusive: the offset
// that the next record will get.
type Offset int64

// NoOffset is an unknown offset.
const NoOffset Offset = -1

// UUID is a 128-bit id of a topic, a directory or an incarnation, written in
// base64url without padding as Kafka does.
type UUID [16]byte

// MetadataTopic is the name of the metadata log's topic.
const MetadataTopic = "__cluster_metadata"

// MetadataTopicID is the fixed topic id of the metadata log.
var MetadataTopicID = UUID{15: 1}

// IsZero reports whether u is the all-zero id, which names nothing.
func (u UUID) IsZero() bool { return u == UUID{} }

// String gives the 22 base64url characters of u.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// ParseUUID reads the base64url form, with or without padding.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) == 24 {
		s = s[:22]
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(u) {
		return u, fmt.Errorf("%q is not an id of 16 bytes in base64url", s)
	}
	copy(u[:], b)
	return u, nil
}

// TopicPartition names a partition by its topic's name.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String gives Kafka's usual form, topic-partition.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// Compare orders by topic, then by partition.
func (tp TopicPartition) Compare(o TopicPartition) int {
	switch {
	case tp.Topic < o.Topic:
		return -1
	case tp.Topic > o.Topic:
		return 1
	case tp.Partition < o.Partition:
		return -1
	case tp.Partition > o.Partition:
		return 1
	}
	return 0
}

// LeaderRecoveryState says whether a leader was elected uncleanly and has not
// yet recovered (KIP-704).
type LeaderRecoveryState int8

// The two recovery states.
const (
	Recovered  LeaderRecoveryState = 0
	Recovering LeaderRecoveryState = 1
)

// Endpoint is where a node listens.
type Endpoint struct {
	Listener string // listener name, for example PLAINTEXT or CONTROLLER
	Host     string
	Port     uint16
}

// Addr gives host:port.
func (e Endpoint) Addr() string { return joinHostPort(e.Host, e.Port) }

func joinHostPort(host string, port uint16) string {
	p := strconv.Itoa(int(port))
	for i := range len(host) {
		if host[i] == ':' {
			return "[" + host + "]:" + p
		}
	}
	return host + ":" + p
}
