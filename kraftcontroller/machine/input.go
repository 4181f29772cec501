package machine

import (
	"iter"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// Input is one of Claim, Renounce, Committed, Snapshot, Voters, Skip, Request and
// Tick.
type Input interface{ input() }

// Claim makes the machine the active controller: the quorum elected this node
// and all that is committed has been stepped in. A machine that is active
// already renounces first.
type Claim struct {
	Epoch      kafka.LeaderEpoch
	NextOffset kafka.Offset // that the next appended record gets: the log end offset
}

// Renounce makes the machine a standby. It is stepped when the node hears that
// it does not lead, and when an append is refused. A standby ignores it.
type Renounce struct{}

// Committed tells that the offsets from BaseOffset on are stable. Each
// committed batch is stepped once, in order, those that this node appended as
// well; the active machine only looks at their offsets.
type Committed struct {
	BaseOffset kafka.Offset
	Epoch      kafka.LeaderEpoch
	// Control batches take offsets and hold nothing of the machine's; of
	// their Values only the number counts.
	Control bool
	// Values are the records' values, not kept after the step.
	Values [][]byte
}

// Snapshot replaces all state by that of a snapshot.
type Snapshot struct {
	EndOffset kafka.Offset // exclusive, as in the snapshot's id
	Epoch     kafka.LeaderEpoch
	// Values are the values of its data records; an error ends them and is
	// that of the step.
	Values iter.Seq2[[]byte, error]
}

// Request is a request to the controller. Its answer comes in the Responses
// of this step or of a later one, exactly one for each request; requests that
// are not answered yet are bounded by the connections that the server allows.
type Request struct {
	ID   uint64 // names the request in the responses; the caller's own
	Body kmsg.Request
	// Principal is who asks, type:name, for delegation tokens and quotas.
	Principal string
	// ClientID is what the client calls itself, for quotas; "" for nothing.
	ClientID string
}

// Tick does what is due. It is stepped when Effects.Deadline has come; an
// early or extra one does no harm.
type Tick struct{}

// Skip tells an active machine which offset its next record gets, before an
// input of which it may decide: the quorum itself appends control records where
// its voters change.
type Skip struct{ NextOffset kafka.Offset }

// Voters tells who is in the quorum: at the start, and when it changes. Without
// it the quorum is this node alone.
type Voters struct{ IDs []kafka.BrokerID }

func (Claim) input()     {}
func (Voters) input()    {}
func (Skip) input()      {}
func (Renounce) input()  {}
func (Committed) input() {}
func (Snapshot) input()  {}
func (Request) input()   {}
func (Tick) input()      {}

// Effects are what the shell has to do after a step: append first, then
// answer. The slices are the shell's.
type Effects struct {
	// Appends are to be appended in order, each atomically; none where
	// Config.Append takes them.
	Appends []Append
	// Responses are to be sent now: what they tell of is stable.
	Responses []Response
	// Events are for traces and logs.
	Events []Event
	// Deadline is when to step a Tick, on the clock of Step's now; Never
	// where nothing is due. It replaces the one before.
	Deadline time.Duration
}

// Never is the deadline of a machine that waits for nothing.
const Never time.Duration = math.MaxInt64

// Append is one batch of records.
type Append struct {
	BaseOffset kafka.Offset // that the first record must get
	Values     [][]byte
}

// LastOffset is the offset that the last record must get.
func (a Append) LastOffset() kafka.Offset { return a.BaseOffset + kafka.Offset(len(a.Values)) - 1 }

// Response answers a Request.
type Response struct {
	ID   uint64
	Body kmsg.Response
}

// EventKind says what an Event tells of.
type EventKind uint8

// The kinds of events. BrokerFenced, and those of a broker that heartbeats or
// registers, are told at the decision; Activated and ShutdownGranted when it
// is stable, which is when others can see it.
const (
	// Activated: the records of the activation are stable (or there were
	// none) and admin requests are served.
	Activated EventKind = iota
	// BrokerRegistered: a broker registered a new incarnation.
	BrokerRegistered
	// BrokerUnfenced: a broker has caught up and may lead.
	BrokerUnfenced
	// BrokerFenced: a broker was silent for the session timeout, or asked.
	BrokerFenced
	// ShutdownBegun: a broker asked for its controlled shutdown.
	ShutdownBegun
	// ShutdownGranted: a broker is told that it may stop.
	ShutdownGranted
	// DirectoriesOffline: a broker lost log directories.
	DirectoriesOffline
)

// String gives the kind's name.
func (k EventKind) String() string {
	return [...]string{"activated", "broker-registered", "broker-unfenced", "broker-fenced", "shutdown-begun", "shutdown-granted", "directories-offline"}[k]
}

// Event is something worth a trace.
type Event struct {
	Kind   EventKind
	Broker kafka.BrokerID // NoLeader for Activated
}
