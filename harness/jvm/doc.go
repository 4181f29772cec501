// Package jvm is what the JVMs that kbench starts have in common, whatever runs in
// them: what they use, second by second, and what they record of themselves.
//
// It owns the flags and the commands of a flight recording and the sampling of the
// process from outside. It must not know Kafka or ZooKeeper. harness/kafka,
// harness/zookeeper and harness/docker call it from any goroutine.
//
//	err := jvm.Launch(process, exec.Command(java, args...), "metrics.jsonl", "data")
//	err = jvm.Dump(ctx, java, process.Pid(), "node.jfr")
package jvm
