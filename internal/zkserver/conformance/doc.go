// Package conformance is one suite of tests of what kbench needs from a
// ZooKeeper: it runs against the embedded server and against a real one, so
// that the first cannot drift from the second.
//
// It knows only a Store: where to connect and how to kill and start it again.
// Tests drive it with go-zookeeper where that can say what is meant, and with
// raw frames where order, reconnects or bad input matter.
//
//	conformance.Run(t, conformance.Store{
//		Servers: []string{"127.0.0.1:2181"}, Tick: 100 * time.Millisecond, Restart: killAndStart,
//	})
package conformance
