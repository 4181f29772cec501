// Package kafka runs real Apache Kafka of this machine as the controllers of a
// cluster: candidates of ZooKeeper mode (Kafka 2.8 to 3.9) that host no
// replicas, or the controllers of a KRaft quorum (Kafka 3.9 and 4).
//
// It owns where the jars are, server.properties, the JVM's flags and logging,
// and what Kafka's logs tell of an election. It must not know who measures it.
// Providers start its nodes; the harness asks it for their configuration. Its
// nodes are provider.Nodes and may be used from any goroutine.
//
// Jars are looked for in KBENCH_KAFKA (a directory that holds VERSION/libs),
// then in KAFKA_HOME (an unpacked release of that version), then beside the
// kbench binary in kafka/VERSION/libs, where `make kafka` puts them. The error
// wraps provider.ErrUnavailable and names the cure.
//
// A rival is not handicapped: the JVM has the flags of Kafka's own start
// script, Kafka's defaults are kept but for what both sides must have equal,
// and it logs warnings and the few lines that tell of elections, so that the
// log does not become the load.
//
//	inst, err := kafka.Find("4.4.0")
//	n, err := kafka.Start(ctx, kafka.Config{Installation: inst, Dir: dir, Kafka: provider.Kafka{...}})
package kafka
