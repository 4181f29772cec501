// Package zkserver is the embedded ZooKeeper server: one process that speaks
// ZooKeeper's client protocol, so that kbench runs on a bare machine and tests
// can break it on purpose. It is a single server, never an ensemble, and every
// result on it says so.
//
// It owns connections, sessions and their time-outs, the order of requests and
// the moment of their acknowledgement. Meaning of transactions is datatree's,
// files are txnlog's, bytes are proto's. `kbench node` with role zookeeper and
// tests call it; it knows nothing of Kafka or of the harness.
//
// Goroutines: each connection has a reader, which decodes, and a writer; one
// core goroutine owns the tree, the watches and the sessions and executes
// requests in the order they came; one sync goroutine appends what the core
// executed to the log, syncs it and only then lets the replies of that batch
// go, reads included, so that no reply shows what a crash could take back.
// While a sync runs the core gathers the next batch: group commit.
//
//	srv, err := zkserver.New(zkserver.Config{Listen: "127.0.0.1:0", DataDir: dir, TickTime: 500 * time.Millisecond})
//	go srv.Serve()
//	defer srv.Close()
//	conn, events, err := zk.Connect([]string{srv.Addr().String()}, 2*time.Second)
//
// Deviations from ZooKeeper 3.8: a session expires when its time-out is over,
// not at the next tick after it; failed writes take no zxid and no log entry;
// of the schemes of access lists it has world, digest, ip, auth, and x509 behind
// TLS, and no superuser; persistent watches, quotas, SASL and reconfiguration are
// answered with Unimplemented.
package zkserver
