package machine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"kbench/kafka"
)

// context is what the controller believes of the cluster. Every question by
// broker is answered from an index by broker, so that no event costs more than
// the partitions it touches.
type context struct {
	topics     map[string]*topic
	byID       map[kafka.UUID]*topic
	ordered    []*topic // by name; nil when topics came or went
	collisions map[string]string
	nameBytes  int // of all topics' names as a list of children has them
	partitions int
	unled      map[*partition]struct{} // partitions New or Offline
	queued     map[string]*topic       // topics to be deleted
	moving     map[*partition]struct{} // partitions being reassigned

	unclean     bool  // unclean elections where a topic does not say otherwise
	configsSeen int64 // the last of /config/changes

	brokers map[kafka.BrokerID]*brokerEntry // by id: registered, or host of replicas
	live    []*Broker                       // registered, by id; nil when it changed
}

// brokerEntry is one broker id.
type brokerEntry struct {
	info         *Broker // nil: not registered
	shuttingDown bool
	topics       map[*topic]int32        // partitions of each topic with a replica here
	offline      map[*partition]struct{} // replicas in directories that failed
}

type topic struct {
	name       string
	id         kafka.UUID
	rank       int          // position in ordered, valid while that is
	parts      []*partition // by number; Kafka numbers them without gaps
	queued     bool         // to be deleted
	ineligible bool         // deletion has to wait
	deleting   bool         // deletion has begun
	moving     int          // partitions being reassigned
	replicas   int          // of all partitions
	inState    [8]int       // replicas by state
}

type partition struct {
	topic    *topic
	index    int32
	state    PartitionState
	known    bool // ls holds the content of its state znode
	stamp    uint32
	entry    int32 // index in the request batch with that stamp
	ls       LeaderISR
	replicas []kafka.BrokerID
	states   []ReplicaState // of replicas, in their order
	moving   *moving        // not nil while a reassignment runs
}

type moving struct{ adding, removing []kafka.BrokerID }

// replica is one replica of a partition.
type replica struct {
	p  *partition
	id kafka.BrokerID
}

func newContext() *context {
	return &context{
		topics: map[string]*topic{}, byID: map[kafka.UUID]*topic{}, collisions: map[string]string{},
		unled: map[*partition]struct{}{}, queued: map[string]*topic{}, moving: map[*partition]struct{}{},
		brokers: map[kafka.BrokerID]*brokerEntry{},
	}
}

func (p *partition) tp() kafka.TopicPartition {
	return kafka.TopicPartition{Topic: p.topic.name, Partition: p.index}
}

func (p *partition) assignment() Assignment {
	a := Assignment{Replicas: p.replicas}
	if p.moving != nil {
		a.Adding, a.Removing = p.moving.adding, p.moving.removing
	}
	return a
}

// online reports whether the first count partitions have leaders.
func (t *topic) online(count int32) bool {
	if int(count) > len(t.parts) {
		return false
	}
	for _, p := range t.parts[:count] {
		if p == nil || p.state != PartitionOnline {
			return false
		}
	}
	return true
}

// allTopics gives the topics by name.
func (c *context) allTopics() []*topic {
	if c.ordered == nil {
		c.ordered = slices.SortedFunc(maps.Values(c.topics), func(a, b *topic) int { return strings.Compare(a.name, b.name) })
		for i, t := range c.ordered {
			t.rank = i
		}
	}
	return c.ordered
}

// comparePartitions orders by topic and number. Ranks must be current.
func comparePartitions(a, b *partition) int {
	return cmp.Or(cmp.Compare(a.topic.rank, b.topic.rank), cmp.Compare(a.index, b.index))
}

// sortPartitions orders ps by topic and number.
func (c *context) sortPartitions(ps []*partition) {
	c.allTopics()
	if !slices.IsSortedFunc(ps, comparePartitions) {
		slices.SortFunc(ps, comparePartitions)
	}
}

func (c *context) partition(tp kafka.TopicPartition) *partition {
	t := c.topics[tp.Topic]
	if t == nil || tp.Partition < 0 || int(tp.Partition) >= len(t.parts) {
		return nil
	}
	return t.parts[tp.Partition]
}

func (c *context) addTopic(name string) *topic {
	t := &topic{name: name}
	c.topics[name] = t
	c.nameBytes += listed(name)
	c.ordered = nil
	if key := collisionKey(name); key != "" {
		c.collisions[key] = name
	}
	return t
}

// listed is what a name takes in a list of children: its length and its bytes.
func listed(name string) int { return 4 + len(name) }

func (c *context) setTopicID(t *topic, id kafka.UUID) {
	t.id = id
	if !id.IsZero() {
		c.byID[id] = t
	}
}

func (c *context) removeTopic(t *topic) {
	for _, p := range t.parts {
		if p == nil {
			continue
		}
		delete(c.unled, p)
		delete(c.moving, p)
		for _, id := range p.replicas {
			c.entry(id).forget(p)
		}
		c.partitions--
	}
	delete(c.topics, t.name)
	c.nameBytes -= listed(t.name)
	delete(c.byID, t.id)
	delete(c.queued, t.name)
	if key := collisionKey(t.name); key != "" && c.collisions[key] == t.name {
		delete(c.collisions, key)
	}
	c.ordered = nil
}

