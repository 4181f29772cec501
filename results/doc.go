// Package results is everything that outlives a run: the recorder that
// gathers latencies, the run folder that stores them, the statistics that
// judge them and the reports that show them.
//
// It imports nothing of kbench, so that a run folder stays readable by every
// later version; it knows targets, workloads and cells by their names alone.
// The harness writes a run folder while a run goes on, from the goroutines of
// its workers (the recorder is sharded for that) and one writer; everything
// else reads folders, offline.
package results
