// Package broker is the metadata-plane broker: it registers, holds the
// cluster's metadata, answers clients, leads and follows partitions and keeps
// ISR membership through real AlterPartition requests, but stores no user
// data. One type serves both modes; what differs is a thin plane.
//
//	          clients, other brokers                 the controller
//	                  |                                    |
//	handlers (one file a key) --- Broker --- Plane: ZooKeeper or KRaft
//	                  |             |                      |
//	           metadata.Image   broker/replica      zkcontroller/zk, raftclient, broker/loader
//
// It owns the handlers, the metadata cache (an immutable image behind an
// atomic pointer), the follower fetchers (one goroutine for each leader
// broker), the AlterPartition sender (one request in flight) and the life
// cycle of the registration. In KRaft mode it takes snapshots of its metadata log
// as Kafka's brokers do (kraftcontroller/snapshots); neither is synced, and what a
// power cut damages is fetched again. It must not know how a
// controller decides, nor harness, workloads or results. cmd/kbench assembles it: a wire.Server over
// APIs, then Run.
//
// What it leaves out, beside payload: consumer groups and transactions
// (FindCoordinator says COORDINATOR_NOT_AVAILABLE, ListGroups lists none), the enforcement of quotas,
// fetch sessions of consumers, a history of leader epochs, and offsets across a
// restart: a restarted broker begins with empty logs and has the leader's
// offsets after its first fetch. Followers keep one connection to each leader
// broker, so the fetches of an idle cluster grow with the pairs of brokers that
// share partitions; Config.FetchWait is their period.
//
// Replicas lie in log directories as Kafka's do (KIP-112, KIP-858): a broker goes on
// without those of a directory that fails, and ends with the last. All it writes
// there is meta.properties and a checkpoint of high watermarks, whose failure is how
// it finds out. ZooKeeper mode, in which nobody else knows where replicas lie,
// places them anew after a restart. AlterReplicaLogDirs is not served.
//
// ACLs, SCRAM credentials, client quotas and delegation tokens are in the image
// in both modes; ZooKeeper mode keeps them in Kafka's znodes and reads them anew
// on each notification. Whether an ACL allows a request is kafka/guard's.
//
// Handlers run on their connection's goroutine, at most as many as the
// RequestChannel of the broker's listeners allows; what Kafka's brokers leave in a
// purgatory or with a callback parks. Nothing is global, and no
// goroutine exists per partition, so one process can hold many brokers.
//
//	b, err := broker.New(broker.Config{ID: 1, Endpoints: eps}, broker.ZooKeeper(zkConfig))
//	srv, err := wire.NewServer(wire.ServerConfig{APIs: b.APIs(), Listener: "PLAINTEXT"})
//	go srv.Serve(ln)
//	go b.Run(ctx)
//	...
//	err = b.Shutdown(ctx) // controlled
package broker
