// Package kraftcontroller is the log-style controller as a node of its own: a
// voter of the metadata quorum and, when it leads, the active controller. It is
// the shell around kraftcontroller/machine, as Kafka's QuorumController is
// around its managers.
//
// It owns the one goroutine that steps the machine, the queues before it, the
// requests that wait for their answer, the trace of what happens, its own registration as a controller, and the
// authorizer before its APIs (Config.Authorizer). It must not know how a request is decided
// (the machine does), nor how records are replicated (raftclient does).
//
// # Goroutines
//
// The event loop (Run's) steps the machine with what the quorum committed, with
// requests, and with time; what the quorum says goes first, so that answers
// that wait are not behind new questions. Handlers of the APIs run on their
// connection's goroutine and wait for the loop; so does the registrar, which
// registers this controller with the active one (KIP-919). Another goroutine writes
// snapshots (package snapshots), from images that never change.
//
//	c, err := kraftcontroller.New(kraftcontroller.Config{Raft: raftConfig, Machine: machineConfig})
//	server, err := wire.NewServer(wire.ServerConfig{APIs: c.APIs(), Features: c.Features})
//	go server.Serve(listener)
//	err = c.Run(ctx) // until Shutdown hands over, or ctx ends it like a crash
package kraftcontroller
