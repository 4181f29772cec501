package replica

import (
	"sync"
	"time"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// applyChunk is how many changes are applied under one lock, so that requests
// are answered while a hundred thousand leaders move.
const applyChunk = 1000

// Config is what a Manager needs to know.
type Config struct {
	Self kafka.BrokerID
	// LagMax is Kafka's replica.lag.time.max.ms: a follower that has not had
	// the whole log for longer leaves the ISR.
	LagMax time.Duration
	// FetchBackoff is Kafka's replica.fetch.backoff.ms: how long a follower
	// leaves a partition alone that its leader refused.
	FetchBackoff time.Duration
	// Dirs is the number of log directories, at most MaxDirs; 0 counts as 1.
	Dirs int
	// OnFetcher is called, outside the lock, for each leader broker that this
	// broker begins to follow; the fetcher lives as long as the Manager.
	OnFetcher func(*Fetcher)
}

// Manager holds the replicas of one broker.
type Manager struct {
	cfg Config

	mu       sync.Mutex
	byName   map[string]*topic
	byID     map[kafka.UUID]*topic
	sessions map[kafka.BrokerID]*session // of followers of this broker
	fetchers map[kafka.BrokerID]*Fetcher // of the leaders this broker follows
	born     []*Fetcher                  // fetchers not yet told to OnFetcher
	nextID   int32                       // of the last session
	leads    int
	total    int
	dirs     []dirState
	bytes    int64 // payload received and dropped

	isrQueue      []*replica  // to propose an ISR for
	isrLater      []*replica  // the same, after RetryISR
	isrResend     []*Proposal // without an answer, to ask again
	isrUnanswered []*Proposal // the same, after RetryISR
	isrReady      chan struct{}
}

// NewManager makes a Manager without replicas.
func NewManager(cfg Config) *Manager {
	if cfg.OnFetcher == nil {
		cfg.OnFetcher = func(*Fetcher) {}
	}
	return &Manager{
		cfg:    cfg,
		byName: map[string]*topic{}, byID: map[kafka.UUID]*topic{},
		sessions: map[kafka.BrokerID]*session{}, fetchers: map[kafka.BrokerID]*Fetcher{},
		isrReady: make(chan struct{}, 1),
		dirs:     make([]dirState, max(cfg.Dirs, 1)),
	}
}

// Change is the newest state of one partition.
type Change struct {
	Topic     string
	TopicID   kafka.UUID // zero where the cluster has no topic ids
	Partition int32
	// State is what the controller says; nil, or a state whose replicas do
	// not hold this broker, removes the replica. It is only read.
	State *metadata.Partition
	// Dir is the log directory in which the replica is known to lie, where this
	// broker does not have it yet; 0 puts it into the one with the fewest.
	Dir int
}

// Apply takes over what the controller decided, in order. A state whose leader
// epoch or partition epoch is older than the replica's is skipped. It gives
// the number of replicas that changed.
func (m *Manager) Apply(now int64, changes []Change) int {
	n := 0
	for len(changes) > 0 {
		part := changes[:min(applyChunk, len(changes))]
		changes = changes[len(part):]
		m.mu.Lock()
		for i := range part {
			if m.apply(now, &part[i]) {
				n++
			}
		}
		born := m.born
		m.born = nil
		m.mu.Unlock()
		for _, f := range born {
			m.cfg.OnFetcher(f)
		}
	}
	return n
}

func (m *Manager) apply(now int64, c *Change) bool {
	if c.State == nil || !c.State.HasReplica(m.cfg.Self) {
		return m.remove(c.Topic, c.Partition)
	}
	t := m.topic(c.Topic, c.TopicID)
	r := t.get(c.Partition)
	if r == nil {
		r = t.add(c.Partition)
		r.dir = m.place(c.Dir)
		m.total++
	} else if c.State.LeaderEpoch < r.leaderEpoch || c.State.LeaderEpoch == r.leaderEpoch && c.State.PartitionEpoch <= r.partitionEpoch {
		return false
	}
	if m.offline(r) {
		return false
	}
	r.setPeers(m.cfg.Self, c.State.Replicas)
	if c.State.Leader == m.cfg.Self {
		m.becomeLeader(now, r, c.State)
	} else {
		m.becomeFollower(r, c.State)
	}
	return true
}

// topic finds or makes a topic. A topic of the same name and another id is a
// former one, and its replicas go first.
func (m *Manager) topic(name string, id kafka.UUID) *topic {
	t := m.byName[name]
	if t != nil && t.id != id && !t.id.IsZero() {
		m.removeTopic(t)
		t = nil
	}
	if t == nil {
		t = &topic{name: name, id: id}
		m.byName[name] = t
	}
	if t.id = id; !id.IsZero() {
		m.byID[id] = t
	}
	return t
}

// RemoveTopic removes all replicas of a topic and gives their number.
func (m *Manager) RemoveTopic(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.byName[name]
	if t == nil {
		return 0
	}
	return m.removeTopic(t)
}

func (m *Manager) removeTopic(t *topic) int {
	n := len(t.parts)
	for i := n - 1; i >= 0; i-- {
		m.remove(t.name, t.parts[i].partition)
	}
	return n
}

// Remove removes one replica and reports whether it was there.
func (m *Manager) Remove(tp kafka.TopicPartition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.remove(tp.Topic, tp.Partition)
}

func (m *Manager) remove(name string, p int32) bool {
	t := m.byName[name]
	if t == nil {
		return false
	}
	i, ok := t.search(p)
	if !ok {
		return false
	}
	r := t.parts[i]
	m.stopRole(r)
	r.leader, r.leaderEpoch = kafka.NoLeader, kafka.NoEpoch
	r.wake(kafka.UnknownTopicOrPartition)
	copy(t.parts[i:], t.parts[i+1:])
	t.parts[len(t.parts)-1] = nil
	t.parts = t.parts[:len(t.parts)-1]
	m.total--
	m.dirs[r.dir-1].replicas--
	if len(t.parts) == 0 {
		delete(m.byName, name)
		delete(m.byID, t.id)
	}
	return true
}

// Stop ends what a replica does as leader or follower and keeps it, as
// StopReplica without deletion asks.
func (m *Manager) Stop(tp kafka.TopicPartition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(tp.Topic, tp.Partition)
	if r == nil {
		return false
	}
	m.stopRole(r)
	r.leader = kafka.NoLeader
	r.wake(kafka.NotLeaderOrFollower)
	return true
}

// stopRole takes r out of all lists of leaders and followers.
func (m *Manager) stopRole(r *replica) {
	if r.leader == m.cfg.Self {
		m.leads--
		for i := range r.peers {
			r.peers[i].session = 0
		}
		m.settle(r)
	} else if f := m.fetchers[r.leader]; f != nil {
		f.drop(r)
	}
}

func (m *Manager) becomeLeader(now int64, r *replica, s *metadata.Partition) {
	wasLeader := r.leader == m.cfg.Self
	if !wasLeader {
		m.stopRole(r)
		m.leads++
	}
	if !wasLeader || r.leaderEpoch != s.LeaderEpoch {
		m.beginEpoch(now, r, s)
	}
	r.partitionEpoch = s.PartitionEpoch
	r.setISR(s.ISR)
	m.settled(r)
}

// beginEpoch makes r the leader of a new epoch: what followers have is
// unknown until they fetch in it.
func (m *Manager) beginEpoch(now int64, r *replica, s *metadata.Partition) {
	r.leader, r.leaderEpoch, r.epochStart = m.cfg.Self, s.LeaderEpoch, r.logEnd
	for i := range r.peers {
		p := &r.peers[i]
		p.logEnd, p.session, p.caughtUp = kafka.NoOffset, 0, now
	}
}

func (m *Manager) becomeFollower(r *replica, s *metadata.Partition) {
	moved := r.leader != s.Leader || r.leaderEpoch != s.LeaderEpoch
	if moved {
		m.stopRole(r)
	}
	r.leader, r.leaderEpoch, r.partitionEpoch = s.Leader, s.LeaderEpoch, s.PartitionEpoch
	if !moved {
		return
	}
	r.wake(kafka.NotLeaderOrFollower)
	if s.Leader >= 0 {
		m.fetcher(s.Leader).add(r)
	}
}

func (m *Manager) find(name string, p int32) *replica {
	if t := m.byName[name]; t != nil {
		return t.get(p)
	}
	return nil
}

func (m *Manager) findByID(id kafka.UUID, p int32) *replica {
	if t := m.byID[id]; t != nil {
		return t.get(p)
	}
	return nil
}

// topics gives the topics at this moment, for a walk in several locks.
func (m *Manager) topics() []*topic {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*topic, 0, len(m.byName))
	for _, t := range m.byName {
		all = append(all, t)
	}
	return all
}

