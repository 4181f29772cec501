package machine

import "kbench/kafka"

// Batch is work for the store. The machine hands out at most one; whoever
// runs it fills in its results and answers with Done. Requests within a Batch
// do not depend on each other unless said so, and may be pipelined. Writes
// marked fenced must fail the whole Batch with ErrFenced if the controller
// epoch's znode has moved on.
type Batch interface {
	Effect
	batch()
}

// Code is the outcome of one write.
type Code uint8

// The outcomes. Other is anything else; Text then says what.
const (
	OK Code = iota
	BadVersion
	NoNode
	NodeExists
	Other
)

// ReadBrokers lists /brokers/ids, arming its children watch, and reads every
// registration, arming watches on them.
type ReadBrokers struct{ Brokers []Broker }

// ReadTopics lists /brokers/topics, arming its children watch.
type ReadTopics struct{ Topics []string }

// ReadAssignments reads topic znodes, arming watches on them.
type ReadAssignments struct {
	Topics  []string
	Results []TopicRead // one for each topic
}

// TopicRead is a topic znode as read.
type TopicRead struct {
	Found      bool
	ID         kafka.UUID
	Partitions map[int32]Assignment
}

// WriteAssignments rewrites topic znodes, fenced where Fenced.
type WriteAssignments struct {
	Fenced bool
	Writes []TopicWrite
	Codes  []WriteResult
}

// TopicWrite is the whole content of a topic znode.
type TopicWrite struct {
	Topic      string
	ID         kafka.UUID
	Partitions map[int32]Assignment
	Config     map[string]string // CreateTopics only
}

// CreateTopics writes the config znode, where there is a configuration, and
// then the topic znode of each topic. Unfenced, as in Kafka.
type CreateTopics struct {
	Topics []TopicWrite
	Codes  []WriteResult
}

// ReadStates reads the state znodes of partitions.
type ReadStates struct {
	Partitions []kafka.TopicPartition
	Results    []StateRead
}

// StateRead is a state znode as read.
type StateRead struct {
	Found bool
	State LeaderISR
}

// StateWrite is a state znode to be written. State.Version is the version
// expected; it is ignored where the znode is created.
type StateWrite struct {
	Partition kafka.TopicPartition
	State     LeaderISR
}

// WriteResult is the outcome of one write; Version is the new version of the
// znode if Code is OK.
type WriteResult struct {
	Code    Code
	Version kafka.PartitionEpoch
	Text    string // why, where Code is Other
}

// WriteStates rewrites state znodes of the version expected, fenced.
type WriteStates struct {
	Writes  []StateWrite
	Results []WriteResult
}

// CreateStates creates state znodes in three fenced rounds: the partitions
// node of each topic, the node of each partition, its state. That the first
// two exist is not an error.
type CreateStates struct {
	Writes  []StateWrite
	Results []WriteResult
}

// ReadConfigs reads the configurations of topics; nil where there is none.
type ReadConfigs struct {
	Topics  []string
	Configs []map[string]string
}

// ReadDeletions lists /admin/delete_topics, arming its children watch.
type ReadDeletions struct{ Topics []string }

// CreateDeletions asks for the deletion of topics. Unfenced, as in Kafka;
// NodeExists is not an error.
type CreateDeletions struct {
	Topics []string
	Codes  []WriteResult
}

// RemoveDeletions removes entries of /admin/delete_topics, fenced.
type RemoveDeletions struct{ Topics []string }

// RemoveTopics removes everything of topics, fenced: their znodes with all
// below, their configuration, then the entry in /admin/delete_topics. Their
// watches end.
type RemoveTopics struct{ Topics []string }

// Notes are the queues of notifications that a new controller empties.
type Notes uint8

// The two queues.
const (
	LogDirNotes Notes = iota
	ISRNotes
)

// ClearNotes removes all entries of a queue of notifications, fenced, arming
// its children watch.
type ClearNotes struct{ Queue Notes }

// ReadPreferred reads /admin/preferred_replica_election, arming a watch for
// its creation.
type ReadPreferred struct {
	Found      bool
	Partitions []kafka.TopicPartition
}

// RemovePreferred deletes /admin/preferred_replica_election, fenced.
type RemovePreferred struct{}

// ReassignTarget is an entry of /admin/reassign_partitions.
type ReassignTarget struct {
	Partition kafka.TopicPartition
	Replicas  []kafka.BrokerID
}

// ReadReassign reads /admin/reassign_partitions, arming a watch for its
// creation. What cannot be read counts as found and empty.
type ReadReassign struct {
	Found   bool
	Targets []ReassignTarget
}

// WriteReassign rewrites /admin/reassign_partitions, fenced, or removes it
// where no target is left.
type WriteReassign struct{ Targets []ReassignTarget }

// ReadProducerIDs reads /latest_producer_id_block. Last is the end of the last
// block given away, -1 where there is none; Broken where it cannot be read.
type ReadProducerIDs struct {
	Last    int64
	Version int32
	Broken  bool
}

// WriteProducerIDs gives away a block if the version is as read. BadVersion
// means that it was not.
type WriteProducerIDs struct {
	Broker     kafka.BrokerID
	First, End int64
	Version    int32
	Result     WriteResult
}

// EnsureFeature makes /feature what the inter-broker protocol needs, fenced:
// enabled with the features it has, or disabled without any. Version is that of
// its JSON.
type EnsureFeature struct {
	Enabled bool
	Version int
}

func (*ReadBrokers) batch()      {}
func (*ReadTopics) batch()       {}
func (*ReadAssignments) batch()  {}
func (*WriteAssignments) batch() {}
func (*CreateTopics) batch()     {}
func (*ReadStates) batch()       {}
func (*WriteStates) batch()      {}
func (*CreateStates) batch()     {}
func (*ReadConfigs) batch()      {}
func (*ReadDeletions) batch()    {}
func (*CreateDeletions) batch()  {}
func (*RemoveDeletions) batch()  {}
func (*RemoveTopics) batch()     {}
func (*ClearNotes) batch()       {}
func (*ReadPreferred) batch()    {}
func (*RemovePreferred) batch()  {}
func (*ReadReassign) batch()     {}
func (*WriteReassign) batch()    {}
func (*ReadProducerIDs) batch()  {}
func (*WriteProducerIDs) batch() {}
func (*EnsureFeature) batch()    {}

func (*ReadBrokers) effect()      {}
func (*ReadTopics) effect()       {}
func (*ReadAssignments) effect()  {}
func (*WriteAssignments) effect() {}
func (*CreateTopics) effect()     {}
func (*ReadStates) effect()       {}
func (*WriteStates) effect()      {}
func (*CreateStates) effect()     {}
func (*ReadConfigs) effect()      {}
func (*ReadDeletions) effect()    {}
func (*CreateDeletions) effect()  {}
func (*RemoveDeletions) effect()  {}
func (*RemoveTopics) effect()     {}
func (*ClearNotes) effect()       {}
func (*ReadPreferred) effect()    {}
func (*RemovePreferred) effect()  {}
func (*ReadReassign) effect()     {}
func (*WriteReassign) effect()    {}
func (*ReadProducerIDs) effect()  {}
func (*WriteProducerIDs) effect() {}
func (*EnsureFeature) effect()    {}
