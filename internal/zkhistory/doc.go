// Package zkhistory takes the history of Kafka's znodes out of the transaction
// log of a ZooKeeper, write by write in the order of zxids, keeps it in a run
// folder and has it judged by checker.Znodes: that of the embedded server and
// that of a real ZooKeeper alike, whoever the controller was.
//
// It owns the reading of ZooKeeper's own log files, which of the writes matter,
// and the form in which they are stored. It must not know how a run goes. The
// harness calls it at the end of a cell, while the store may still run, and
// kbench verify when a run is judged again; everything runs on the caller's
// goroutine.
//
//	result, err := zkhistory.Store(file, zkhistory.Embedded(dataDir), zkhistory.Rules{}, events)
//	...
//	result, err := zkhistory.Judge(file)
package zkhistory
