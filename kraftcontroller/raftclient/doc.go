// Package raftclient runs one node's part in the metadata quorum, as voter or
// as observer: it is the thin I/O around the machine of package raft, with the
// log of package metalog, connections of package wire and a clock. It is to
// kbench what KafkaRaftClient is to Kafka, and is used by the controller and,
// as observer, by every broker.
//
// It owns the goroutine that steps the machine, the log and its fsyncs, the
// connections to the other nodes, the accumulator that gathers appends, and
// the order in which a Listener hears of committed batches. It must not know
// what a record means, and decides nothing about elections, commitment or
// truncation: the machine does. Config.Algorithm puts another machine in the
// place of package raft's, with a transport of its own.
//
// # Goroutines
//
// One goroutine (Run's) steps the machine and writes the log. One syncs the
// log, so that replicas fetch while the leader's disk works. Two per peer own
// one connection each, for Fetch and for the rest, with one request in flight.
// One calls the Listener: committed batches in order, each once, snapshots
// where the log does not reach back, and changes of leadership. A slow
// Listener slows nobody else: what it has not seen waits in the log, not in
// memory. Handlers of the APIs run on their connection's goroutine.
//
//	client, err := raftclient.New(raftclient.Config{
//		NodeID: 3, ClusterID: id, Voters: voters, Dir: "/var/lib/kbench/c3", Listener: l,
//	})
//	server, err := wire.NewServer(wire.ServerConfig{APIs: client.APIs()})
//	err = client.Run(ctx)
package raftclient
