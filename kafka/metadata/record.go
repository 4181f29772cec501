package metadata

import "kbench/kafka"

// Record is one record of the metadata log, a pointer to one of the types
// below. Which versions of each there are is in its schema; AppendRecord
// refuses a field that its version cannot carry.
type Record interface {
	// Key is Kafka's number of the record's type.
	Key() int16
	// maxVersion is the newest version that this package can read and write.
	maxVersion() int16
	// code reads or writes the fields in the order of the schema.
	code(c *coder, version int16)
}

// Tag is a tagged field of a number that this package does not know. Tags
// are kept, in ascending order of their numbers, and written again.
type Tag struct {
	ID   uint32
	Data []byte
}

// RecordEndpoint is a listener within a registration.
type RecordEndpoint struct {
	kafka.Endpoint
	SecurityProtocol int16
	Tags             []Tag
}

// RecordFeature is a supported feature within a registration.
type RecordFeature struct {
	Name     string
	Min, Max int16
	Tags     []Tag
}

// RegisterBrokerRecord (key 0, versions 0-4) registers a broker, fenced or
// not, in place of any earlier registration.
type RegisterBrokerRecord struct {
	BrokerID             kafka.BrokerID
	IsMigratingZkBroker  bool // version 2
	IncarnationID        kafka.UUID
	BrokerEpoch          kafka.BrokerEpoch
	EndPoints            []RecordEndpoint
	Features             []RecordFeature
	Rack                 *string
	Fenced               bool
	InControlledShutdown bool         // version 1
	LogDirs              []kafka.UUID // version 3
	CordonedLogDirs      []kafka.UUID // version 4; nil is unknown
	Tags                 []Tag
}

// UnregisterBrokerRecord (key 1, version 0) removes a registration.
type UnregisterBrokerRecord struct {
	BrokerID    kafka.BrokerID
	BrokerEpoch kafka.BrokerEpoch
	Tags        []Tag
}

// TopicRecord (key 2, version 0) creates a topic without partitions.
type TopicRecord struct {
	Name    string
	TopicID kafka.UUID
	Tags    []Tag
}

// PartitionRecord (key 3, versions 0-2) creates or replaces a partition.
type PartitionRecord struct {
	PartitionID            int32
	TopicID                kafka.UUID
	Replicas               []kafka.BrokerID
	ISR                    []kafka.BrokerID
	RemovingReplicas       []kafka.BrokerID
	AddingReplicas         []kafka.BrokerID
	Leader                 kafka.BrokerID
	LeaderRecoveryState    kafka.LeaderRecoveryState
	LeaderEpoch            kafka.LeaderEpoch
	PartitionEpoch         kafka.PartitionEpoch
	Directories            []kafka.UUID     // version 1
	EligibleLeaderReplicas []kafka.BrokerID // version 2; nil is none
	LastKnownELR           []kafka.BrokerID // version 2; nil is none
	Tags                   []Tag
}

// ConfigRecord (key 4, version 0) sets a value, or removes it where Value is
// nil.
type ConfigRecord struct {
	ResourceType ConfigType
	ResourceName string
	Name         string
	Value        *string
	Tags         []Tag
}

// The values of a PartitionChangeRecord that leave a field as it is.
const (
	LeaderUnchanged        kafka.BrokerID            = -2
	RecoveryStateUnchanged kafka.LeaderRecoveryState = -1
)

// PartitionChangeRecord (key 5, versions 0-2) changes those parts of a
// partition that it names; a nil slice, LeaderUnchanged and
// RecoveryStateUnchanged leave a part as it is, an empty slice that is not
// nil empties it. Every such record raises the partition epoch by one, and
// one that names a leader raises the leader epoch as well. Begin from
// NewPartitionChange: the zero value would make broker 0 the leader.
type PartitionChangeRecord struct {
	PartitionID            int32
	TopicID                kafka.UUID
	ISR                    []kafka.BrokerID
	Leader                 kafka.BrokerID
	Replicas               []kafka.BrokerID
	RemovingReplicas       []kafka.BrokerID
	AddingReplicas         []kafka.BrokerID
	LeaderRecoveryState    kafka.LeaderRecoveryState
	EligibleLeaderReplicas []kafka.BrokerID // version 2
	LastKnownELR           []kafka.BrokerID // version 2
	Directories            []kafka.UUID     // version 1
	Tags                   []Tag
}

// NewPartitionChange gives a record that changes nothing but the partition
// epoch.
func NewPartitionChange(topic kafka.UUID, partition int32) *PartitionChangeRecord {
	return &PartitionChangeRecord{
		TopicID: topic, PartitionID: partition,
		Leader: LeaderUnchanged, LeaderRecoveryState: RecoveryStateUnchanged,
	}
}

// FenceBrokerRecord (key 7, version 0) fences a broker; written before
// metadata.version 3.3-IV2.
type FenceBrokerRecord struct {
	ID    kafka.BrokerID
	Epoch kafka.BrokerEpoch
	Tags  []Tag
}

