package spec

import (
	"time"

	"kbench/kafka/ibp"
	"kbench/kafka/metadata"
)

// Provider is where nodes run.
type Provider string

// The providers. Auto is docker where an engine answers, else process.
const (
	ProviderAuto    Provider = "auto"
	ProviderProcess Provider = "process"
	ProviderDocker  Provider = "docker"
)

// Timeouts is a profile of timers.
type Timeouts string

// Default keeps Kafka's and ZooKeeper's own timers (18 s, 2 s, 9 s), which
// differ between the targets. Matched makes ZooKeeper session = fetch timeout
// = broker session = 2 s, so that detection costs the same on both sides.
const (
	TimeoutsDefault Timeouts = "default"
	TimeoutsMatched Timeouts = "matched"
)

// Store is where the zk target keeps its metadata.
type Store string

// The stores. Auto is a real ZooKeeper where one is to be had, else the
// embedded server, which is single and not replicated.
const (
	StoreAuto      Store = "auto"
	StoreZooKeeper Store = "zookeeper"
	StoreEmbedded  Store = "embedded"
)

// Colocated as a number of controllers means that every broker is a candidate
// or a voter, as ZooKeeper-era Kafka ran.
const Colocated = 0

// Config is every scalar that decides one cluster. Each field is a row of the
// settings table, which documents units and bounds.
type Config struct {
	Cluster Cluster
	ZK      ZKTuning
	KRaft   KRaftTuning
	Broker  BrokerTuning
	Kafka   KafkaTuning
	Network NetworkTuning `json:",omitzero"`
}

// Cluster is the shape of a cluster.
type Cluster struct {
	Partitions         int // in the whole cluster, made before measuring
	Brokers            int
	Controllers        int // dedicated candidates or voters, or Colocated
	Replication        int
	PartitionsPerTopic int
	BrokersPerNode     int     // brokers in one node process
	LogDirs            LogDirs `json:",omitzero"` // of each broker
	Timeouts           Timeouts
	Store              Store
	Ensemble           int      // servers of a real ZooKeeper, 1 or 3
	Security           Security `json:",omitempty"`
}

// LogDirs is a number of log directories. One is what there is where nothing is
// said, and is left out of hashes.
type LogDirs int

// IsZero reports whether there is one.
func (n LogDirs) IsZero() bool { return n <= 1 }

// ZKTuning is what can be tuned where the metadata is in ZooKeeper.
type ZKTuning struct {
	SessionTimeout       time.Duration
	TickTime             time.Duration
	MaxInFlight          int
	FencedWrites         bool
	PerPartitionRequests bool
	StatesPerMulti       int
	BrokerEpochs         bool
	FullMetadata         bool
	StateChangeLog       bool
	Protocol             string // inter.broker.protocol.version
	ControlPlaneListener bool   `json:",omitempty"`
}

// KRaftTuning is what can be tuned on a KRaft quorum.
type KRaftTuning struct {
	AppendLinger       time.Duration
	NoOpInterval       time.Duration // 0 writes none
	HWPush             bool
	PreVote            bool
	FetchTimeout       time.Duration
	ElectionTimeout    time.Duration
	ElectionBackoffMax time.Duration
	// MetadataVersion is that of the new cluster, with the features of its release;
	// 0 is what the target begins with by itself.
	MetadataVersion metadata.MetadataVersion `json:",omitempty"`
}

// BrokerTuning is what can be tuned on the brokers of both targets. On zk the
// session is the ZooKeeper session, so SessionTimeout and HeartbeatInterval
// act on kraft alone.
type BrokerTuning struct {
	SessionTimeout    time.Duration
	HeartbeatInterval time.Duration
	ReplicaLagMax     time.Duration
	ShutdownBackoff   time.Duration
}

// Brokers says whose brokers a target of real Kafka has.
type Brokers string

// BrokersOurs are kbench's metadata-plane brokers under Kafka's controllers:
// the same brokers as on the other side. BrokersReal are Kafka's own.
const (
	BrokersOurs Brokers = "ours"
	BrokersReal Brokers = "real"
)

// KafkaTuning is what can be tuned on nodes of real Kafka.
type KafkaTuning struct {
	Brokers    Brokers
	Properties string // more of every node's server.properties: key=value; key=value
	// More of server.properties of brokers and of controllers alone, after
	// Properties. A candidate of ZooKeeper mode is a controller here, unless the
	// brokers are real: then every broker is a candidate, and is a broker.
	BrokerProperties     string `json:",omitempty"`
	ControllerProperties string `json:",omitempty"`
	Heap                 string // of each JVM, such as 1g
	JVM                  string // more flags of the JVM, apart by spaces
}

// defaultConfig is what a spec that says nothing gets: three of everything and
// Kafka's own tuning.
func defaultConfig() Config {
	c := Config{
		Cluster: Cluster{
			Partitions: 1000, Brokers: 3, Controllers: 3, Replication: 3,
			PartitionsPerTopic: 100, BrokersPerNode: 1, LogDirs: 1,
			Timeouts: TimeoutsDefault, Store: StoreAuto, Ensemble: 3,
		},
		ZK: ZKTuning{MaxInFlight: 10, FencedWrites: true, StatesPerMulti: 1, BrokerEpochs: true, Protocol: ibp.Default.String()},
		KRaft: KRaftTuning{
			AppendLinger: 25 * time.Millisecond, NoOpInterval: 500 * time.Millisecond,
			HWPush: true, PreVote: true, ElectionTimeout: time.Second, ElectionBackoffMax: time.Second,
		},
		Broker: BrokerTuning{ReplicaLagMax: 30 * time.Second, ShutdownBackoff: 5 * time.Second},
		Kafka:  KafkaTuning{Brokers: BrokersOurs, Heap: "1g"},
	}
	c.useProfile(TimeoutsDefault)
	return c
}

// matchedPaths are the timers that the matched profile makes equal.
var matchedPaths = []string{
	"zk.sessionTimeout", "zk.tickTime", "kraft.fetchTimeout", "broker.sessionTimeout", "broker.heartbeatInterval",
}

// useProfile sets the timers of a profile.
func (c *Config) useProfile(t Timeouts) {
	c.Cluster.Timeouts = t
	if t == TimeoutsMatched {
		c.ZK.SessionTimeout, c.ZK.TickTime = 2*time.Second, 500*time.Millisecond
		c.KRaft.FetchTimeout = 2 * time.Second
		c.Broker.SessionTimeout, c.Broker.HeartbeatInterval = 2*time.Second, 500*time.Millisecond
		return
	}
	c.ZK.SessionTimeout, c.ZK.TickTime = 18*time.Second, 2*time.Second
	c.KRaft.FetchTimeout = 2 * time.Second
	c.Broker.SessionTimeout, c.Broker.HeartbeatInterval = 9*time.Second, 2*time.Second
}
