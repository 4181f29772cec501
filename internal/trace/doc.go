// Package trace is the white-box event trace: what a node of kbench writes
// about its own phases, one JSON line an event, so that a run can explain
// where a latency went.
//
// Every stamp is CLOCK_MONOTONIC in nanoseconds, one clock for all processes
// of a host; stamps of two hosts must never be subtracted. Memory and file
// size are bounded: past MaxEvents events are counted and not written, and the
// count is written at Close. A nil *Writer is valid and writes nothing, so
// that callers need no switch.
//
// Nodes call it from any goroutine; the harness reads the files after the run.
package trace
