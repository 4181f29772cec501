// Package zkcluster runs the ZooKeeper-mode controller in a simulated cluster:
// several candidates, each the real zkcontroller/machine, brokers, a ZooKeeper
// and the networks between them, with one seeded scheduler and a virtual clock.
// After every event it judges the named invariants C1 to C12 and Z1 to Z10; once
// the faults have ended it also judges that the cluster comes to rest: every
// broker's metadata is ZooKeeper's and nothing acknowledged is lost.
//
// What is real: the machine, and with it all decisions and the order of its
// writes and requests. What is a model of the code around it: the candidate's
// event thread and its store (zkcontroller), the ZooKeeper client with its
// sessions, watches and lost replies (zkcontroller/zk), the queue of requests to
// each broker, and a broker's rules of acceptance (broker). The models keep the
// order of steps of what they stand for; a mistake in one of them is found by
// the same invariants, which the planted bugs show.
//
// It must not know files, sockets, clocks or goroutines: processes are
// coroutines (iter.Pull) that the scheduler resumes, one at a time. A run is a
// function of its Options, so a seed that fails is a test case. Tests call it,
// several runs at once on goroutines of their own.
//
//	r := zkcluster.Run(zkcluster.Options{Seed: 42, Events: 3000})
//	if r.Violation != nil {
//		fmt.Println(r.Violation) // which invariant, when, at which node
//	}
package zkcluster
