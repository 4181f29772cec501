package checker

import "kbench/kafka"

// History is everything that is judged. The zero value of a part means that
// it was not recorded; its invariants then look at nothing and say so.
type History struct {
	Operations   []Operation   // in the order of their acknowledgements
	Views        []View        // what each live broker served at the end, settled
	Observations []Observation // what probes saw, in the order of each broker's answers
	Elections    []Election    // who claimed which controller epoch
	Epochs       []EpochSeen   // controller epochs as nodes saw them, in each node's order
	Fences       []Fence       // of brokers that lived on and heard of it
	LedAlone     []LedAlone    // leaderships of a quorum that ended, or should have
	// Unkept counts the observations after the last one that is here: more were
	// made than are kept.
	Unkept int64
	// Interrupted says that nobody asked for what brokers served at the end.
	Interrupted bool
}

// Kind is a change of metadata.
type Kind string

// The kinds of operation.
const (
	CreateTopic      Kind = "create-topic"
	DeleteTopic      Kind = "delete-topic"
	CreatePartitions Kind = "create-partitions" // Partitions is the new total
	AlterConfig      Kind = "alter-config"      // Config of the topic becomes Value
)

// Outcome is what the client learnt.
type Outcome string

// An operation without an answer may or may not have happened; a refused one
// did not, and its Code may tell what was there: of a creation that is refused
// since the topic is there, that it is, be it by this very request.
const (
	Acknowledged Outcome = "acked"
	Unknown      Outcome = "unknown"
	Refused      Outcome = "refused"
)

// Operation is one change that a client asked for.
type Operation struct {
	Kind       Kind            `json:"kind"`
	Topic      string          `json:"topic"`
	ID         kafka.UUID      `json:"-"`                    // zero where the answer did not say
	Partitions int32           `json:"partitions,omitempty"` // of a creation
	Config     string          `json:"config,omitempty"`     // of AlterConfig: its name
	Value      string          `json:"value,omitempty"`      // and its new value
	Outcome    Outcome         `json:"outcome"`
	Code       kafka.ErrorCode `json:"code,omitempty"`   // of a refusal
	SentNs     int64           `json:"sentNs,omitempty"` // when it was sent; 0: not recorded, any time before AtNs
	AtNs       int64           `json:"atNs"`             // when the answer came, or waiting for it ended
}

// View is all topics as one broker served them.
type View struct {
	Broker kafka.BrokerID
	Topics []Topic // any order, each name once
}

// Topic is one topic of a View.
type Topic struct {
	Name       string
	ID         kafka.UUID
	Partitions []Partition // any order
	Configs    []Config    // of those that an operation altered; none where they were not asked for
}

// Config is one configuration of a Topic.
type Config struct {
	Name  string `json:"n"`
	Value string `json:"v"`
}

// Partition is the state of one partition in a View.
type Partition struct {
	Index       int32             `json:"p"`
	Leader      kafka.BrokerID    `json:"l"` // kafka.NoLeader for none
	LeaderEpoch kafka.LeaderEpoch `json:"e"`
	Replicas    []kafka.BrokerID  `json:"r"`
	ISR         []kafka.BrokerID  `json:"i"` // any order
}

// Observation is one partition as a broker served it to a probe.
type Observation struct {
	AtNs        int64             `json:"atNs"`
	Broker      kafka.BrokerID    `json:"broker"`
	Incarnation int               `json:"incarnation,omitempty"` // counts the broker's starts: a new process may lag behind its predecessor
	Topic       string            `json:"topic"`
	TopicID     kafka.UUID        `json:"-"` // zero where it was not asked for
	Partition   int32             `json:"partition"`
	Leader      kafka.BrokerID    `json:"leader"`
	LeaderEpoch kafka.LeaderEpoch `json:"leaderEpoch"`
}

// Election is a controller's claim of an epoch.
type Election struct {
	AtNs  int64  `json:"atNs"`
	Node  string `json:"node"`
	Epoch int64  `json:"epoch"`
}

// Fence is that of a broker which had a controller's word that it was not, and
// lived on to find it in the metadata.
type Fence struct {
	AtNs      int64          `json:"atNs"`
	Broker    kafka.BrokerID `json:"broker"`
	Epoch     int64          `json:"epoch"`     // of the controller
	SilentNs  int64          `json:"silentNs"`  // since the broker sent the last heartbeat that this controller answered so
	SessionNs int64          `json:"sessionNs"` // the controller's timeout
}

// LedAlone is how long a leader of a quorum led at last without a majority of the
// voters that fetched. The time by which its own loop was late is not in it: who
// stands still steps down late.
type LedAlone struct {
	AtNs    int64  `json:"atNs"`
	Node    string `json:"node"`
	Epoch   int64  `json:"epoch"`
	AloneNs int64  `json:"aloneNs"`
	LimitNs int64  `json:"limitNs"`
}

// EpochSeen is a controller epoch as a node came to see it.
type EpochSeen struct {
	AtNs  int64  `json:"atNs"`
	Node  string `json:"node"`
	Epoch int64  `json:"epoch"`
}