// addPartitions adds partitions that a topic does not have yet, as
// NonExistent, and gives them in order.
func (c *context) addPartitions(t *topic, assigned map[int32]Assignment) []*partition {
	var added []*partition
	block := make([]partition, 0, len(assigned))
	for _, n := range slices.Sorted(maps.Keys(assigned)) {
		if int(n) < len(t.parts) && t.parts[n] != nil {
			continue
		}
		a := assigned[n]
		block = append(block, partition{topic: t, index: n, state: PartitionNonExistent})
		p := &block[len(block)-1]
		if need := int(n) + 1 - len(t.parts); need > 0 {
			t.parts = append(t.parts, make([]*partition, need)...)
		}
		t.parts[n] = p
		c.partitions++
		c.assign(p, a)
		added = append(added, p)
	}
	return added
}

func (c *context) assign(p *partition, a Assignment) {
	p.replicas = a.Replicas
	p.states = make([]ReplicaState, len(a.Replicas))
	for i, id := range a.Replicas {
		p.states[i] = ReplicaNonExistent
		c.entry(id).hold(p.topic)
	}
	p.topic.replicas += len(a.Replicas)
	p.topic.inState[ReplicaNonExistent] += len(a.Replicas)
	c.setMoving(p, a)
}

// setMoving keeps the index of the partitions being reassigned.
func (c *context) setMoving(p *partition, a Assignment) {
	was := p.moving != nil
	p.moving = nil
	if a.Moving() {
		p.moving = &moving{a.Adding, a.Removing}
		c.moving[p] = struct{}{}
	} else {
		delete(c.moving, p)
	}
	switch is := p.moving != nil; {
	case is && !was:
		p.topic.moving++
	case was && !is:
		p.topic.moving--
	}
}

// reassign gives a partition another assignment. Replicas that stay keep their
// state, others begin as NonExistent; those that go are forgotten.
func (c *context) reassign(p *partition, a Assignment) {
	states := make([]ReplicaState, len(a.Replicas))
	for i, id := range a.Replicas {
		states[i] = p.replicaState(id)
		if !slices.Contains(p.replicas, id) {
			c.entry(id).hold(p.topic)
		}
	}
	t := p.topic
	for i, id := range p.replicas {
		t.inState[p.states[i]]--
		if !slices.Contains(a.Replicas, id) {
			c.entry(id).forget(p)
		}
	}
	for _, s := range states {
		t.inState[s]++
	}
	t.replicas += len(a.Replicas) - len(p.replicas)
	p.replicas, p.states = a.Replicas, states
	c.setMoving(p, a)
}

func (c *context) entry(id kafka.BrokerID) *brokerEntry {
	e := c.brokers[id]
	if e == nil {
		e = &brokerEntry{}
		c.brokers[id] = e
	}
	return e
}

// hold counts a replica of a topic.
func (e *brokerEntry) hold(t *topic) {
	if e.topics == nil {
		e.topics = map[*topic]int32{}
	}
	e.topics[t]++
}

func (e *brokerEntry) forget(p *partition) {
	delete(e.offline, p)
	if e.topics[p.topic]--; e.topics[p.topic] <= 0 {
		delete(e.topics, p.topic)
	}
}

// setState moves a partition, keeping the index of those without a leader.
func (c *context) setState(p *partition, s PartitionState) {
	p.state = s
	if s == PartitionNew || s == PartitionOffline {
		c.unled[p] = struct{}{}
	} else {
		delete(c.unled, p)
	}
}

func (p *partition) replicaState(id kafka.BrokerID) ReplicaState {
	if i := slices.Index(p.replicas, id); i >= 0 {
		return p.states[i]
	}
	return ReplicaNonExistent
}

func (p *partition) setReplicaState(id kafka.BrokerID, s ReplicaState) {
	if i := slices.Index(p.replicas, id); i >= 0 {
		p.topic.inState[p.states[i]]--
		p.topic.inState[s]++
		p.states[i] = s
	}
}

// partitionsOn gives the partitions with a replica on a broker, in order.
func (c *context) partitionsOn(id kafka.BrokerID) []*partition {
	e := c.brokers[id]
	if e == nil {
		return nil
	}
	c.allTopics()
	topics := slices.SortedFunc(maps.Keys(e.topics), func(a, b *topic) int { return cmp.Compare(a.rank, b.rank) })
	n := 0
	for _, t := range topics {
		n += int(e.topics[t])
	}
	ps := make([]*partition, 0, n)
	for _, t := range topics {
		for _, p := range t.parts {
			if p != nil && slices.Contains(p.replicas, id) {
				ps = append(ps, p)
			}
		}
	}
	return ps
}

// going reports whether a partition is on its way out with its topic. While it
// is still being reassigned it is not: the deletion waits for that, and that
// needs a leader.
func (p *partition) going() bool {
	return p.topic.queued && (p.topic.deleting || p.moving == nil)
}

// withoutLeader gives the partitions that are New or Offline and not going with
// their topic, in order.
func (c *context) withoutLeader() []*partition {
	var ps []*partition
	for p := range c.unled {
		if !p.going() {
			ps = append(ps, p)
		}
	}
	c.sortPartitions(ps)
	return ps
}
