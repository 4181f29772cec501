package metadata

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"kbench/kafka"
)

// Delta is a set of changes to an Image. It belongs to one goroutine, is used
// for one Apply, and leaves its base as it was. Reads through Image see the
// changes made so far.
type Delta struct {
	base, next *Image
	topics     map[string]*topicEdit
	removed    map[string]*Topic // topics of base
	brokers    map[kafka.BrokerID]struct{}
	configs    map[ConfigResource]struct{} // maps in next that this delta owns
	ownLeaders bool
	last       *topicEdit // of editByID
	intern     internTable
}

// NewDelta begins a set of changes to base.
func NewDelta(base *Image) *Delta {
	next := *base
	next.topics = base.topics.fork()
	next.topicNames = base.topicNames.fork()
	next.topicKeys = base.topicKeys.fork()
	next.brokers = base.brokers.fork()
	next.controllers = base.controllers.fork()
	next.configs = base.configs.fork()
	next.features = base.features.fork()
	return &Delta{base: base, next: &next}
}

// Image gives the changed metadata for reading until the next change; its
// offset and epoch are still those of the base.
func (d *Delta) Image() *Image { return d.next }

// Base gives the image that the delta began from.
func (d *Delta) Base() *Image { return d.base }

// Apply ends the delta and gives the changed image, stamped with the offset
// and epoch of the last change. The delta may still be asked what it changed
// and must not be changed again.
func (d *Delta) Apply(offset kafka.Offset, epoch int32) *Image {
	d.next.offset, d.next.epoch = offset, epoch
	return d.next
}

// PutTopic adds a topic without partitions. It refuses a name or an id that
// is taken by another topic; the same pair again changes nothing. The zero id
// is that of a cluster without topic ids, and may repeat.
func (d *Delta) PutTopic(name string, id kafka.UUID) error {
	if t, ok := d.next.Topic(name); ok {
		if t.id == id {
			return nil
		}
		return fmt.Errorf("topic %s has the id %s already, refused %s", name, t.id, id)
	}
	if !id.IsZero() {
		if t, ok := d.next.TopicByID(id); ok {
			return fmt.Errorf("topic id %s belongs to %s already, refused %s", id, t.name, name)
		}
		d.next.topicNames.Set(topicName{id, name})
	}
	if mayCollide(name) {
		d.next.topicKeys.Set(CollisionKey(name), name)
	}
	e := newTopicEdit(name, id)
	if d.topics == nil {
		d.topics = map[string]*topicEdit{}
	}
	d.topics[name] = e
	d.next.topics.Set(name, e.Topic)
	return nil
}

// SetPartition puts the whole state of a partition; its slices become the
// image's. The topic must be there.
func (d *Delta) SetPartition(topic string, p int32, state Partition) error {
	e, ok := d.edit(topic)
	if !ok {
		return fmt.Errorf("partition %s-%d belongs to no known topic", topic, p)
	}
	return d.put(e, p, &state)
}

// editByID gives the topic of an id for writing. Records of one topic come
// together, so the last one is remembered.
func (d *Delta) editByID(id kafka.UUID) (*topicEdit, bool) {
	if d.last != nil && d.last.id == id {
		return d.last, true
	}
	n, ok := d.next.topicNames.Get(topicName{id: id})
	if !ok {
		return nil, false
	}
	e, ok := d.edit(n.name)
	d.last = e
	return e, ok
}

func (d *Delta) put(e *topicEdit, p int32, state *Partition) error {
	if p < 0 || p >= MaxPartitionsPerTopic {
		return fmt.Errorf("partition %s-%d is not in 0..%d", e.name, p, MaxPartitionsPerTopic-1)
	}
	old := e.get(p)
	d.intern.share(state, old)
	if old == nil {
		d.next.partitions++
	} else {
		d.count(old, -1)
		d.next.partitionSum -= old.hash(e.seed, p)
	}
	d.count(state, 1)
	d.next.partitionSum += state.hash(e.seed, p)
	e.set(p, state)
	return nil
}

// edit gives the topic for writing, copied on the first call.
func (d *Delta) edit(name string) (*topicEdit, bool) {
	if e, ok := d.topics[name]; ok {
		return e, true
	}
	t, ok := d.next.Topic(name)
	if !ok {
		return nil, false
	}
	e := editTopic(t)
	if d.topics == nil {
		d.topics = map[string]*topicEdit{}
	}
	d.topics[name] = e
	d.next.topics.Set(name, e.Topic)
	return e, true
}

// count adds n times a partition to what the image counts by leaders.
func (d *Delta) count(p *Partition, n int) {
	d.countLeader(p.Leader, n)
	if !p.HasPreferredLeader() {
		d.next.imbalanced += n
	}
}

func (d *Delta) countLeader(id kafka.BrokerID, n int) {
	if id == kafka.NoLeader {
		return
	}
	d.next.led += n
	if !d.ownLeaders {
		d.ownLeaders = true
		d.next.leaders = maps.Clone(d.next.leaders)
		if d.next.leaders == nil {
			d.next.leaders = map[kafka.BrokerID]int{}
		}
	}
	if c := d.next.leaders[id] + n; c == 0 {
		delete(d.next.leaders, id)
	} else {
		d.next.leaders[id] = c
	}
}

