// Package zookeeper runs a real ZooKeeper of this machine: it finds the jars
// and Java, starts an ensemble of child processes and ends them.
//
// It owns their pids, ports, configuration and directories and must not know
// what is kept in them. Providers call it; its servers are provider.Nodes and
// may be used from any goroutine.
//
// ZooKeeper is looked for in ZOOKEEPER_HOME (an unpacked release, lib/*.jar),
// then where Debian's packages zookeeper and libzookeeper-java put their jars;
// Java in JAVA_HOME, then on PATH. What is missing is named with its cure, in
// well under a second, and the error wraps provider.ErrUnavailable; a variable
// that points to nothing is a fault of its own and does not.
//
//	inst, err := zookeeper.Find()
//	e, err := zookeeper.Start(ctx, zookeeper.Config{Installation: inst, Dir: dir, Size: 3, TickTime: 500 * time.Millisecond})
//	defer e.Close(ctx)
//	zk.Connect(e.Servers(), ...)
package zookeeper
