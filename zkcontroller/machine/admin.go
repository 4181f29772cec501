package machine

import "kbench/kafka"

// AdminCreateTopics asks for new topics. The reply is a TopicsReply; it is
// final when all partitions have leaders.
type AdminCreateTopics struct {
	Call         CallID
	ValidateOnly bool
	Topics       []NewTopic
}

// NewTopic is one topic to create.
type NewTopic struct {
	Name        string
	Partitions  int32 // -1 for the default
	Replication int16 // -1 for the default
	// Assignment replaces the two above: replicas by partition, which must be 0
	// to n-1.
	Assignment map[int32][]kafka.BrokerID
	Config     map[string]string
}

// AdminCreatePartitions asks for more partitions of topics. The reply is a
// TopicsReply; it is final when the new partitions have leaders.
type AdminCreatePartitions struct {
	Call         CallID
	ValidateOnly bool
	Topics       []MorePartitions
}

// MorePartitions is one topic to enlarge.
type MorePartitions struct {
	Name  string
	Count int32 // of all partitions afterwards
	// Assignment gives the replicas of the new partitions in order; nil lets
	// the controller choose.
	Assignment [][]kafka.BrokerID
}

// AdminDeleteTopics asks for the deletion of topics by name, or by id where
// the name is empty. The reply is a TopicsReply; it is final when brokers are
// told to forget the topics.
type AdminDeleteTopics struct {
	Call   CallID
	Topics []TopicRef
}

// TopicRef names a topic.
type TopicRef struct {
	Name string
	ID   kafka.UUID
}

// TopicsReply gives an outcome for each topic, in the order of the request. In
// a reply that is not final, topics not yet done have REQUEST_TIMED_OUT.
type TopicsReply struct {
	Code   kafka.ErrorCode // NOT_CONTROLLER for all of them
	Topics []TopicResult
}

// TopicResult is the outcome for one topic.
type TopicResult struct {
	Name        string
	ID          kafka.UUID
	Code        kafka.ErrorCode
	Text        string
	Partitions  int32 // AdminCreateTopics
	Replication int16
}

func (AdminCreateTopics) input()     {}
func (AdminCreatePartitions) input() {}
func (AdminDeleteTopics) input()     {}
