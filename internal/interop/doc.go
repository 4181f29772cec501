// Package interop proves by Apache Kafka's own programs that the controllers of
// kbench are Kafka's: real brokers obey them, real KRaft controllers form one
// quorum with them, and Kafka's own command-line tools do each their job at
// them and on their files, and exit 0.
//
// It holds tests alone, and runs them only where KBENCH_INTEROP is set, since
// they start a ZooKeeper, JVMs of Kafka and nodes of kbench:
//
//	make interop-zk
//	make interop-kraft
//
// KBENCH_INTEROP_LOGS names a directory that gets the logs of all nodes. What
// each story proves stands in zkcontroller/README.md and
// kraftcontroller/README.md.
//
// One cluster serves the stories of a test, in the order of their list.
//
// # ZooKeeper mode, Kafka 3.9
//
// Controller candidates of kbench hold /controller before the first real broker
// starts, and win every election but one: real brokers are candidates too, and
// they reach ZooKeeper through a gate that holds back what they are told of
// /controller until the next candidate of kbench has it. The last story lets a
// real broker win, and takes the cluster back. The other direction, the brokers
// of kbench under a real Kafka 3.9 controller with every workload on it, is
// target kafka-zk: TestEveryEventOnRealKafka of cmd/kbench.
//
// # KRaft mode, Kafka 4.4
//
// TestKRaftRealBrokers runs real brokers under three controllers of kbench.
// TestKRaftMixedQuorums runs brokers of kbench under three real controllers,
// which kafka-metadata-quorum replaces by those of kbench one at a time and then
// the other way round. With two real ones and one of kbench, and with one and
// two, topics are created without a pause while the leader stands still until
// each kind has led, and while each voter in turn is killed: what a broker
// acknowledged must be there in the end, and the logs of all voters must be the
// same up to the high watermark, byte for byte.
//
// # Logs
//
// After each story the logs of all nodes are read: a line that tells of an
// error, of a version that is not supported or of a connection that was closed
// fails the story that it fell into, unless it is excused. Few lines are at any
// time. While a window is open (see faults) connections may be lost, and little
// else. Windows are for the faults that a story makes, and for what is none but
// looks alike in a log: a quorum that starts, a node that joins or leaves, a
// replica that is new. An unsupported version, an exception that nobody caught or a
// fault that a node took for a defect fails the story even then. What is forgiven
// stands in excuses_test.go with its reason, and closed connections of replica
// fetchers in logs_test.go.
package interop
