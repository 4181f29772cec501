// Command kbench compares the control planes of Kafka: a ZooKeeper-style
// controller and a KRaft quorum, under the same load and the same faults.
//
// It owns the command line: flags, wiring, exit codes, and which provider and
// store a run gets. It alone knows every other package; nobody imports it. What
// a run does is package harness' business, what a node does that of
// cmd/kbench/node. The main goroutine runs the command; a second one waits for
// signals.
//
//	kbench run --targets zk,kraft --partitions 1k,10k
package main
