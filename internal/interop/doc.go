// Package interop proves by Apache Kafka's own programs that zkcontroller is
// Kafka's ZooKeeper-mode controller: real Kafka 3.9 brokers obey it, and
// Kafka's own command-line tools do each their job under it and exit 0.
//
// It holds tests alone, and runs them only where KBENCH_INTEROP is set, since
// they start a ZooKeeper, three JVMs of Kafka and nodes of kbench:
//
//	make interop-zk
//
// KBENCH_INTEROP_LOGS names a directory that gets the logs of all nodes. What
// each story proves stands in zkcontroller/README.md.
//
// One cluster serves the stories of a test, in the order of their list. Its
// controller candidates hold /controller before the first real broker starts,
// and win every election but one: real brokers are candidates too, and they
// reach ZooKeeper through a gate that holds back what they are told of
// /controller until the next candidate of kbench has it. The last story lets a
// real broker win, and takes the cluster back.
//
// After each story the logs of all nodes are read: a line that tells of an
// error, of a version that is not supported or of a connection that was closed
// fails the story that it fell into, unless it was written while a fault of
// the story's own lasted (see faults). What is forgiven otherwise stands in
// logs_test.go with its reason.
//
// The other direction, the brokers of kbench under a real Kafka 3.9 controller
// with every workload on it, is target kafka-zk: TestEveryWorkloadOnRealKafka
// of cmd/kbench.
package interop
