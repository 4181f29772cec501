// Package etcdraft replicates the metadata log by the textbook's Raft, in which
// the leader pushes: the contrast to the pull-based Raft of package raft, over
// the library go.etcd.io/raft. A voter's raftclient.Client takes a Push as its
// Algorithm and keeps all the rest: the log of package metalog with its fsyncs,
// the accumulator, snapshots, the Listener, and the Fetch requests of brokers,
// which are observers as under KRaft.
//
// It owns the translation between the library's entries and Kafka's batches,
// and the transport between the voters. It must not know what a record means.
//
// # The log
//
// One entry is one record batch: its data are the bytes of the batch, its term
// the batch's epoch. The empty entry by which a leader opens its term is a
// LeaderChange control batch, the same bytes on every node, that names no
// leader. Entries are numbered without gaps and offsets are not, so a node
// counts the batches of its log from an anchor, an offset whose index it knows:
// offset 0 or, where the log begins behind a snapshot, what the file raft-index
// says. Term and vote are in quorum-state; the commit index is not kept, as
// Raft allows.
//
// The library's asynchronous storage writes are the Client's effects: an answer
// that promises durability leaves when the fsync is done, and a leader sends
// entries while its own disk works.
//
// # Differences from KRaft
//
// A voter hears nothing of an idle leader but heartbeats, ten in the least
// election timeout, which is the fetch timeout. A leader that leaves transfers
// its leadership. Pre-vote and the check of the quorum go together:
// DisablePreVote turns both off and gives the plain Raft of the paper.
// A voter that has lost what it acknowledged, such as one whose directory was
// removed, stops with the library's panic, where KRaft's would fetch it again.
// The library draws its election timeouts itself, they are not seeded.
//
// # Voters
//
// Voters change one at a time, from kraft.version 1 on, by the requests and the
// control records of KIP-853; all of them are nodes of the configuration, which
// says where they listen. An entry with such records is an ordinary one for the
// library, which hears of the change when it is committed, and no earlier, as it
// wants it; KRaft's takes effect when it is appended. A new voter gets the log
// from then on and need not have followed before. A removed one gets nothing
// any more: it is no observer, as KRaft's is, it is behind. If it was cut off
// when it was removed nobody tells it, and it campaigns for ever: pre-vote and
// the check of the quorum keep the others from following it, without them each
// campaign deposes the leader (Ongaro's thesis, section 4.2.3).
//
// The file raft-voters says how far the log was committed when the voters
// changed last: a node that starts again must not count by those before.
//
// # Transport
//
// Voters send on the controllers' port: a connection that opens with the word
// RAFT, no possible size of a Kafka request, is this package's (Listener), any
// other goes on to the Kafka server. Frames go one way, each a length of four
// bytes and a message. A message that cannot be sent is dropped, and the machine
// hears that the peer cannot be reached.
//
// Where the port speaks TLS, so do voters from behind the word on: both sides
// show certificates, and a Gate judges them as Kafka judges the requests of
// voters, by CLUSTER_ACTION. They have no passwords.
//
// # Goroutines
//
// The Machine is stepped by the Client's goroutine. The transport has one for
// each peer and one for each connection that came in; Run joins them.
//
//	push := etcdraft.New()
//	c, err := raftclient.New(raftclient.Config{Algorithm: push, ...})
//	go server.Serve(push.Listener(listener, etcdraft.Gate{}))
//	err = c.Run(ctx)
package etcdraft
