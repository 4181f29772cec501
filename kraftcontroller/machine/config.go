package machine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// The defaults of Kafka 4.0.
const (
	DefaultSessionTimeout = 9 * time.Second
	DefaultNoOpInterval   = 500 * time.Millisecond
	DefaultMaxRecords     = 10_000
	// DefaultMaxBatchBytes leaves room in the log's 8 MiB for what frames each
	// of 10,000 records there.
	DefaultMaxBatchBytes = 8<<20 - 256<<10
	DefaultNumPartitions = 1

	// DefaultLeaderBalanceInterval and DefaultUncleanElectionInterval are
	// Kafka's; a machine has neither task unless it is told to.
	DefaultLeaderBalanceInterval   = 300 * time.Second
	DefaultUncleanElectionInterval = 300 * time.Second

	// producerIDBlock is how many producer ids one request gets.
	producerIDBlock = 1000
	// maxBalanceElections bounds one pass of the leader balancer, which goes
	// on after balanceContinue if there are more.
	maxBalanceElections = 1000
	balanceContinue     = 10 * time.Millisecond
)

// Config says how a machine decides. The zero value of a field means Kafka's
// default, unless the field says otherwise.
type Config struct {
	// NodeID is this controller's.
	NodeID kafka.BrokerID
	// ClusterID must be that of each broker that registers.
	ClusterID string
	// SessionTimeout is how long a broker may stay silent before it is
	// fenced (broker.session.timeout.ms).
	SessionTimeout time.Duration
	// NoOpInterval is the time between NoOp records
	// (metadata.max.idle.interval.ms); negative writes none.
	NoOpInterval time.Duration
	// LeaderBalanceInterval is the time between passes that give preferred
	// leaders their partitions back; 0 never does. Kafka's default is
	// DefaultLeaderBalanceInterval, which would move leaders in the midst of
	// a measurement.
	LeaderBalanceInterval time.Duration
	// UncleanElectionInterval is the time between looks for partitions
	// without a leader whose topic allows unclean election; 0 never looks.
	UncleanElectionInterval time.Duration
	// Bootstrap are the records that an empty log is given; without a level of
	// metadata.version among them that of MetadataVersion goes first. They must
	// not be changed afterwards.
	Bootstrap []metadata.Record
	// MetadataVersion is the level that an empty log is given.
	MetadataVersion metadata.MetadataVersion
	// NumPartitions and ReplicationFactor are those of a topic that asks for
	// -1 (num.partitions, default.replication.factor).
	NumPartitions     int32
	ReplicationFactor int16
	// MaxRecords bounds the records of one user operation and of one batch:
	// an operation that is atomic and needs more is refused with
	// POLICY_VIOLATION, others are split.
	MaxRecords int
	// MaxBatchBytes bounds the encoded records of one batch, as MaxRecords
	// bounds their number.
	MaxBatchBytes int
	// Append takes each batch as soon as it is decided and replayed, while the rest
	// of a large operation still is to be; nil leaves them in Effects.Appends.
	Append func(Append)
	// TokenSecret derives the secrets of delegation tokens
	// (delegation.token.secret.key); without it there are none.
	TokenSecret string
	// StartMs is the time of day, in milliseconds since the epoch, at which the
	// clock of Step was 0: tokens expire by the time of day.
	StartMs int64
	// Rand chooses placements and topic ids. The machine owns it. Required;
	// two machines with the same seed give the same topic ids.
	Rand *rand.Rand
}

func (c *Config) fill() error {
	if c.Rand == nil {
		return errors.New("machine: Config.Rand is nil; give it a seeded generator")
	}
	if c.ClusterID == "" {
		return errors.New("machine: Config.ClusterID is empty; give it the id of the cluster")
	}
	if c.SessionTimeout == 0 {
		c.SessionTimeout = DefaultSessionTimeout
	}
	if c.NoOpInterval == 0 {
		c.NoOpInterval = DefaultNoOpInterval
	}
	if c.MetadataVersion == 0 {
		c.MetadataVersion = metadata.DefaultMetadataVersion
	}
	if v := c.MetadataVersion; v < metadata.OldestMetadataVersion || v > metadata.NewestMetadataVersion {
		return fmt.Errorf("machine: metadata.version %s is not between %s and %s", v, metadata.OldestMetadataVersion, metadata.NewestMetadataVersion)
	}
	if c.NumPartitions == 0 {
		c.NumPartitions = DefaultNumPartitions
	}
	if c.ReplicationFactor == 0 {
		c.ReplicationFactor = 1
	}
	if c.MaxRecords == 0 {
		c.MaxRecords = DefaultMaxRecords
	}
	if c.MaxBatchBytes == 0 {
		c.MaxBatchBytes = DefaultMaxBatchBytes
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"SessionTimeout", int64(c.SessionTimeout)},
		{"LeaderBalanceInterval", int64(c.LeaderBalanceInterval)},
		{"UncleanElectionInterval", int64(c.UncleanElectionInterval)},
		{"NumPartitions", int64(c.NumPartitions)},
		{"ReplicationFactor", int64(c.ReplicationFactor)},
		{"MaxRecords", int64(c.MaxRecords)},
		{"MaxBatchBytes", int64(c.MaxBatchBytes)},
	} {
		if f.value < 0 {
			return fmt.Errorf("machine: Config.%s is %d, it must not be negative", f.name, f.value)
		}
	}
	return nil
}
