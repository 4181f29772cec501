package trace

// Kind names what happened. The values are part of the run folder's format.
type Kind string

// The kinds of event, and who writes each.
const (
	// ControllerDetected: a standby or candidate noticed that the active
	// controller is gone. ZooKeeper mode: it saw /controller deleted. KRaft:
	// its fetch timeout fired or EndQuorumEpoch came.
	ControllerDetected Kind = "controller.detected"
	// ControllerElected: the successor holds the epoch.
	ControllerElected Kind = "controller.elected"
	// ControllerLoaded: the successor has its state.
	ControllerLoaded Kind = "controller.loaded"
	// ControllerActive: the successor serves admin requests.
	ControllerActive Kind = "controller.active"
	// ControllerResigned: a controller gave up its epoch.
	ControllerResigned Kind = "controller.resigned"
	// ControllerShutdownGranted: the controller let a broker go. KRaft: Offset is
	// what was committed then.
	ControllerShutdownGranted Kind = "controller.shutdown-granted"
	// BrokerFenced: the controller declared a broker dead. KRaft: N is the session
	// timeout in ns.
	BrokerFenced Kind = "controller.broker-fenced"
	// BrokerUnfenced: the controller counts a broker as live again.
	BrokerUnfenced Kind = "controller.broker-unfenced"
	// BrokerRegistered: a broker holds a registration.
	BrokerRegistered Kind = "broker.registered"
	// BrokerHeardFenced: a broker found in the metadata that it is fenced; N is the
	// time in ns since it sent the last heartbeat whose answer said that it is not,
	// to the controller of Epoch. KRaft.
	BrokerHeardFenced Kind = "broker.heard-fenced"
	// BrokerControllerEpoch: a broker first saw a newer controller epoch; ZooKeeper
	// mode: Detail is the listener by which it came.
	BrokerControllerEpoch Kind = "broker.controller-epoch"
	// BrokerApplied: a broker published changed metadata; N is the number of
	// partitions changed.
	BrokerApplied Kind = "broker.applied"
	// BrokerISRAcknowledged: the broker, which leads a partition, heard from the
	// controller what the partition's state is: leader Broker of leader epoch Epoch,
	// and ISR, all of partition epoch N. Few of a second are told.
	BrokerISRAcknowledged Kind = "broker.isr-acknowledged"
	// LogDirFailed: a log directory of a broker went offline, and the N replicas in
	// it; Detail is its path.
	LogDirFailed Kind = "broker.log-dir-failed"
	// ShutdownRequested: a broker was told to stop and asks to leave.
	ShutdownRequested Kind = "broker.shutdown-requested"
	// ShutdownGranted: a broker was allowed to leave.
	ShutdownGranted Kind = "broker.shutdown-granted"
	// QuorumCampaigns: a voter wants to lead; N is 1 where it raises the epoch for
	// it and 0 where it asks first.
	QuorumCampaigns Kind = "quorum.campaigns"
	// QuorumFollows: a node that may vote heard of another leader, Broker; N is 1
	// where it does not vote itself. Its counters are of before that message.
	QuorumFollows Kind = "quorum.follows"
	// QuorumTruncated: a node that may vote dropped the N records of its log from
	// Offset on, which the leader does not have.
	QuorumTruncated Kind = "quorum.truncated"
	// QuorumDurable: after that its log up to Offset became durable.
	QuorumDurable Kind = "quorum.durable"
	// QuorumLedAlone: a node led Epoch until now, or leads it for too long; N is how
	// long in ns it did so last without a majority of the voters that fetched, less
	// the time by which its own loop was late, and Limit how long it may.
	QuorumLedAlone Kind = "quorum.led-alone"
	// DiskFault: an injected fault of the node's disk met a write or an fsync for
	// the first time; N is its number.
	DiskFault Kind = "disk.fault"
	// DiskHealed: an fsync passed after the faults were taken back; N is the
	// number under which they were.
	DiskHealed Kind = "disk.healed"
	// HeapLive: a process collected its garbage, as it was told to, and N bytes are
	// live on its heap.
	HeapLive Kind = "heap.live"
	// Dropped: the trace was full; N events were not written.
	Dropped Kind = "trace.dropped"
)

// Event is one line of a trace. Zero fields are left out of the line.
type Event struct {
	T      int64  `json:"t"`                // CLOCK_MONOTONIC, ns; 0 lets the writer stamp it
	Node   string `json:"node"`             // the writer's node name, set by the writer
	Kind   Kind   `json:"kind"`             //
	Epoch  int64  `json:"epoch,omitempty"`  // controller epoch or quorum epoch
	Broker int32  `json:"broker,omitempty"` // the broker spoken of; ids in kbench clusters start at 1
	Offset int64  `json:"offset,omitempty"` // metadata log offset, KRaft
	N      int64  `json:"n,omitempty"`      // a count, by kind
	Limit  int64  `json:"limit,omitempty"`  // of N, by kind
	Detail string `json:"detail,omitempty"` // free text for people

	// Of broker.isr-acknowledged.
	Topic     string `json:"topic,omitempty"`
	TopicID   string `json:"topicId,omitempty"` // as kafka.UUID writes it
	Partition int32  `json:"partition,omitempty"`
	ISR       string `json:"isr,omitempty"` // see IDs

	// Of quorum.*: what the node and the other voters have told each other since
	// it started.
	Messages   int64 `json:"messages,omitempty"`
	Bytes      int64 `json:"bytes,omitempty"`      // of the messages, without their frames
	RoundTrips int64 `json:"roundTrips,omitempty"` // times it heard again after it had spoken
}
