// Package process runs nodes as child processes of kbench on loopback.
//
// It owns their pids, ports and directories. Every child holds the read end
// of a pipe whose write end is kbench's, so that it ends when kbench is
// killed; a paused child cannot notice, and for it the provider leaves a
// record that Sweep (kbench clean) reads. Faults are signals.
package process
