// Package process runs nodes as child processes of kbench, on loopback or, where
// links shall be cut, on a network of its own.
//
// It owns their pids, ports and directories. Every child holds the read end
// of a pipe whose write end is kbench's, so that it ends when kbench is
// killed; a paused child cannot notice, and for it the provider leaves a
// record that Sweep (kbench clean) reads. Faults are signals.
//
// After Separate every node, a server of ZooKeeper or Kafka included, lives in a
// network namespace of its own (harness/netns), with an address that it keeps
// over restarts, and `kbench netfault` makes faults there. Namespaces have no
// names and agents end with kbench, so that a kill leaves nothing of them.
package process
