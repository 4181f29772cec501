package nodeconfig

import (
	"fmt"
	"time"

	"kbench/kafka"
)

// LifelineEnv is the environment variable with the number of a file descriptor
// that a node reads: it ends when the starter of the node is gone, and the node
// ends with it.
const LifelineEnv = "KBENCH_LIFELINE_FD"

// Role says what a process is.
type Role string

// The roles. One broker process may hold many brokers.
const (
	RoleZooKeeper  Role = "zookeeper"  // the embedded ZooKeeper server
	RoleBroker     Role = "broker"     // metadata-plane brokers, zk or kraft
	RoleController Role = "controller" // a voter of a KRaft quorum
)

// Mode says where a cluster keeps its metadata.
type Mode string

// The modes.
const (
	ModeZK    Mode = "zk"
	ModeKRaft Mode = "kraft"
)

// Duration is a time.Duration written as Go writes one, "2s".
type Duration time.Duration

// MarshalText writes d as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration with its unit.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return &durationError{string(b)}
	}
	*d = Duration(v)
	return nil
}

// durationError is a text that is no duration. Load says where it stands.
type durationError struct{ text string }

func (e *durationError) Error() string {
	return fmt.Sprintf("%q is no duration: write a number with its unit, such as 500ms or 2s", e.text)
}

// D gives d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// MetadataDir is the directory in DataDir where a voter keeps its metadata log, as
// Kafka's metadata.log.dir.
const MetadataDir = "metadata"

// Config is one process. Fields that do not belong to its role stay zero.
type Config struct {
	Name      string `json:"name"`      // unique in the cluster; names files and trace events
	Role      Role   `json:"role"`      //
	Mode      Mode   `json:"mode"`      //
	ClusterID string `json:"clusterId"` // Kafka's cluster id, 22 characters of base64url
	DataDir   string `json:"dataDir"`   // created where absent; kept between restarts
	TraceFile string `json:"traceFile"` // empty: no trace
	// DiskFaults is the file with the faults of the node's disk (DiskFault); empty
	// puts no layer between the node and its files.
	DiskFaults string     `json:"diskFaults,omitempty"`
	Brokers    []Broker   `json:"brokers,omitempty"`
	ZooKeeper  ZooKeeper  `json:"zookeeper,omitzero"`
	ZKServer   ZKServer   `json:"zkServer,omitzero"`
	Quorum     Quorum     `json:"quorum,omitzero"`
	Timers     Timers     `json:"timers,omitzero"`
	Tuning     Tuning     `json:"tuning,omitzero"`
	Security   Security   `json:"security,omitzero"`
	Metrics    MetricsLog `json:"metrics,omitzero"`
	Profile    ProfileAt  `json:"profile,omitzero"`
}

// ProfileAt is where a node serves Go's profiles (/debug/pprof) over HTTP; port
// 0 serves none.
type ProfileAt struct {
	Host string `json:"host"`
	Port uint16 `json:"port"`
}

// Broker is one broker of a process.
type Broker struct {
	ID        kafka.BrokerID `json:"id"` // 1 and above
	Host      string         `json:"host"`
	Port      uint16         `json:"port"`
	Rack      string         `json:"rack,omitempty"`      // empty: no rack
	Candidate bool           `json:"candidate,omitempty"` // zk: races for /controller

	// LogDirs are the broker's log directories; a relative path is in DataDir. None:
	// nothing of its replicas is on a disk.
	LogDirs []string `json:"logDirs,omitempty"`

	// Listeners are those beside the one of Host and Port, for clients or for
	// the controller alone.
	Listeners []BrokerEndpoint `json:"listeners,omitempty"`
}

// BrokerEndpoint is a further listener of a broker, on the broker's host.
type BrokerEndpoint struct {
	Name string `json:"name"` // how it is secured stands in Security.Listeners
	Port uint16 `json:"port"`
}

// ZooKeeper is how a node of a zk cluster reaches its store.
type ZooKeeper struct {
	Servers        []string         `json:"servers,omitempty"`        // host:port
	SessionTimeout Duration         `json:"sessionTimeout,omitempty"` // Kafka's default is 18s
	Dedicated      []kafka.BrokerID `json:"dedicated,omitempty"`      // candidates that host no replicas
	Access         ZooKeeperAccess  `json:"access,omitzero"`          // how the node shows itself
	TLS            *TLS             `json:"tls,omitempty"`            // zookeeper.ssl.client.enable; nil: plain
}

// ZKServer is the embedded server of role zookeeper.
type ZKServer struct {
	Host     string   `json:"host,omitempty"`
	Port     uint16   `json:"port,omitempty"`
	TickTime Duration `json:"tickTime,omitempty"`
	TLS      *TLS     `json:"tls,omitempty"` // encrypts the port; with a CA a client's certificate is its identity
}

