// Package zkcontroller is Kafka's ZooKeeper-mode controller around the pure
// machine in zkcontroller/machine: it owns the session, the watches, the
// election, the queue of events, one sender for each broker and the handlers
// of the requests that only the active controller serves.
//
// It must not know brokers' data, the harness or results, and decides nothing
// about partitions: that is the machine's.
//
// Goroutines: Run is the event thread, which handles one event at a time and
// waits for ZooKeeper inside it, as Kafka's does; each broker has a sender with
// one request in flight; handlers run on the connections' goroutines, queue a
// call and wait for its reply; watch events come on the session's receive
// goroutine and are only queued. When the session expires the queue is emptied,
// what waited in it is refused, and the expiry is handled next (KAFKA-6879).
//
// README.md lists every event, znode and request with the tests that hold it,
// where this controller departs from Kafka's, and the options that undo steps of
// Kafka's history.
//
// Every candidate runs one Controller; whoever creates /controller is the
// active one. The process of a candidate merges APIs into the listener of its
// broker:
//
//	c, err := zkcontroller.New(zkcontroller.Config{ID: 1, Servers: servers, Listener: "PLAINTEXT"})
//	srv, err := wire.NewServer(wire.ServerConfig{APIs: append(brokerAPIs, c.APIs()...)})
//	go c.Run(ctx)
//	…
//	c.Resign(ctx) // a clean hand-over; so does deleting /controller
package zkcontroller