// eachLed calls f under the lock for every replica led here, releasing the
// lock between topics every applyChunk replicas.
func (m *Manager) eachLed(f func(*replica)) {
	m.each(func(r *replica) {
		if r.leader == m.cfg.Self {
			f(r)
		}
	})
}

// each is eachLed for every replica.
func (m *Manager) each(f func(*replica)) {
	n := 0
	topics := m.topics()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range topics {
		if n += len(t.parts); n >= applyChunk {
			n = 0
			m.mu.Unlock()
			m.mu.Lock()
		}
		for _, r := range t.parts {
			f(r)
		}
	}
}

// Counts are totals of one broker's replicas.
type Counts struct {
	Replicas, Led int
	Bytes         int64 // record payload received from producers and dropped
}

// Counts gives the totals.
func (m *Manager) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Counts{Replicas: m.total, Led: m.leads, Bytes: m.bytes}
}

// Held is what a controller's request is judged by.
type Held struct {
	TopicID     kafka.UUID
	LeaderEpoch kafka.LeaderEpoch
	Offline     bool // its log directory failed
}

// Held finds a replica, or false where this broker has none.
func (m *Manager) Held(tp kafka.TopicPartition) (Held, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(tp.Topic, tp.Partition)
	if r == nil {
		return Held{}, false
	}
	return Held{TopicID: r.topic.id, LeaderEpoch: r.leaderEpoch, Offline: m.offline(r)}, true
}

// Info is the state of one replica.
type Info struct {
	TopicID        kafka.UUID
	Leader         kafka.BrokerID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	LogEnd         kafka.Offset
	HighWatermark  kafka.Offset
	Dir            int              // the number of its log directory
	Offline        bool             // that directory failed
	ISR            []kafka.BrokerID // as the leader knows it; nil on a follower
}

// Info gives the state of a replica, or false where this broker has none.
func (m *Manager) Info(tp kafka.TopicPartition) (Info, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.find(tp.Topic, tp.Partition)
	if r == nil {
		return Info{}, false
	}
	i := Info{
		TopicID: r.topic.id, Leader: r.leader, LeaderEpoch: r.leaderEpoch, PartitionEpoch: r.partitionEpoch,
		LogEnd: r.logEnd, HighWatermark: r.highWatermark, Dir: int(r.dir), Offline: m.offline(r),
	}
	if r.leader == m.cfg.Self {
		i.ISR = append(i.ISR, m.cfg.Self)
		for _, p := range r.peers {
			if p.has(peerInISR) {
				i.ISR = append(i.ISR, p.id)
			}
		}
	}
	return i, true
}