// RemoveTopic removes a topic, its partitions and its configuration, and
// reports whether it was there.
func (d *Delta) RemoveTopic(name string) bool {
	t, ok := d.next.Topic(name)
	if !ok {
		return false
	}
	seed := t.seed()
	for p, state := range t.All() {
		d.count(state, -1)
		d.next.partitionSum -= state.hash(seed, p)
	}
	d.next.partitions -= t.count
	d.next.topics.Delete(name)
	if !t.id.IsZero() {
		d.next.topicNames.Delete(topicName{id: t.id})
	}
	if key := CollisionKey(name); mayCollide(name) {
		if held, ok := d.next.topicKeys.Get(key); ok && held == name {
			d.next.topicKeys.Delete(key)
		}
	}
	delete(d.topics, name)
	d.last = nil
	d.removeConfigs(ConfigResource{TopicConfig, name})
	if old, ok := d.base.Topic(name); ok && old.id == t.id {
		if d.removed == nil {
			d.removed = map[string]*Topic{}
		}
		d.removed[name] = old
	}
	return true
}

// PutBroker adds or replaces a registration, whose slices and map become the
// image's.
func (d *Delta) PutBroker(b Broker) {
	d.next.brokers.Set(b.ID, &b)
	d.markBroker(b.ID)
}

// RemoveBroker removes a registration and reports whether it was there.
// Partitions that name the broker are left as they are.
func (d *Delta) RemoveBroker(id kafka.BrokerID) bool {
	if _, ok := d.next.brokers.Delete(id); !ok {
		return false
	}
	d.markBroker(id)
	return true
}

func (d *Delta) markBroker(id kafka.BrokerID) {
	if d.brokers == nil {
		d.brokers = map[kafka.BrokerID]struct{}{}
	}
	d.brokers[id] = struct{}{}
}

// PutController adds or replaces the registration of a controller.
func (d *Delta) PutController(c Controller) { d.next.controllers.Set(c.ID, &c) }

// SetConfig sets one value of a resource, or removes it where value is nil.
func (d *Delta) SetConfig(r ConfigResource, key string, value *string) {
	e, ok := d.next.configs.Get(configEntry{resource: r})
	if value == nil {
		if _, set := e.values[key]; !set {
			return
		}
		if len(e.values) == 1 {
			d.removeConfigs(r)
			return
		}
	}
	if _, owned := d.configs[r]; !owned || !ok {
		e = configEntry{resource: r, values: maps.Clone(e.values)}
		if e.values == nil {
			e.values = map[string]string{}
		}
		d.markConfig(r)
		d.next.configs.Set(e)
	}
	if value == nil {
		delete(e.values, key)
	} else {
		e.values[key] = *value
	}
}

func (d *Delta) removeConfigs(r ConfigResource) {
	if _, ok := d.next.configs.Delete(configEntry{resource: r}); ok {
		d.markConfig(r)
	}
}

func (d *Delta) markConfig(r ConfigResource) {
	if d.configs == nil {
		d.configs = map[ConfigResource]struct{}{}
	}
	d.configs[r] = struct{}{}
}

// SetFeature finalizes a feature at a level; level 0 removes it.
func (d *Delta) SetFeature(name string, level int16) {
	if level == 0 {
		d.next.features.Delete(name)
		return
	}
	d.next.features.Set(name, level)
}

// SetNextProducerID sets the first producer id of the next block.
func (d *Delta) SetNextProducerID(id int64) { d.next.nextProducerID = id }

// ChangedPartitions walks the partitions that were set, by topic name and
// number, with their new state. Those of removed topics are not among them.
func (d *Delta) ChangedPartitions() iter.Seq2[kafka.TopicPartition, *Partition] {
	return func(yield func(kafka.TopicPartition, *Partition) bool) {
		for _, name := range slices.Sorted(maps.Keys(d.topics)) {
			e := d.topics[name]
			for _, p := range e.changedPartitions() {
				if !yield(kafka.TopicPartition{Topic: name, Partition: p}, e.get(p)) {
					return
				}
			}
		}
	}
}

// NumChangedPartitions counts what ChangedPartitions walks.
func (d *Delta) NumChangedPartitions() int {
	n := 0
	for _, e := range d.topics {
		n += len(e.changedPartitions())
	}
	return n
}

// RemovedTopics walks the topics of the base image that are gone, by name. A
// topic that was removed and created anew is walked as the old topic, and its
// partitions are among ChangedPartitions as well.
func (d *Delta) RemovedTopics() iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		for _, name := range slices.Sorted(maps.Keys(d.removed)) {
			if !yield(d.removed[name]) {
				return
			}
		}
	}
}

// ChangedBrokers walks the brokers that were put or removed, by id; those
// that are gone come with nil.
func (d *Delta) ChangedBrokers() iter.Seq2[kafka.BrokerID, *Broker] {
	return func(yield func(kafka.BrokerID, *Broker) bool) {
		for _, id := range slices.Sorted(maps.Keys(d.brokers)) {
			b, _ := d.next.Broker(id)
			if !yield(id, b) {
				return
			}
		}
	}
}

// ChangedConfigs walks the resources of which a value was set or removed, by
// type and name, with all their values now.
func (d *Delta) ChangedConfigs() iter.Seq2[ConfigResource, map[string]string] {
	return func(yield func(ConfigResource, map[string]string) bool) {
		for _, r := range slices.SortedFunc(maps.Keys(d.configs), compareConfigResource) {
			if !yield(r, d.next.Config(r)) {
				return
			}
		}
	}
}
