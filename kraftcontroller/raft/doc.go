// Package raft is Kafka's pull-based Raft (KIP-595) as a pure state machine:
// an input and the time go in, effects and the next deadline come out.
//
// The voters are static, those of the configuration, or dynamic, those of the
// log, where they change one at a time (KIP-853).
//
// It owns the role of a node in the quorum (voter or observer; Unattached,
// Prospective, Candidate, Leader, Resigned, Follower), the epoch, the vote,
// the high watermark, the replication progress of the replicas, parked
// fetches, and the offsets and epochs of the log (what Kafka keeps in its
// leader-epoch checkpoint). It must not know what a record holds, where a
// file or a peer is, or what time it is: no goroutine, lock, clock, socket,
// file or global randomness. Same configuration, same persisted state and
// same inputs at the same times give the same effects.
//
// # Who calls it
//
// One goroutine owns a Machine: kraftcontroller/raftclient over real files,
// sockets and clocks, and internal/sim over virtual ones. A Machine is not
// safe for concurrent use.
//
//	m, err := raft.New(cfg, persisted)
//	effects, deadline := m.Step(now, raft.Tick{}) // the first Step starts the timers
//	for {
//		carryOut(effects)                     // in the order below
//		in := waitForInputUntil(deadline)     // raft.Tick{} when the deadline came first
//		effects, deadline = m.Step(now, in)
//	}
//
// A Delivery is a second, smaller machine beside it: what the state machine above
// the log hears of committed batches, snapshots and leaders, and in which order.
//
// # The order of effects
//
// After each Step, before the next one, the driver does in this order:
//
//  1. Fatal: stops the node; nothing else of this Effects may be carried out.
//  2. Persist: writes quorum-state, fsyncs it and renames it, and waits. No
//     message of this Step or of a later one may leave before that is durable:
//     a vote that a crash forgets can be given twice.
//  3. Log: carries out truncations and appends in the order given, so that
//     reads see them. They need not be durable.
//  4. Snapshot: writes the chunk, or installs the snapshot, see Snapshot.
//  5. Flush: starts an fsync of the log, here or on another goroutine, and
//     hands FlushDone back when it is durable. At most one flush is out at any
//     time, so a slow disk groups the appends that wait for it. Messages need
//     not wait for it: the machine itself holds back what must (a follower's
//     next fetch, which acknowledges the records it holds, and the leader's
//     own end offset in the high watermark).
//  6. Send and Reply: the messages leave. Where a FetchResponse carries a Read,
//     its records are read before the next Step, because a later Step may
//     truncate them.
//  7. Appended, Role, HighWatermark, ShutdownDone: news for the layers above.
//
// A failed write, fsync or rename is fatal to the node: the driver must stop,
// since the machine has already taken it as done.
//
// # Messages
//
// The structs map one to one on Kafka's RPCs with one topic of one partition;
// topic names, versions, endpoints and the bytes of records are the driver's.
// Each request that the machine sends has an id, and its answer comes back as
// Response with that id, or as RequestFailed; the machine itself times a
// request out after Config.RequestTimeout and ignores an answer that comes
// later. It has at most one request out per peer and resets that on each
// change of role: since a Kafka server answers a connection's requests in
// order and may park a Fetch, a driver uses one connection for Fetch and
// FetchSnapshot and one for the rest.
//
// Where it differs from Kafka: nobody is told BROKER_NOT_AVAILABLE. A leader of
// Kafka's answers so between the call that shuts it down and its next poll; this
// one resigns in the Step of that call, and says NOT_LEADER_OR_FOLLOWER from then
// on, as Kafka's does after its poll.
//
// # What is tested where
//
// Each request, state, transition and error code of the machine, as the stories
// in testdata print it, and the stories that show it. TestTable holds this to
// the stories, which fail without it (internal/unplug); internal/sim drives all
// of it at random.
//
//	Vote epoch=               machine/election quorum/failover
//	Vote: NONE                machine/vote
//	PreVote epoch=            machine/prevote
//	BeginQuorumEpoch leader=  machine/leader quorum/failover
//	BeginQuorumEpoch: NONE    machine/follower machine/observer
//	EndQuorumEpoch leader=    machine/removevoter quorum/handover
//	EndQuorumEpoch: NONE      machine/endquorum
//	Fetch epoch=              machine/follower machine/leader machine/hwpush
//	diverging=                machine/diverging
//	FetchSnapshot             machine/snapshot quorum/snapshot
//	DescribeQuorum:           machine/leader machine/addvoter
//	AddRaftVoter              machine/addvoter machine/autojoin
//	ApiVersions               machine/addvoter
//	RemoveRaftVoter           machine/removevoter machine/autojoin
//	UpdateRaftVoter           machine/updatevoter machine/upgrade
//	upgrade:                  machine/upgrade
//	kraft.version=1           machine/upgrade machine/dynamicstart
//	role Unattached           machine/vote
//	role Prospective          machine/prevote
//	role Candidate            machine/election machine/start
//	role Leader               machine/leader quorum/failover
//	role Resigned             machine/checkquorum machine/removevoter
//	role Follower             machine/follower machine/diverging
//	transition start => Unattached        machine/start machine/election
//	transition start => Candidate         machine/start
//	transition start => Resigned          machine/start
//	transition start => Follower          machine/start machine/follower
//	transition Unattached => Unattached   machine/vote machine/observer
//	transition Unattached => Prospective  machine/prevote machine/transitions
//	transition Unattached => Candidate    machine/election
//	transition Unattached => Follower     machine/observer machine/endquorum
//	transition Prospective => Unattached  machine/prevote
//	transition Prospective => Candidate   machine/transitions
//	transition Prospective => Follower    machine/prevote
//	transition Candidate => Unattached    machine/transitions
//	transition Candidate => Prospective   machine/transitions
//	transition Candidate => Candidate     machine/election
//	transition Candidate => Leader        machine/election machine/leader
//	transition Candidate => Follower      machine/transitions
//	transition Leader => Unattached       machine/transitions
//	transition Leader => Resigned         machine/checkquorum machine/removevoter machine/shutdown
//	transition Leader => Follower         machine/leader
//	transition Resigned => Unattached     machine/shutdown machine/removevoter
//	transition Resigned => Prospective    machine/start
//	transition Resigned => Candidate      machine/checkquorum
//	transition Resigned => Follower       machine/transitions
//	transition Follower => Unattached     machine/vote machine/observer
//	transition Follower => Prospective    machine/follower machine/prevote
//	transition Follower => Candidate      machine/endquorum
//	transition Follower => Follower       machine/follower
//	observer                  machine/observer machine/removevoter machine/autojoin
//	shutdown done             machine/shutdown
//	FATAL                     machine/diverging machine/snapshot
//	INCONSISTENT_CLUSTER_ID   machine/addvoter machine/removevoter machine/updatevoter
//	FENCED_LEADER_EPOCH       machine/vote machine/updatevoter machine/leader
//	UNKNOWN_LEADER_EPOCH      machine/leader machine/updatevoter
//	NOT_LEADER_OR_FOLLOWER    machine/leader machine/addvoter machine/shutdown
//	INVALID_REQUEST           machine/addvoter machine/updatevoter machine/snapshot
//	INVALID_VOTER_KEY         machine/vote machine/follower
//	SNAPSHOT_NOT_FOUND        machine/snapshot
//	POSITION_OUT_OF_RANGE     machine/snapshot
//	REQUEST_TIMED_OUT         machine/addvoter machine/removevoter machine/updatevoter
//	UNSUPPORTED_VERSION       machine/removevoter
//	DUPLICATE_VOTER           machine/addvoter
//	VOTER_NOT_FOUND           machine/removevoter machine/updatevoter
//	INVALID_UPDATE_VERSION    machine/upgrade
package raft