// Quorum is the KRaft quorum: the voters, and which of them this process is.
type Quorum struct {
	NodeID kafka.BrokerID `json:"nodeId,omitempty"` // role controller
	Voters []Voter        `json:"voters,omitempty"` // static voters, and where a broker looks for the leader
	// A controller of a dynamic quorum (KIP-853) has no Voters: its directory is
	// formatted with the first ones. It says where it listens and who else knows
	// the leader; its brokers have Bootstrap only.
	Host      string   `json:"host,omitempty"`
	Port      uint16   `json:"port,omitempty"`
	Bootstrap []string `json:"bootstrap,omitempty"` // host:port, controller.quorum.bootstrap.servers
	AutoJoin  bool     `json:"autoJoin,omitempty"`  // controller.quorum.auto.join.enable
}

// Dynamic reports whether the voters are those of the log.
func (q Quorum) Dynamic() bool { return len(q.Voters) == 0 && q.Port != 0 }

// Voter is one controller of the quorum.
type Voter struct {
	ID   kafka.BrokerID `json:"id"`
	Host string         `json:"host"`
	Port uint16         `json:"port"`
}

// Timers are the waits of Kafka's configuration. Zero means Kafka's default.
type Timers struct {
	FetchTimeout              Duration `json:"fetchTimeout,omitempty"`              // controller.quorum.fetch.timeout.ms, 2s
	ElectionTimeout           Duration `json:"electionTimeout,omitempty"`           // controller.quorum.election.timeout.ms, 1s
	ElectionBackoffMax        Duration `json:"electionBackoffMax,omitempty"`        // controller.quorum.election.backoff.max.ms, 1s
	BrokerSession             Duration `json:"brokerSession,omitempty"`             // broker.session.timeout.ms, 9s
	BrokerHeartbeat           Duration `json:"brokerHeartbeat,omitempty"`           // broker.heartbeat.interval.ms, 2s
	ReplicaLagMax             Duration `json:"replicaLagMax,omitempty"`             // replica.lag.time.max.ms, 30s
	ControlledShutdownBackoff Duration `json:"controlledShutdownBackoff,omitempty"` // controlled.shutdown.retry.backoff.ms, 5s
}

// Tuning are the behaviours of Kafka that shape a number. Nil and zero mean
// Kafka's default; AppendLinger and NoOpInterval are pointers since 0 is a value.
type Tuning struct {
	ZKMaxInFlight         int       `json:"zkMaxInFlight,omitempty"`         // zookeeper.max.in.flight.requests, 10; 1 is Kafka before 1.1
	ZKUnfencedWrites      bool      `json:"zkUnfencedWrites,omitempty"`      // true is Kafka before 2.1
	ZKPerPartitionRequest bool      `json:"zkPerPartitionRequest,omitempty"` // true is Kafka before 1.1
	ZKStatesPerMulti      int       `json:"zkStatesPerMulti,omitempty"`      // 1 is Kafka's way, 200 the most
	ZKNoBrokerEpochs      bool      `json:"zkNoBrokerEpochs,omitempty"`      // true is Kafka before 2.2
	ZKFullMetadata        bool      `json:"zkFullMetadata,omitempty"`        // true is Kafka 1.0
	ZKStateChangeLog      bool      `json:"zkStateChangeLog,omitempty"`      // true is Kafka before 1.1: state-change.log in DataDir
	ZKProtocol            string    `json:"zkProtocol,omitempty"`            // inter.broker.protocol.version, 3.9
	AppendLinger          *Duration `json:"appendLinger,omitempty"`          // controller.quorum.append.linger.ms, 25ms
	NoOpInterval          *Duration `json:"noOpInterval,omitempty"`          // metadata.max.idle.interval.ms, 500ms
	SnapshotBytes         int64     `json:"snapshotBytes,omitempty"`         // metadata.log.max.record.bytes.between.snapshots, 20971520
	NoHWPush              bool      `json:"noHwPush,omitempty"`              // true is Kafka before 4.1: parked fetches wait for the next record (KIP-1166)
	MetadataVersion       string    `json:"metadataVersion,omitempty"`       // of a new cluster, with the features of its release, such as 4.0-IV3; a formatted directory says its own
	RaftPush              bool      `json:"raftPush,omitempty"`              // voters agree by the textbook's Raft, in which the leader pushes
	NoPreVote             bool      `json:"noPreVote,omitempty"`             // true is Kafka before 4.0 (KIP-996)

	// Auto leader rebalance is off where it is not asked for, unlike Kafka's: it
	// would move leaders in the midst of a measurement. Workloads do it between
	// trials.
	AutoLeaderRebalance     bool     `json:"autoLeaderRebalance,omitempty"`     // auto.leader.rebalance.enable
	LeaderImbalanceInterval Duration `json:"leaderImbalanceInterval,omitempty"` // leader.imbalance.check.interval.seconds, 5m
	LeaderImbalancePercent  int      `json:"leaderImbalancePercent,omitempty"`  // leader.imbalance.per.broker.percentage, 10; zk
}

// MetricsLog is the file of resource figures a node writes about itself.
type MetricsLog struct {
	File     string   `json:"file,omitempty"` // empty: none
	Interval Duration `json:"interval,omitempty"`
}