// UnfenceBrokerRecord (key 8, version 0) unfences a broker; written before
// metadata.version 3.3-IV2.
type UnfenceBrokerRecord struct {
	ID    kafka.BrokerID
	Epoch kafka.BrokerEpoch
	Tags  []Tag
}

// RemoveTopicRecord (key 9, version 0) removes a topic with its partitions
// and its configuration.
type RemoveTopicRecord struct {
	TopicID kafka.UUID
	Tags    []Tag
}

// FeatureLevelRecord (key 12, version 0) finalizes a feature; level 0 removes
// it.
type FeatureLevelRecord struct {
	Name         string
	FeatureLevel int16
	Tags         []Tag
}

// ProducerIDsRecord (key 15, version 0) gives a block of producer ids to a
// broker.
type ProducerIDsRecord struct {
	BrokerID       kafka.BrokerID
	BrokerEpoch    kafka.BrokerEpoch
	NextProducerID int64 // first id of the next block
	Tags           []Tag
}

// BrokerRegistrationChangeRecord (key 17, versions 0-3) changes the state of
// a registration; it is refused if the broker's epoch is another.
type BrokerRegistrationChangeRecord struct {
	BrokerID             kafka.BrokerID
	BrokerEpoch          kafka.BrokerEpoch
	Fenced               int8         // -1 unfenced, 0 no change, 1 fenced
	InControlledShutdown int8         // 0 no change, 1 begun; version 1
	LogDirs              []kafka.UUID // empty is no change; version 2
	CordonedLogDirs      []kafka.UUID // nil is no change; version 3
	Tags                 []Tag
}

// NoOpRecord (key 20, version 0) only moves the log's end.
type NoOpRecord struct{ Tags []Tag }

// ZkMigrationStateRecord (key 21, version 0) is in the logs of clusters that
// could once be migrated.
type ZkMigrationStateRecord struct {
	State int8 // 0 none, 1 migration, 2 pre-migration, 3 post-migration
	Tags  []Tag
}

// BeginTransactionRecord (key 23, version 0) begins a metadata transaction
// (KIP-866): what follows is hidden until it ends.
type BeginTransactionRecord struct {
	Name *string
	Tags []Tag
}

// EndTransactionRecord (key 24, version 0) makes the transaction visible.
type EndTransactionRecord struct{ Tags []Tag }

// AbortTransactionRecord (key 25, version 0) undoes the transaction.
type AbortTransactionRecord struct {
	Reason *string
	Tags   []Tag
}

// RegisterControllerRecord (key 27, version 0) registers a controller of the
// quorum (KIP-919).
type RegisterControllerRecord struct {
	ControllerID     kafka.BrokerID
	IncarnationID    kafka.UUID
	ZkMigrationReady bool
	EndPoints        []RecordEndpoint
	Features         []RecordFeature
	Tags             []Tag
}

// ClearElrRecord (key 28, version 0) clears eligible leader replicas, of all
// topics where TopicName is empty (KIP-966).
type ClearElrRecord struct {
	TopicName string
	Tags      []Tag
}

// UnregisterControllerRecord (key 29, version 0) removes the registration of
// a controller.
type UnregisterControllerRecord struct {
	ControllerID kafka.BrokerID
	Tags         []Tag
}

// newRecord gives an empty record of a key, or nil if the key is unknown.
func newRecord(key int16) Record {
	switch key {
	case 0:
		return &RegisterBrokerRecord{}
	case 1:
		return &UnregisterBrokerRecord{}
	case 2:
		return &TopicRecord{}
	case 3:
		return &PartitionRecord{}
	case 4:
		return &ConfigRecord{}
	case 5:
		return NewPartitionChange(kafka.UUID{}, 0)
	case 7:
		return &FenceBrokerRecord{}
	case 8:
		return &UnfenceBrokerRecord{}
	case 9:
		return &RemoveTopicRecord{}
	case 10:
		return &DelegationTokenRecord{}
	case 11:
		return &UserScramCredentialRecord{}
	case 12:
		return &FeatureLevelRecord{}
	case 14:
		return &ClientQuotaRecord{}
	case 15:
		return &ProducerIDsRecord{}
	case 17:
		return &BrokerRegistrationChangeRecord{}
	case 18:
		return &AccessControlEntryRecord{}
	case 19:
		return &RemoveAccessControlEntryRecord{}
	case 20:
		return &NoOpRecord{}
	case 21:
		return &ZkMigrationStateRecord{}
	case 22:
		return &RemoveUserScramCredentialRecord{}
	case 23:
		return &BeginTransactionRecord{}
	case 24:
		return &EndTransactionRecord{}
	case 25:
		return &AbortTransactionRecord{}
	case 26:
		return &RemoveDelegationTokenRecord{}
	case 27:
		return &RegisterControllerRecord{}
	case 28:
		return &ClearElrRecord{}
	case 29:
		return &UnregisterControllerRecord{}
	}
	return nil
}
