package metadata

import (
	"iter"

	"kbench/kafka"
)

// Image is the metadata of a cluster at one offset: immutable, safe to share
// between goroutines, and cheap to change by a Delta, because two images share
// all that is equal in both.
type Image struct {
	offset kafka.Offset
	epoch  int32

	topics      treeMap[string, *Topic]
	topicNames  tree[topicName]
	topicKeys   treeMap[string, string] // collision keys of names with "." or "_"
	brokers     treeMap[kafka.BrokerID, *Broker]
	controllers treeMap[kafka.BrokerID, *Controller]
	configs     tree[configEntry]
	features    treeMap[string, int16]
	access      *Access

	nextProducerID int64
	partitions     int
	leaders        map[kafka.BrokerID]int // partitions led; absent for none
	led            int                    // partitions that have a leader
	imbalanced     int                    // partitions that another than the first replica leads, or none
	partitionSum   uint64                 // sum of the partitions' hashes
}

var empty = &Image{
	offset: kafka.NoOffset, epoch: -1,
	topics: newTreeMap[string, *Topic](), topicNames: newTree(lessTopicName), topicKeys: newTreeMap[string, string](),
	brokers: newTreeMap[kafka.BrokerID, *Broker](), controllers: newTreeMap[kafka.BrokerID, *Controller](),
	configs: newTree(lessConfig), features: newTreeMap[string, int16](),
	access: noAccess,
}

// Empty gives the image of a cluster without metadata, at kafka.NoOffset and
// epoch -1.
func Empty() *Image { return empty }

// Offset is the offset of the last record that the image holds; what it means
// in ZooKeeper mode is for the caller of Delta.Apply to say.
func (i *Image) Offset() kafka.Offset { return i.offset }

// Epoch is the epoch of the controller that made the last change.
func (i *Image) Epoch() int32 { return i.epoch }

// NumTopics counts the topics.
func (i *Image) NumTopics() int { return i.topics.Len() }

// NumPartitions counts the partitions of all topics, in constant time.
func (i *Image) NumPartitions() int { return i.partitions }

// Topic finds a topic by name.
func (i *Image) Topic(name string) (*Topic, bool) { return i.topics.Get(name) }

// TopicByID finds a topic by id.
func (i *Image) TopicByID(id kafka.UUID) (*Topic, bool) {
	n, ok := i.topicNames.Get(topicName{id: id})
	if !ok {
		return nil, false
	}
	return i.Topic(n.name)
}

// CollidingTopic finds the topic whose name is the given one or differs from it
// in "." and "_" only, which would be one name in metrics.
func (i *Image) CollidingTopic(name string) (string, bool) {
	if mayCollide(name) {
		return i.topicKeys.Get(CollisionKey(name))
	}
	_, ok := i.Topic(name)
	return name, ok
}

// Partition finds a partition.
func (i *Image) Partition(tp kafka.TopicPartition) (*Partition, bool) {
	t, ok := i.Topic(tp.Topic)
	if !ok {
		return nil, false
	}
	return t.Partition(tp.Partition)
}

// Topics walks the topics by name.
func (i *Image) Topics() iter.Seq[*Topic] { return i.topics.all() }

// Partitions walks all partitions by topic name and number.
func (i *Image) Partitions() iter.Seq2[kafka.TopicPartition, *Partition] {
	return func(yield func(kafka.TopicPartition, *Partition) bool) {
		for t := range i.Topics() {
			for p, state := range t.All() {
				if !yield(kafka.TopicPartition{Topic: t.name, Partition: p}, state) {
					return
				}
			}
		}
	}
}

// Broker finds a registration, fenced or not.
func (i *Image) Broker(id kafka.BrokerID) (*Broker, bool) { return i.brokers.Get(id) }

// Brokers walks the registrations by id.
func (i *Image) Brokers() iter.Seq[*Broker] { return i.brokers.all() }

// NumBrokers counts the registrations, fenced or not.
func (i *Image) NumBrokers() int { return i.brokers.Len() }

// Controller finds a controller's registration.
func (i *Image) Controller(id kafka.BrokerID) (*Controller, bool) { return i.controllers.Get(id) }

// Controllers walks the registered controllers by id.
func (i *Image) Controllers() iter.Seq[*Controller] { return i.controllers.all() }

// Config gives the values set for a resource, nil for none. The map is the
// image's own: callers must not write to it.
func (i *Image) Config(r ConfigResource) map[string]string {
	e, _ := i.configs.Get(configEntry{resource: r})
	return e.values
}

// Configs walks the resources that have values, by type and name.
func (i *Image) Configs() iter.Seq2[ConfigResource, map[string]string] {
	return func(yield func(ConfigResource, map[string]string) bool) {
		i.configs.Scan(func(e configEntry) bool { return yield(e.resource, e.values) })
	}
}

// FeatureLevel gives the finalized level of a feature, 0 for none.
func (i *Image) FeatureLevel(name string) int16 {
	level, _ := i.features.Get(name)
	return level
}

// Features walks the finalized features by name.
func (i *Image) Features() iter.Seq2[string, int16] {
	return func(yield func(string, int16) bool) { i.features.Scan(yield) }
}

// NextProducerID is the first producer id of the next block.
func (i *Image) NextProducerID() int64 { return i.nextProducerID }

// LeaderCount gives the number of partitions that a broker leads, in constant
// time.
func (i *Image) LeaderCount(id kafka.BrokerID) int { return i.leaders[id] }

// OfflineCount gives the number of partitions without a leader, in constant
// time.
func (i *Image) OfflineCount() int { return i.partitions - i.led }

// ImbalanceCount gives the number of partitions whose first replica does not
// lead, in constant time.
func (i *Image) ImbalanceCount() int { return i.imbalanced }
