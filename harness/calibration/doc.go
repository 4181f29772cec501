// Package calibration is a target whose every delay is known: a cluster in this
// process that answers Kafka's protocol over real sockets, so that what kbench
// measures of it can be held against what was put in.
//
// It owns the target and its arithmetic and must not know how anything is
// measured. What is true has a time from which on it is true; each broker serves
// what was true its own delay ago. kbench selftest (harness.SelfTest) runs the
// real workloads against it. A Target's methods may be called from any
// goroutine.
//
//	t, err := calibration.New(calibration.Config{Mode: nodeconfig.ModeKRaft, Partitions: 12, Delays: calibration.Delays{Apply: 50 * time.Millisecond}})
//	defer t.Close()
package calibration
